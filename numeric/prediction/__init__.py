"""Test errors of a student that is given, and the least possible one."""
