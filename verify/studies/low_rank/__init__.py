"""Rank of S along the sample ratio."""
