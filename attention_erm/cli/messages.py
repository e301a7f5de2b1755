"""One-line error messages on stderr, and suggestions for mistyped names."""

import sys
from collections.abc import Iterable
from difflib import get_close_matches
from typing import NoReturn


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that is closest to a mistyped one, or an empty string.

    Args:
        name: the mistyped name.
        known: valid names. Leading dashes are ignored in the comparison.
    """
    words = {option.lstrip("-"): option for option in known}
    matches = get_close_matches(name.lstrip("-"), words, n=1)
    return words[matches[0]] if matches else ""


def fail(message: str) -> NoReturn:
    """Print the message as one line on stderr and exit with code 2."""
    sys.stderr.write(" ".join(message.split()) + "\n")
    raise SystemExit(2)
