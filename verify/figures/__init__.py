"""Drawings of outcomes; nothing is computed here."""
