"""Networks of every width compared with the theory."""
