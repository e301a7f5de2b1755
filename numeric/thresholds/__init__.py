"""Sample ratios at which something ends or begins, with proven digits."""
