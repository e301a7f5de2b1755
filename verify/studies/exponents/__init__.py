"""Scaling exponents, reached by the theory and measured on narrow students."""
