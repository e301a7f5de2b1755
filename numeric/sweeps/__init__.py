"""Sweeps of parameters over lists of values: a plan in blocks, a Zarr store, any engine."""
