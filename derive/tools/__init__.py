"""Tools for derived equations: compare, explain, new model files."""
