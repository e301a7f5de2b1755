"""Bad input is refused in one line on stderr that names the argument, its value, the rule and the way out, with exit code 2."""

import sys
from collections.abc import Iterable
from difflib import get_close_matches
from typing import NoReturn

_SHOWN = 60  # characters of a value


class BadInput(Exception):
    """Bad input: argument, its value, the rule, and the way out, in one line; no ValueError, so that argparse lets it pass."""

    def __init__(self, argument: str, value: object, rule: str, way_out: str) -> None:
        self.argument, self.value, self.rule, self.way_out = argument, value, rule, way_out
        super().__init__(
            f"{' '.join(filter(None, (argument, shortened(value))))}: {rule}; {way_out}"
        )


def shortened(value: object) -> str:
    """The value as text, cut where it is long."""
    shown = str(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:40]}... ({len(shown)} characters)"


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that a mistyped one is like, dashes apart, which make all options alike; nothing where none is."""
    words = {one.lstrip("-"): one for one in known}
    like = get_close_matches(name.lstrip("-"), words, n=1)
    return words[like[0]] if like else ""


def fail(message: str) -> NoReturn:
    """One line on stderr, exit 2."""
    sys.stderr.write(" ".join(message.split()) + "\n")
    raise SystemExit(2)
