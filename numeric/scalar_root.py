"""Root of a scalar function at any precision: bracket, safeguarded Newton at low precision, then Newton with doubling digits."""

from collections.abc import Callable
from typing import Any

Context = Any  # an mpmath context: mpmath ships no types
Real = Any  # its real numbers

LOW_DIGITS = 30  # enough that Newton's method converges quadratically from there


class NoRoot(ArithmeticError):
    """The function does not change sign where its root is looked for."""


def bracketed(function: Callable[[Real], tuple[Real, Real]], low: Real, high: Real, tolerance: Real) -> Real:
    """Root in [low, high] of a function that is negative at `low` and positive at `high`; it returns (value, slope).

    Newton steps, replaced by bisection when they leave the bracket or fail to halve it within three steps.

    Raises:
        NoRoot: no sign change.
    """
    if not (function(low)[0] < 0 < function(high)[0]):
        raise NoRoot(f"no sign change between {low} and {high}")
    x, stale, width = (low + high) / 2, 0, high - low
    while high - low > tolerance * abs(x):
        value, slope = function(x)
        if value == 0:
            return x
        low, high = (x, high) if value < 0 else (low, x)
        stale = 0 if high - low < width / 2 else stale + 1
        width = high - low if stale == 0 else width
        newton = x - value / slope if slope > 0 else None  # flat stretches have no Newton step
        if newton is not None and abs(newton - x) < tolerance * abs(x):
            return newton
        x = newton if newton is not None and low < newton < high and stale < 3 else (low + high) / 2
    return x


def refine(mp: Context, function: Callable[[Real], tuple[Real, Real]], start: Real, digits: int, lost: int) -> Real:
    """Newton's method from a root known to about LOW_DIGITS/2 digits, the working precision doubling up to `digits`.

    `lost` digits cancel in the function and are carried on top at every stage. `function` is evaluated at the current
    precision of `mp`, which is restored.
    """
    precisions = [digits]
    while precisions[-1] > LOW_DIGITS:
        precisions.append(precisions[-1] // 2 + 5)  # five digits of slack for the constant of quadratic convergence
    x, saved = start, mp.dps
    try:
        for dps in [*reversed(precisions), digits]:
            mp.dps = dps + lost
            value, slope = function(x)
            x = x - value / slope
    finally:
        mp.dps = saved
    return x
