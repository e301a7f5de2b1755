"""The theory compared with numbers that other groups released."""
