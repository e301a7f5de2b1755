"""Readers of the values in a table of a study file: each gives the value, or raises ValueError with
the rule that it breaks.
"""

from collections.abc import Callable, Sequence
from typing import Any

Reader = Callable[[Any], Any]


def whole_number(least: int) -> Reader:
    """Whole numbers from `least` on."""

    def read(value: Any) -> int:
        if not _is_whole(value) or value < least:
            raise ValueError(f"must be a whole number from {least} on")
        return value

    return read


def whole_numbers(least: int) -> Reader:
    """One whole number from `least` on, or several, as a tuple."""

    def read(value: Any) -> tuple[int, ...]:
        values = value if isinstance(value, list) else [value]
        if (
            not values
            or not all(map(_is_whole, values))
            or min(values) < least
            or len(set(values)) < len(values)
        ):
            raise ValueError(
                f"must be a whole number from {least} on, or a list of such, each once"
            )
        return tuple(values)

    return read


def one_of(names: Sequence[str], make: Callable[[str], Any] = str) -> Reader:
    """One of `names`, as `make` makes of it."""

    def read(value: Any) -> Any:
        if value not in names:
            raise ValueError(f"must be one of {', '.join(names)}")
        return make(value)

    return read


def switch(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def text(value: Any) -> str:
    """Text."""
    if not isinstance(value, str):
        raise ValueError("must be text")
    return value


def texts(value: Any) -> list[str]:
    """A list of texts."""
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise ValueError("must be a list of texts")
    return value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
