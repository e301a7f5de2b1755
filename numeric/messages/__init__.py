"""State evolution: message passing step by step in high dimensions."""
