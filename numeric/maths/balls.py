"""Ball arithmetic (python-flint): exact inputs, proven roots, and decimal strings whose every digit is proven.

Every function works at the precision of `flint.ctx`, which `working` sets for a block.
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

Ball = Any  # flint.arb: python-flint ships no types
ComplexBall = Any  # flint.acb
T = TypeVar("T")

BITS_PER_DIGIT = math.log2(10)
START_BITS = 64  # at which roots are looked for
_NEWTON_STEPS = 100  # doublings of the digits of a bad start, up to 10^5 bits, with room to spare
_INFLATIONS = 6  # widenings of a trial ball before an interval Newton step gives up


class Unresolved(OutsideDomain):
    """The working precision, or the width of the inputs, does not decide a sign or enclose a root."""


@contextmanager
def working(bits: int) -> Iterator[None]:
    """Work at `bits` bits; the former precision comes back, whatever happens."""
    with flint.ctx.workprec(bits):
        yield


def precision() -> int:
    """Current precision in bits."""
    return int(flint.ctx.prec)


def per_precision(enclose: Callable[[], T]) -> Callable[[], T]:
    """The same function without arguments, its balls made once for each working precision."""
    cached = lru_cache(maxsize=16)(lambda bits: enclose())
    return lambda: cached(precision())


def ball(value: Fraction | int) -> Ball:
    """Enclosure of an exact number."""
    return arb(fmpq(value.numerator, value.denominator))


def around(centre: Ball, radius: Ball) -> Ball:
    """The real ball of this centre and (upper bound of the) radius."""
    return arb(centre.mid(), radius.abs_upper())


def around_complex(centre: ComplexBall, radius: Ball) -> ComplexBall:
    """A complex rectangle that holds the disc of this centre and radius."""
    return acb(around(centre.real, radius), around(centre.imag, radius))


def sign(value: Ball) -> int:
    """Proven sign of a ball.

    Raises:
        Unresolved: it contains zero.
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
    """Interval Newton: a ball around `centre` proven to hold exactly one root, for every selection of the inputs.

    `value` encloses the function at `centre`, `slope` the derivative over a ball that `encloses(centre, radius)` makes, and
    `step` a guess of the distance to the root.

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
    """An approximate root by Newton steps at a precision that follows their accuracy, without proof.

    `step(x)` is the Newton step at x; the first is taken at `bits` bits, enough to tell `start` from other roots. Close roots make
    the first steps gain less than twice the digits.
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
    raise Unresolved("Newton's method does not settle")


def _bits_between(value: Any, change: Any) -> int:
    """How many bits of `value` a change leaves alone."""
    ratio = change.abs_upper() / value.abs_upper()
    if not ratio.is_finite():
        raise Unresolved("a Newton step is no number")
    if ratio.is_zero():
        return 2 * precision()
    mantissa, exponent = ratio.mid().man_exp()
    return max(0, -int(exponent) - int(mantissa.bit_length()))


def decimal(value: Ball | Fraction, digits: int) -> str | None:
    """The positive value rounded to `digits` significant digits, trailing zeros kept; None if the ball does not prove them.

    Raises:
        ValueError: a fraction that is not positive, or outside the range of float.
    """
    if not isinstance(value, Fraction) and not (value.is_finite() and float(value) > 0):
        return None
    if not 0 < float(value) < math.inf:
        raise ValueError(f"{value} must be positive, and within the range of float")
    exponent = math.floor(math.log10(float(value)))
    for shift in (
        exponent,
        exponent + 1,
        exponent - 1,
    ):  # the estimate may be off by one next to a power of ten
        power = digits - 1 - shift
        integer = _rounded(value, power)
        if integer is None:
            return None
        text = str(integer)
        if len(text) == digits:
            return _positional(text, power)
    return None


def _rounded(value: Ball | Fraction, power: int) -> Any:
    """The integer nearest to value * 10^power, halves up; None if it is not unique."""
    scale = fmpz(10) ** abs(power)
    if isinstance(value, Fraction):
        exact = fmpq(value.numerator, value.denominator)
        scaled = exact * scale if power >= 0 else exact / scale
        return (scaled + fmpq(1, 2)).floor()
    return ((value * scale if power >= 0 else value / scale) + arb(1) / 2).floor().unique_fmpz()


def _positional(digits: str, power: int) -> str:
    """An integer of these digits times 10^-power."""
    if power <= 0:
        return digits + "0" * -power
    padded = digits.rjust(power + 1, "0")
    return f"{padded[:-power]}.{padded[-power:]}"
