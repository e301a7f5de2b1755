"""Exceptions for questions without an answer, apart from mistakes of ours, which are never caught on the way; numbers read."""

import math
import operator
from fractions import Fraction
from typing import Any

from attention_erm.runtime.errors import InvalidParameter, NoAnswer


class OutsideDomain(NoAnswer):
    """A law, an average or a root does not exist at these values, or double precision cannot tell. Solvers take it for divergence."""


def real(name: str, value: object) -> float:
    """The parameter as a float: of an integer, a Fraction, a NumPy scalar.

    Raises:
        InvalidParameter: it is no number.
    """
    number: Any = value
    try:
        if isinstance(value, (str, bool)):
            raise TypeError
        return float(number)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter(
            name, value, "must be one number", "give a float, an integer or a Fraction"
        ) from None


def finite(value: float) -> float | None:
    """The number, None where it is none, as JSON has no infinity."""
    return value if math.isfinite(value) else None


def positive(name: str, value: object) -> float:
    """The parameter as a float, as `real`.

    Raises:
        InvalidParameter: it is no number, not above zero, or not finite.
    """
    number = real(name, value)
    if not 0 < number < math.inf:
        raise InvalidParameter(name, value, "must be positive and finite", "try 1")
    return number


def integer(name: str, value: object) -> int:
    """The parameter as an int: of a NumPy integer, too.

    Raises:
        InvalidParameter: it is no integer, or a bool, which Python takes for one.
    """
    number: Any = value
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(number)
    except TypeError:
        raise InvalidParameter(
            name, value, "must be an integer", "give a whole number, such as 2 and not 2.0"
        ) from None


def count(name: str, value: object) -> int:
    """The number of something, as `integer`.

    Raises:
        InvalidParameter: it is no integer, or below one.
    """
    number = integer(name, value)
    if number < 1:
        raise InvalidParameter(name, value, "must be 1 or more", "give how many there are")
    return number


def require_kind(name: str, value: object, kind: type, way_out: str) -> None:
    """Raises InvalidParameter for what is no instance of a class, such as the problem in place of its solution."""
    if not isinstance(value, kind):
        raise InvalidParameter(name, value, f"must be a {kind.__name__}", way_out)


def require_list(name: str, values: object) -> None:
    """Raises InvalidParameter for one thing in place of several, such as an array without axes."""
    several: Any = values
    try:
        if isinstance(values, str):
            raise TypeError
        iter(several)
    except TypeError:
        raise InvalidParameter(
            name, values, "must be a list", "put it in brackets, also if it is one"
        ) from None


def fraction(name: str, value: object) -> Fraction:
    """The parameter exactly: a float or a NumPy scalar as its binary value, a text such as "1/5" or "0.2" as what it says.

    Raises:
        InvalidParameter: it is no finite number.
    """
    number: Any = value.item() if hasattr(value, "item") else value
    try:
        return Fraction(number)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise InvalidParameter(
            name, value, "must be one finite number", 'give a Fraction, "1/5" or a float'
        ) from None
