"""Limits with closed forms: interpolation, recovery, the Bayes optimum."""
