"""From expressions to generated files: content, headers, manifest, writing."""
