"""All roots of an interval, proven: none is lost where two are close, nor where nothing but slopes
excludes them.
"""

from typing import NamedTuple

import pytest
from flint import arb

from numeric.maths.ball_roots import isolate, locate, newton_step, refine
from numeric.maths.balls import Unresolved, working


def below(left, right):
    """What is convex and negative at both ends has no root between them; all else is left to
    slopes.
    """
    return left.value < 0 and right.value < 0


class Sample(NamedTuple):
    """Value and slope over a ball."""

    value: arb
    slope: arb


@pytest.mark.parametrize("apart", [2.0**-14, 2.0**-8, 0.1])
@pytest.mark.parametrize("steep", [1e-3, 1.0, 1e3])
def test_both_roots_of_a_parabola_are_found(apart, steep):
    """Close to one another they stand in one box of equal signs at its ends, over which the slope
    vanishes somewhere.
    """
    with working(128):
        first, second = arb(1), arb(1) + apart
        found = isolate(
            lambda x: Sample(steep * (x - first) * (x - second), steep * (2 * x - first - second)),
            arb("0.9"), arb("1.2"), below, 10_000,
        )  # fmt: skip
        assert found.complete
        assert [sum(ball.contains(root) for ball in found.roots) for root in (first, second)] == [
            1,
            1,
        ]
        assert len(found.roots) == 2


def test_slopes_of_one_sign_leave_no_root():
    with working(128):
        found = isolate(lambda x: Sample(x + 1, arb(1)), arb("0.9"), arb("1.2"), below, 10_000)
    assert found.roots == [] and found.complete


def parabola(x):
    """Roots at 1/4 and 4."""
    return Sample((x - 4) * (x - arb("0.25")), 2 * x - arb("4.25"))


def test_a_root_between_two_signs_is_located_and_refined():
    with working(100):
        for low, high, root in (
            (1, 100, 4),
            ("1e-30", 1, "0.25"),
            ("1e-300", "0.3", "0.25"),
            ("3.9", "1e300", 4),
        ):
            found = locate(parabola, arb(low), arb(high))
            assert found.contains(arb(root)) and found.rel_accuracy_bits() > 10
        with pytest.raises(Unresolved, match="no sign change"):
            locate(parabola, arb("0.1"), arb(100))
    with working(1000):
        finer = refine(parabola, found, 10)
        assert (
            finer.contains(4)
            and finer.rel_accuracy_bits() > 980
            and refine(parabola, arb("3.9"), 0).contains(4)
        )
        assert newton_step(parabola)(arb(5)).contains(arb("4.75") / arb("5.75"))


@pytest.mark.parametrize("power", [1, 3, 9])
def test_where_a_function_is_flat_brackets_are_halved(power):
    """Newton's steps lead out of the bracket, or are none: the slope is zero there."""

    def step(x):
        t = (1000 * (x.log() - 1)) ** power
        return Sample(
            t / (1 + abs(t)),
            1000 * power * (1000 * (x.log() - 1)) ** (power - 1) / (1 + abs(t)) ** 2 / x,
        )

    with working(100):
        if power == 1:
            assert locate(step, arb("1e-9"), arb("1e9")).contains(arb(1).exp().mid())
        else:  # a multiple root, of which none is proven
            with pytest.raises(Unresolved):
                locate(step, arb("1e-9"), arb("1e9"))


def test_a_search_of_few_boxes_says_that_it_is_not_complete():
    with working(128):
        for most, complete in ((0, False), (1, False), (10_000, True)):
            found = isolate(parabola, arb("0.1"), arb(10), below, most)
            assert found.complete is complete
        assert [
            ball.contains(root)
            for ball, root in zip(found.roots, (arb("0.25"), arb(4)), strict=True)
        ] == [
            True,
            True,
        ]


def test_what_a_rule_excludes_is_not_searched():
    with working(128):
        assert isolate(parabola, arb(1), arb(3), lambda left, right: True, 10) == ([], True)
        hidden = isolate(lambda x: Sample(x - x + 1, arb(0, 1)), arb(1), arb(2), below, 50)
        assert (
            hidden.roots == [] and not hidden.complete
        )  # no slope tells, and halving does not end
