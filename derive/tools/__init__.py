"""Looking at what was derived: compare, explain."""
