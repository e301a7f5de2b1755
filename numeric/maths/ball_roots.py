"""Roots of a scalar function of a positive variable, proven by interval Newton: one between two signs, or all of an interval.

A function takes a ball and returns a `Sample`, enclosures of its value and slope over the ball; where the ball is too wide or the
precision too low it raises `Unresolved`.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from numeric.maths.balls import START_BITS, Ball, Unresolved, around, contract, polish, sign

_NARROW = 2.0**-11  # the slope over a wider box is rarely resolved
_SEARCH_STEPS = 2000  # bisections of a bracket over 600 decades take 11 per factor of 2^1000


class Sample(Protocol):
    """What a function returns: at least these two."""

    @property
    def value(self) -> Ball:
        """Value."""

    @property
    def slope(self) -> Ball:
        """Derivative."""


Function = Callable[[Ball], Sample]


class Isolation(NamedTuple):
    """Balls that hold one root each; `complete` if no other root is in the interval, proven."""

    roots: list[Ball]
    complete: bool


def newton_step(function: Function) -> Callable[[Ball], Ball]:
    """The Newton step of a function as a function of the point."""

    def step(x: Ball) -> Ball:
        here = function(x)
        return here.value / here.slope

    return step


def proven_near(function: Function, x: Ball) -> Ball:
    """A ball around x proven to hold exactly one root.

    Raises:
        Unresolved: x is too far from a root, or the precision too low.
    """
    here = function(x.mid())
    return contract(
        here.value, lambda trial: function(trial).slope, x.mid(), around, here.value / here.slope
    )


def locate(function: Function, low: Ball, high: Ball) -> Ball:
    """The root between 0 < low < high, where the signs differ, as a proven ball at the working precision.

    Newton steps in the logarithm of x, replaced by bisection where they leave the bracket or fail to halve it in three steps.

    Raises:
        Unresolved: the signs agree, or the precision does not separate the root.
    """
    rising = sign(function(high).value)
    if sign(function(low).value) == rising:
        raise Unresolved("no sign change between the ends")
    low, high = low.log().mid(), high.log().mid()
    s, stale, width = (low + high) / 2, 0, high - low
    for _ in range(_SEARCH_STEPS):
        x = s.exp().mid()
        here = function(x)
        value, step = (
            here.value,
            (here.value / (here.slope * x)).mid(),
        )  # no number where the function is flat
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


def refine(function: Function, root: Ball, lost: int) -> Ball:
    """The same root proven at the working precision; `lost` bits cancel in the function.

    Raises:
        Unresolved: more bits cancel.
    """
    return proven_near(function, polish(newton_step(function), root.mid(), START_BITS + lost))


def isolate(
    function: Function, low: Ball, high: Ball, excluded: Callable[[Any, Any], bool], most_boxes: int
) -> Isolation:
    """All roots in [low, high], 0 < low < high, by bisection in the logarithm, widest boxes first.

    `excluded(left, right)` proves from the samples at the ends that no root lies between. Where the signs at the ends differ, the
    root between them is enclosed and the box falls apart into what is left and right of its ball of uniqueness.
    """
    found: list[Ball] = []
    boxes = deque([((low, function(low)), (high, function(high)))])
    for _ in range(most_boxes):
        if not boxes:
            return Isolation(found, True)
        left, right = boxes.popleft()
        try:
            if sign(left[1].value) != sign(right[1].value):
                unique = _widest(function, locate(function, left[0], right[0]))
                found.append(unique)
                below, above = unique.lower().mid(), unique.upper().mid()
                # The ball may reach beyond the box, but the root it holds is in the box.
                if left[0] < below:
                    boxes.append((left, (below, function(below))))
                if above < right[0]:
                    boxes.append(((above, function(above)), right))
            elif not excluded(left[1], right[1]) and not _monotone(function, left[0], right[0]):
                x = (left[0] * right[0]).sqrt().mid()
                middle = (x, function(x))
                boxes += [(left, middle), (middle, right)]
        except Unresolved:
            return Isolation(found, False)
    return Isolation(found, False)


def _monotone(function: Function, left: Ball, right: Ball) -> bool:
    """Whether the slope over a narrow box has one sign, so that equal signs at its ends leave no room for a root.

    Close to a root this proves more at once than any comparison of values.
    """
    if right / left > 1 + _NARROW:
        return False  # over wide boxes slopes are never resolved: do not try
    try:
        return not function(left.union(right)).slope.contains(0)
    except Unresolved:
        return False


def _widest(function: Function, root: Ball) -> Ball:
    """A ball, as wide as a few trials find, on which the slope has one sign: the root in it is the only one."""
    for power in range(3, 24):
        trial = around(root, root.abs_upper() * 2.0**-power)
        try:
            if not function(trial).slope.contains(0):
                return trial
        except Unresolved:
            continue
    return root
