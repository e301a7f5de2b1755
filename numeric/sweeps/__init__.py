"""Sweeps: any parameters over lists of values, in blocks that an engine carries out, kept in one Dataset."""
