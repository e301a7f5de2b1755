"""Passes of the derivation, one in each file, in the order of derive.pipeline."""
