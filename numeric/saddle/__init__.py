"""Solver of the six saddle-point equations, with error estimates and stability."""
