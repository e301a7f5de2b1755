"""Printers of the expression tree: one module per language."""
