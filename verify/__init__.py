"""Direct minimisation of the empirical risk in torch, compared with the theory."""
