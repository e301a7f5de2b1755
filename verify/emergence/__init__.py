"""Features emerging in training: overlaps of a trained map with single features along the number of samples, beside the theory."""
