"""Pages and tools for developers of the toolkit."""
