"""Generated code and documents: content, headers, manifest, writing, proofs."""
