"""Laws of the target's eigenvalues in ball arithmetic: every value encloses the truth."""
