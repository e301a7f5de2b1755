"""Scaling exponents of heads trained on tokens with a power-law covariance."""
