"""Definition of a model, its symbols, and the results of a pass."""
