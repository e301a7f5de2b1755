"""Numerical methods: fixed points, roots, continuation, ball arithmetic, compiled kernels."""
