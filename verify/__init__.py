"""Direct minimisation of the empirical risk in torch, set beside the theory and judged by it."""
