"""Prior side: the energy J(v, b) of the spectrum above a threshold, and its parts."""
