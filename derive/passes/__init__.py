"""The derivation, one pass a file, in the order of derive.pipeline."""
