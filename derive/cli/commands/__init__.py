"""Commands of `python -m derive`, one file each."""
