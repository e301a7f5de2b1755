"""Interpolation and recovery thresholds located in training."""
