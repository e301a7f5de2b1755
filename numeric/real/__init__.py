"""Real tokens and real heads: vectors and weights in files of trained networks."""
