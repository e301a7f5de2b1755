"""Timings of what is proven, or estimated, to many digits."""
