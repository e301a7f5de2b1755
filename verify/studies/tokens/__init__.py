"""Training on token vectors of a trained network compared with the theory of their statistics."""
