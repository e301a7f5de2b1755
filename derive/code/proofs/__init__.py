"""Proofs about generated code: equality with its source, stored values, and rounding errors."""
