"""Critical sample ratios (thresholds) with proven digits."""
