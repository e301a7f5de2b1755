"""Training against theory, in units of standard errors."""
