"""`python -m verify`."""

from numeric.cli.arguments import run
from verify.cli.thresholds import build_parser, main

__all__ = ["build_parser", "main"]

if __name__ == "__main__":
    run(main)
