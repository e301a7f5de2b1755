"""Exponents of power-law targets by dominant balance, with a proof that the regimes cover the
plane.
"""
