"""Symbolic layer: from a model file to saddle-point equations and generated code."""
