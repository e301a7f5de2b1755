"""Checks and conversions of parameters, and the exception for values outside a domain."""

import math
import operator
from fractions import Fraction
from typing import Any

from attention_erm.runtime.errors import InvalidParameter, NoAnswer


class OutsideDomain(NoAnswer):
    """A law, an average or a root does not exist here, or is not resolved in double precision.

    Solvers treat it as divergence.
    """


def require(valid: bool, name: str, value: object, rule: str, way_out: str) -> None:
    """Raise an error for an invalid parameter.

    Args:
        valid: whether the value is allowed.
        name: name of the parameter.
        value: its value.
        rule: allowed values, such as "must be positive".
        way_out: advice, such as "use 1".

    Raises:
        InvalidParameter: `valid` is False.
    """
    if not valid:
        raise InvalidParameter(name, value, rule, way_out)


def real(name: str, value: object) -> float:
    """Return a parameter as a float, rounded if it is another number.

    Args:
        name: name of the parameter.
        value: a float, an integer, a Fraction, a Decimal or a NumPy scalar.

    Raises:
        InvalidParameter: the value is not a number.
    """
    number: Any = value
    try:
        if isinstance(value, (str, bool)):
            raise TypeError
        return float(number)
    except (TypeError, ValueError, OverflowError):
        way_out = "give a float, an integer or a Fraction"
        raise InvalidParameter(name, value, "must be one number", way_out) from None


def finite(value: float) -> float | None:
    """Return the number, or None if it is not finite, because JSON has no infinity."""
    return value if math.isfinite(value) else None


def positive(name: str, value: object) -> float:
    """Return a parameter as a positive float.

    Args:
        name: name of the parameter.
        value: a number as for `real`.

    Raises:
        InvalidParameter: the value is not a number, not positive or not finite.
    """
    number = real(name, value)
    require(0 < number < math.inf, name, value, "must be positive and finite", "try 1")
    return number


def integer(name: str, value: object) -> int:
    """Return a parameter as an int.

    Args:
        name: name of the parameter.
        value: an integer, also of NumPy; bool is not allowed.

    Raises:
        InvalidParameter: the value is not an integer.
    """
    number: Any = value
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(number)
    except TypeError:
        way_out = "give a whole number, such as 2 and not 2.0"
        raise InvalidParameter(name, value, "must be an integer", way_out) from None


def count(name: str, value: object) -> int:
    """Return a parameter as a positive int.

    Args:
        name: name of the parameter.
        value: an integer as for `integer`.

    Raises:
        InvalidParameter: the value is not an integer, or below 1.
    """
    number = integer(name, value)
    require(number >= 1, name, value, "must be 1 or more", "give how many there are")
    return number


def require_kind(name: str, value: object, kind: type, way_out: str) -> None:
    """Check the class of a parameter.

    Args:
        name: name of the parameter.
        value: its value.
        kind: required class.
        way_out: advice in the error message.

    Raises:
        InvalidParameter: the value is not an instance of the class.
    """
    require(isinstance(value, kind), name, value, f"must be a {kind.__name__}", way_out)


def require_list(name: str, values: object) -> None:
    """Check that a parameter is a list or another iterable, not a string.

    Args:
        name: name of the parameter.
        values: its value.

    Raises:
        InvalidParameter: the value is a single object, such as an array without axes.
    """
    several: Any = values
    try:
        if isinstance(values, str):
            raise TypeError
        iter(several)
    except TypeError:
        way_out = "put it in brackets, also if it is one"
        raise InvalidParameter(name, values, "must be a list", way_out) from None


def exact_or_float(name: str, value: object) -> Fraction | float:
    """Return a parameter without rounding: a float as it is, every other number as a Fraction.

    Args:
        name: name of the parameter.
        value: a float, an integer, a Fraction, a Decimal, a text such as "1/5" or "0.2", a NumPy
            scalar, a SymPy rational or an mpmath number.

    Raises:
        InvalidParameter: the value is not a finite number, or has no exact value.
    """
    number: Any = value.item() if hasattr(value, "item") else value
    try:
        if isinstance(number, bool):
            raise TypeError
        if isinstance(number, float) and math.isfinite(number):
            return number
        if hasattr(number, "_mpf_"):  # mpmath.mpf and sympy.Float: binary numbers
            sign, mantissa, exponent, _ = number._mpf_
            if not mantissa and exponent:  # infinite, or not a number
                raise ValueError
            return Fraction(-int(mantissa) if sign else int(mantissa)) * Fraction(2) ** exponent
        return Fraction(number)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        way_out = 'give a Fraction, "1/5" or a float'
        raise InvalidParameter(name, value, "must be one finite number", way_out) from None


def fraction(name: str, value: object) -> Fraction:
    """Return a parameter as an exact fraction; a float gives its binary value.

    Args:
        name: name of the parameter.
        value: a number as for `exact_or_float`.

    Raises:
        InvalidParameter: the value is not a finite number, or has no exact value.
    """
    return Fraction(exact_or_float(name, value))


def prints_another_number(value: object) -> bool:
    """Return whether a float differs from the decimal number that it prints as."""
    if not isinstance(value, float) or not math.isfinite(value):
        return False
    return Fraction(value) != Fraction(repr(float(value)))
