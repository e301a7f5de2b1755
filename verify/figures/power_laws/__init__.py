"""Figures of power-law targets: excess errors and regimes, exponents, universality gap, width."""
