"""Errors and order parameters along the sample ratio."""
