"""Unknowns in which the saddle point is easy to find and to judge."""
