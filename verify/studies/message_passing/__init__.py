"""Approximate message passing compared with its state evolution and with descent."""
