"""Command line of the comparison with training."""
