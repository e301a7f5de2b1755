"""The side of the labels: Moreau envelope of one sample, its derivatives and curvature."""
