"""Printers of the expression tree: Python in several languages, and LaTeX."""
