"""Channel (data side): Moreau envelope of one sample, its derivatives and curvature."""
