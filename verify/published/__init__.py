"""Numbers that others released, each file with its source: what `python -m verify published` sets beside the theory."""
