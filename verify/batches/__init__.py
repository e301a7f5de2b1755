"""Runs of one shape trained together on a GPU; optional, used only through verify.core.batching."""
