"""Proven roots of a scalar function of a positive variable, by the interval Newton method.

A function takes a ball and returns a `Sample`, enclosures of its value and slope over the ball. It
raises `Unresolved` if the ball is too wide or the precision too low.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from numeric.maths.balls import START_BITS, Ball, Unresolved, around, contract, polish, sign

_NARROW = 2.0**-11  # relative width above which the slope over a box is rarely resolved
_SEARCH_STEPS = 2000  # maximum number of steps of a root search


class Sample(Protocol):
    """Value and slope of a function."""

    @property
    def value(self) -> Ball:
        """Enclosure of the value."""

    @property
    def slope(self) -> Ball:
        """Enclosure of the derivative."""


Function = Callable[[Ball], Sample]


class Isolation(NamedTuple):
    """Balls that contain one root each.

    `complete` is True if it is proven that the interval contains no other root.
    """

    roots: list[Ball]
    complete: bool


def newton_step(function: Function) -> Callable[[Ball], Ball]:
    """Return the Newton step of a function as a function of the point."""

    def step(x: Ball) -> Ball:
        here = function(x)
        return here.value / here.slope

    return step


def proven_near(function: Function, x: Ball) -> Ball:
    """Return a ball around x that provably contains exactly one root.

    Args:
        function: the function.
        x: point near the root.

    Raises:
        Unresolved: x is too far from a root, or the precision is too low.
    """
    here = function(x.mid())
    return contract(
        here.value, lambda trial: function(trial).slope, x.mid(), around, here.value / here.slope
    )


def locate(function: Function, low: Ball, high: Ball) -> Ball:
    """Return the root between two points of different sign as a proven ball.

    The method is Newton's in the logarithm of x. Bisection replaces steps that leave the bracket or
    do not halve it in three steps.

    Args:
        function: the function.
        low: lower end, positive.
        high: upper end.

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
        value = here.value
        step = (value / (here.slope * x)).mid()  # not finite where the function is flat
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
    """Return a root as a proven ball at the working precision.

    Args:
        function: the function.
        root: enclosure at a lower precision.
        lost: number of bits lost by cancellation in the function.

    Raises:
        Unresolved: more bits are lost.
    """
    return proven_near(function, polish(newton_step(function), root.mid(), START_BITS + lost))


def isolate(
    function: Function, low: Ball, high: Ball, excluded: Callable[[Any, Any], bool], most_boxes: int
) -> Isolation:
    """Return all roots in [low, high] by bisection in the logarithm, widest boxes first.

    If the signs at the ends of a box differ, the root between them is enclosed, and the parts of
    the box on either side of its ball of uniqueness are searched.

    Args:
        function: the function.
        low: lower end, positive.
        high: upper end.
        excluded: proof from the samples at both ends of a box that it contains no root.
        most_boxes: maximum number of boxes.
    """
    found: list[Ball] = []
    boxes = deque([((low, function(low)), (high, function(high)))])
    for _ in range(most_boxes):
        if not boxes:
            return Isolation(found, True)
        left, right = boxes.popleft()
        try:
            if sign(left[1].value) != sign(right[1].value):
                unique = _widest_unique(function, locate(function, left[0], right[0]))
                found.append(unique)
                below, above = unique.lower().mid(), unique.upper().mid()
                # The ball may extend beyond the box, but its root is in the box.
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
    """Return whether the slope over a narrow box has one sign, which excludes a root in it.

    Close to a root this proof is more efficient than a comparison of values.
    """
    if right / left > 1 + _NARROW:
        return False
    try:
        return not function(left.union(right)).slope.contains(0)
    except Unresolved:
        return False


def _widest_unique(function: Function, root: Ball) -> Ball:
    """Return a wide ball on which the slope has one sign, so that it contains no other root."""
    for power in range(3, 24):
        trial = around(root, root.abs_upper() * 2.0**-power)
        try:
            if not function(trial).slope.contains(0):
                return trial
        except Unresolved:
            continue
    return root
