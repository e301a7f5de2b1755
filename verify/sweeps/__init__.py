"""Sweeps of training over any parameters, with the theory of the realised problems."""
