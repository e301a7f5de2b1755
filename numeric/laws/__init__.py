"""Laws of the target's eigenvalues in float64: moments, and the noisy law mu_v (the law with a
semicircle added).
"""
