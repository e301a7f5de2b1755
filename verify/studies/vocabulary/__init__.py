"""Heads trained on sequences whose tokens come from a finite vocabulary."""
