"""All roots of an interval, proven: none is lost where two are close, nor where nothing but slopes excludes them."""

from typing import NamedTuple

import pytest
from flint import arb

from numeric.maths.ball_roots import isolate
from numeric.maths.balls import working


def below(left, right):
    """What is convex and negative at both ends has no root between them; all else is left to slopes."""
    return left.value < 0 and right.value < 0


class Sample(NamedTuple):
    """Value and slope over a ball."""

    value: arb
    slope: arb


@pytest.mark.parametrize("apart", [2.0**-14, 2.0**-8, 0.1])
@pytest.mark.parametrize("steep", [1e-3, 1.0, 1e3])
def test_both_roots_of_a_parabola_are_found(apart, steep):
    """Close to one another they stand in one box of equal signs at its ends, over which the slope vanishes somewhere."""
    with working(128):
        first, second = arb(1), arb(1) + apart
        found = isolate(
            lambda x: Sample(steep * (x - first) * (x - second), steep * (2 * x - first - second)),
            arb("0.9"), arb("1.2"), below, 10_000,
        )  # fmt: skip
        assert found.complete
        assert [sum(ball.contains(root) for ball in found.roots) for root in (first, second)] == [1, 1]
        assert len(found.roots) == 2


def test_slopes_of_one_sign_leave_no_root():
    with working(128):
        found = isolate(lambda x: Sample(x + 1, arb(1)), arb("0.9"), arb("1.2"), below, 10_000)
    assert found.roots == [] and found.complete
