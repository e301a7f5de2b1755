"""Singular values of trained heads compared with their law."""
