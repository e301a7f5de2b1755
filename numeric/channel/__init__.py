"""Average of the Moreau envelope of one sample, and what is averaged with it."""
