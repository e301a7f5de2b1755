"""Quadratic networks of m hidden units trained on Gaussian inputs, along their width."""
