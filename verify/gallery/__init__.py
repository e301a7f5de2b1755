"""The figures of arXiv 2509.24914, each by its number, and others of its kind: what is computed, at which sizes, how it is drawn."""
