"""Norms of the tokens: the variance of ||x||^2 over tr C^2, with C the covariance of a token x."""

GAUSSIAN_NORMS = 2.0  #: of Gaussian tokens
NORMS = {"gaussian": GAUSSIAN_NORMS, "fixed": 0.0}  #: norms that have a name
