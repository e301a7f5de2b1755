"""Timings of what is proven, bounded or estimated to many digits."""
