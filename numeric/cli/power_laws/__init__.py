"""Commands on targets whose eigenvalues fall as a power law."""
