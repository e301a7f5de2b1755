"""Unknowns in which the saddle-point equations are easy to solve."""
