"""Laws of the target's eigenvalues in ball arithmetic: every ball is proven to contain the exact
value.
"""
