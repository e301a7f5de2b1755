"""Heads trained on output sequences compared with heads trained on labels."""
