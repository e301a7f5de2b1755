"""Study files of sweeps: what they say, the points that they state, and what carries these out."""
