"""Code that numeric, verify and derive share: interrupts, provenance, digests, files, log,
progress.
"""
