"""From expressions to generated files: tree, printers, error bounds, oracles, validation."""
