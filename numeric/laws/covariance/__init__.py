"""Targets of tokens with a covariance (theory note, section 13)."""
