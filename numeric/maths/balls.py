"""Ball arithmetic (python-flint): exact inputs, proven roots, and decimal strings of proven digits.

All functions use the precision of `flint.ctx`, which `working` sets for a block.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

import flint
from flint import acb, arb, fmpq, fmpz

from numeric.maths.domain import OutsideDomain

Ball = Any  # flint.arb; python-flint has no type hints
ComplexBall = Any  # flint.acb
T = TypeVar("T")

BITS_PER_DIGIT = math.log2(10)
START_BITS = 64  # precision of a search for roots
_NEWTON_STEPS = 100  # maximum; each step about doubles the number of correct digits
_INFLATIONS = 6  # maximum number of expansions of a trial ball


class Unresolved(OutsideDomain):
    """The precision or the width of the inputs is not sufficient to prove a sign or a root."""


def digit_bits(digits: int) -> int:
    """Return the bits of a working precision for this number of digits, without guard bits."""
    return max(START_BITS, round(digits * BITS_PER_DIGIT))


@contextmanager
def working(bits: int) -> Iterator[None]:
    """Set the precision to `bits` bits within a `with` block."""
    with flint.ctx.workprec(bits):
        yield


def precision() -> int:
    """Return the current precision in bits."""
    return int(flint.ctx.prec)


def per_precision(enclose: Callable[[], T]) -> Callable[[], T]:
    """Cache the result of a function without arguments for each working precision."""
    cached = lru_cache(maxsize=16)(lambda bits: enclose())
    return lambda: cached(precision())


def ball(value: Fraction | int) -> Ball:
    """Return an enclosure of an exact number."""
    return arb(fmpq(value.numerator, value.denominator))


def around(centre: Ball, radius: Ball) -> Ball:
    """Return a real ball.

    Args:
        centre: ball whose middle is the centre.
        radius: ball whose upper bound is the radius.
    """
    return arb(centre.mid(), radius.abs_upper())


def around_complex(centre: ComplexBall, radius: Ball) -> ComplexBall:
    """Return a complex rectangle that contains a disc.

    Args:
        centre: centre of the disc.
        radius: ball whose upper bound is the radius.
    """
    return acb(around(centre.real, radius), around(centre.imag, radius))


def sign(value: Ball) -> int:
    """Return the proven sign of a ball, 1 or -1.

    Raises:
        Unresolved: the ball contains zero.
    """
    if value > 0:
        return 1
    if value < 0:
        return -1
    raise Unresolved(f"sign of {value.str(5)}")


def contract(
    value: Any,
    slope: Callable[[Any], Any],
    centre: Any,
    encloses: Callable[[Any, Ball], Any],
    step: Any,
) -> Any:
    """Return a ball that provably contains exactly one root, by the interval Newton method.

    The proof holds for all values in the input balls.

    Args:
        value: enclosure of the function at the centre.
        slope: enclosure of the derivative over a ball.
        centre: point near the root.
        encloses: constructor of a ball from centre and radius.
        step: estimate of the distance to the root.

    Raises:
        Unresolved: no trial ball is mapped into itself.
    """
    radius = step.abs_upper() * 2 + centre.abs_upper() * arb(2) ** (8 - precision())
    for _ in range(_INFLATIONS):
        trial = encloses(centre, radius)
        image = centre - value / slope(trial)
        if image.is_finite() and trial.contains_interior(image):
            return image
        radius = radius * 4
    raise Unresolved("no ball is mapped into itself by the interval Newton step")


def polish(step: Callable[[Any], Any], start: Any, bits: int) -> Any:
    """Return an approximate root by Newton's method, without proof.

    The precision of each step follows the accuracy reached.

    Args:
        step: Newton step as a function of the point.
        start: point near the root.
        bits: precision of the first step, sufficient to separate the start from other roots.

    Raises:
        Unresolved: the steps do not become small.
    """
    root, full, accuracy, spare = start, precision(), 0, bits
    for _ in range(_NEWTON_STEPS):
        with working(min(full, bits)):
            change = step(root).mid()
            root = (root - change).mid()
            gained, accuracy = accuracy, _bits_between(root, change)
        bits = max(2 * accuracy + spare, bits) if accuracy > gained else 2 * bits
        if accuracy > full // 2:
            return root
    raise Unresolved("Newton's method does not converge")


def _bits_between(value: Any, change: Any) -> int:
    """Return the number of leading bits of `value` that a change does not affect."""
    ratio = change.abs_upper() / value.abs_upper()
    if not ratio.is_finite():
        raise Unresolved("a Newton step is not finite")
    if ratio.is_zero():
        return 2 * precision()
    mantissa, exponent = ratio.mid().man_exp()
    return max(0, -int(exponent) - int(mantissa.bit_length()))


def decimal(value: Ball | Fraction, digits: int) -> str | None:
    """Return a positive value rounded to significant digits, with trailing zeros.

    Args:
        value: the value.
        digits: number of significant digits.

    Returns:
        The decimal string, None if the ball does not prove all digits.

    Raises:
        ValueError: a fraction is not positive, or outside the range of float.
    """
    if not isinstance(value, Fraction) and not (value.is_finite() and float(value) > 0):
        return None
    if not 0 < float(value) < math.inf:
        raise ValueError(f"{value} must be positive, and within the range of float")
    exponent = math.floor(math.log10(float(value)))
    # The exponent may be wrong by one next to a power of ten.
    for shift in (exponent, exponent + 1, exponent - 1):
        power = digits - 1 - shift
        integer = _rounded(value, power)
        if integer is None:
            return None
        text = str(integer)
        if len(text) == digits:
            if power <= 0:
                return text + "0" * -power
            padded = text.rjust(power + 1, "0")
            return f"{padded[:-power]}.{padded[-power:]}"
    return None


def _rounded(value: Ball | Fraction, power: int) -> Any:
    """Return the integer nearest to value * 10^power, halves up; None if it is not unique."""
    scale = fmpz(10) ** abs(power)
    if isinstance(value, Fraction):
        exact = fmpq(value.numerator, value.denominator)
        scaled = exact * scale if power >= 0 else exact / scale
        return (scaled + fmpq(1, 2)).floor()
    return ((value * scale if power >= 0 else value / scale) + arb(1) / 2).floor().unique_fmpz()
