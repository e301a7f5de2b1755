"""The prior side: the energy J(v, b) above a threshold, and what it is made of."""
