"""Limits with closed forms: interpolation, recovery, Bayes optimum."""
