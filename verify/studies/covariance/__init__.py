"""Training on tokens with a covariance compared with the theory with and without it."""
