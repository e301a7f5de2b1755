"""Roots of a scalar function of a positive variable, proven by interval Newton: one between two signs, or all of an interval.

A function takes a ball and returns enclosures of its value and of its slope over the ball; where the ball is too wide or the
precision too low it raises `Unresolved`.
"""

from collections.abc import Callable
from typing import NamedTuple


from numeric.enclosure import Ball, Unresolved, around, contract, sign, working

Function = Callable[[Ball], tuple[Ball, Ball]]
_SEARCH_STEPS = 2000  # bisections of a bracket over 600 decades take 11 per factor of 2^1000
_MAX_BOXES = 4000  # seconds; more of them mean that the function is flat to the working precision
_LEAST_WIDTH = 2.0**-40  # relative width below which a box is not split


class Isolation(NamedTuple):
    """Balls that hold one root each; `complete` if no other root is in the interval, proven."""

    roots: list[Ball]
    complete: bool


def proven_near(function: Function, x: Ball) -> Ball:
    """A ball around x proven to hold exactly one root.

    Raises:
        Unresolved: x is too far from a root, or the precision too low.
    """
    value, slope = function(x.mid())
    return contract(value, lambda trial: function(trial)[1], x.mid(), around, value / slope)


def locate(function: Function, low: Ball, high: Ball) -> Ball:
    """The root between 0 < low < high, where the signs differ, as a proven ball at the working precision.

    Newton steps in the logarithm of x, replaced by bisection where they leave the bracket or fail to halve it in three steps.

    Raises:
        Unresolved: the signs agree, or the precision does not separate the root.
    """
    rising = sign(function(high)[0])
    if sign(function(low)[0]) == rising:
        raise Unresolved("no sign change between the ends")
    low, high = low.log().mid(), high.log().mid()
    s, stale, width = (low + high) / 2, 0, high - low
    for _ in range(_SEARCH_STEPS):
        x = s.exp().mid()
        value, slope = function(x)
        step = (value / (slope * x)).mid()  # no number where the function is flat
        small = step.is_finite() and abs(step) < 2.0**-8
        if small or value.contains(0):
            try:
                return proven_near(function, x)
            except Unresolved:
                if value.contains(0):
                    raise
        low, high = (s, high) if sign(value) != rising else (low, s)
        stale = 0 if high - low < width / 2 else stale + 1
        width = high - low if stale == 0 else width
        newton = (s - step).mid() if step.is_finite() else s
        s = newton if low < newton < high and stale < 3 else ((low + high) / 2).mid()
    raise Unresolved("the bracket does not shrink to a root")


def refine(function: Function, root: Ball, bits: int, lost: int) -> Ball:
    """The same root proven at `bits` bits, by Newton steps at doubling precision; `lost` bits cancel in the function.

    Raises:
        Unresolved: more bits cancel.
    """
    accuracy = max(root.rel_accuracy_bits(), 8)
    while accuracy < bits:
        accuracy *= 2
        with working(min(accuracy, bits) + lost):
            value, slope = function(root.mid())
            root = (root.mid() - value / slope).mid()
    with working(bits + lost):
        return proven_near(function, root)


def isolate(function: Function, low: Ball, high: Ball) -> Isolation:
    """All roots in [low, high], 0 < low < high, by bisection in the logarithm.

    A box is settled if the slope over it has one sign (one root or none, by the signs at its ends) or if the mean value form
    excludes zero. What cannot be settled makes the result incomplete.
    """
    found, complete = [], True
    boxes = [(low.log().mid(), high.log().mid())]
    for _ in range(_MAX_BOXES):
        if not boxes:
            break
        left, right = boxes.pop()
        verdict = _settle(function, left.exp().mid(), right.exp().mid())
        if verdict is not None:
            found += verdict
        elif right - left > _LEAST_WIDTH:
            middle = ((left + right) / 2).mid()
            boxes += [(middle, right), (left, middle)]
        else:
            complete = False
    return Isolation(found, complete and not boxes)


def _settle(function: Function, left: Ball, right: Ball) -> list[Ball] | None:
    """The roots in one box, each with its proof; None if the box must be split."""
    middle = ((left + right) / 2).mid()
    box = left.union(right)
    try:
        slope = function(box)[1]
        value = function(middle)[0]
        if not (value + slope * (box - middle)).contains(0):
            return []
        if slope.contains(0):
            return None
        if sign(function(left)[0]) == sign(function(right)[0]):
            return []
        return [locate(function, left, right)]
    except Unresolved:
        return None


