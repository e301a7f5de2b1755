"""One-line error messages on stderr, and suggestions for mistyped names."""

import re
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from typing import NoReturn

#: Options that are meant by names of other texts and programs.
MEANINGS = {
    "kappa": ("width", "kappa0"),
    "rank": ("kappa0", "width"),
    "delta": ("noise",),
    "sigma": ("noise",),
    "decay": ("lambda",),
    "weight-decay": ("lambda",),
    "regularization": ("lambda",),
    "regularisation": ("lambda",),
    "ridge": ("lambda",),
    "gamma": ("power-law",),
    "exponent": ("power-law", "gamma"),
    "temperature": ("beta", "beta0"),
    "t": ("tokens",),
    "length": ("tokens",),
    "n": ("samples", "dim", "alpha"),
    "d": ("dim",),
    "dimension": ("dim",),
    "seeds": ("runs", "seed"),
    "trials": ("runs",),
    "repeats": ("runs",),
    "jobs": ("workers",),
    "processes": ("workers",),
    "threads": ("workers",),
    "precision": ("digits", "accuracy"),
    "figure": ("plot",),
    "output": ("out",),
    "spectrum": ("eigenvalues",),
}


def toml_hint(text: str, error: object, otherwise: str) -> str:
    """Return the way out of an error in TOML: numbers such as .5 need a digit before the point.

    Args:
        text: content of the file.
        error: message of the parser, which names a line.
        otherwise: advice where the number is not at fault.
    """
    line = re.search(r"line (\d+)", str(error))
    stated = text.splitlines()[int(line[1]) - 1 : int(line[1])] if line else []
    if stated and (found := re.search(r"(?<![\w.\"'])([+-]?)(\.\d\w*)", stated[0])):
        return f"write {found[1]}0{found[2]} in place of {found[0]}"
    return otherwise


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
