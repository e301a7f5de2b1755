"""The commands of `python -m numeric`: each module adds its arguments and runs."""
