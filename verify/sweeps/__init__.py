"""Sweeps of training over any parameters, with the theory of what was really trained beside it."""
