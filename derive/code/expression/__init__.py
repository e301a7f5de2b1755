"""Expression tree between SymPy and the printers, and bounds on the rounding error of what it computes."""
