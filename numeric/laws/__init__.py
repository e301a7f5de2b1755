"""Laws of the target's eigenvalues in float64: moments, and the law with a semicircle added."""
