"""Excess error along the number of samples for power-law targets."""
