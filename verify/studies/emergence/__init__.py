"""Single features of a power-law target along the number of samples."""
