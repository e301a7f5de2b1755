"""Test errors of a given student, and the least possible test error."""
