"""Exponents of trained heads: narrow students of power-law targets at large d, their slopes along n, and what these tend to."""
