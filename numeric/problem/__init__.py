"""Problems, their solutions, and the order parameters, as values."""
