"""Point of a learning curve in decimal strings, and its quantities in balls."""

from collections.abc import Mapping
from dataclasses import dataclass

from flint import arb

from numeric.exact.exact_problem import ExactProblem
from numeric.maths.balls import Ball, decimal


@dataclass(frozen=True)
class DecimalPoint:
    """Solution at exact parameters, in decimal strings.

    Attributes:
        problem: the problem.
        values: quantities by name, None if infinite or not known.
        digits: number of significant digits.
        status: "proven", "bounded" or "estimated".
        basis: description of the method.
    """

    problem: ExactProblem
    values: Mapping[str, str | None]
    digits: int
    status: str
    basis: str


def decimals(values: Mapping[str, Ball | None], digits: int) -> dict[str, str | None] | None:
    """Return decimal strings of balls, "0" for an exact zero.

    Args:
        values: balls by name; None stays None.
        digits: number of significant digits.

    Returns:
        The strings by name, None if a ball is too wide for its digits.
    """
    texts = {
        name: None if value is None else _text(arb(value), digits) for name, value in values.items()
    }
    fixed = all((text is None) == (values[name] is None) for name, text in texts.items())
    return texts if fixed else None


def _text(value: Ball, digits: int) -> str | None:
    if value.is_zero():
        return "0"
    if value < 0:
        text = decimal(-value, digits)
        return text and f"-{text}"
    return decimal(value, digits)
