"""Thresholds along the rank of the target."""
