"""Expression tree between SymPy and the printers, and bounds on rounding errors of a tree."""
