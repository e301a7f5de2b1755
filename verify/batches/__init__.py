"""Runs of one shape trained together as one batch, as a GPU needs it."""
