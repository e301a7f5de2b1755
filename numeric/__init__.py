"""Numerical layer: solves the generated equations; every number comes with its status and error."""
