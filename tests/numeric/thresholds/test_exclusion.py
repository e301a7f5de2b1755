"""What proves that no root of the interpolation condition lies in an interval never says so of one
that holds a root.
"""

from fractions import Fraction
from itertools import combinations, pairwise

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.maths.balls import Unresolved, working
from numeric.thresholds.interpolation_roots import Condition
from numeric.thresholds.rank_limited_energy import rank_limited_energy


def condition_and_points(kappa0, width, noise):
    """A condition, and its residuals of a proven sign on a geometric grid."""
    law = MarchenkoPastur(float(kappa0)).exact()
    condition, points = Condition(law, noise, rank_limited_energy(law, width)), []
    for k in range(-14, 15):
        try:
            point = condition(arb(2) ** (arb(k) / 4))
        except Unresolved:
            continue
        if point.value > 0 or point.value < 0:
            points.append(point)
    return condition, points


@pytest.mark.identity
@given(
    kappa0=st.fractions("1/20", 2, max_denominator=20),
    width=st.fractions("1/50", "9/10", max_denominator=50),
    noise=st.fractions("1/1000", 20, max_denominator=1000),
)
@examples(20)
def test_an_interval_with_a_root_is_never_excluded(kappa0, width, noise):
    with working(200):
        condition, points = condition_and_points(kappa0, width, noise)
        for (i, left), (j, right) in combinations(enumerate(points), 2):
            changes = len({bool(point.value > 0) for point in points[i : j + 1]}) == 2
            assert not (changes and condition.excludes(left, right))


def test_what_excludes_are_the_two_bounds():
    """E = J - v J_v grows by at most half of what J does, and E/sqrt(v) does not increase; with
    less noise than signal.
    """
    noise = Fraction(1, 10)
    with working(200):
        condition, points = condition_and_points(Fraction(1, 5), Fraction(1, 10), noise)
        level = condition.law.moments()[1] + arb(1) / 20
        for left, right in combinations(points, 2):
            growth, ratio = (right.energy.J - left.energy.J) / 2, (right.v / left.v).sqrt()
            if left.value < 0:
                expected = left.value + growth < 0 or ratio * (left.value + level) - level < 0
            else:
                expected = right.value - growth > 0 or (right.value + level) / ratio - level > 0
            assert condition.excludes(left, right) is bool(expected)


def test_most_intervals_without_a_root_are_excluded():
    with working(200):
        condition, points = condition_and_points(Fraction(1, 2), Fraction(1, 2), Fraction(1, 2))
        neighbours = list(pairwise(points))
        assert sum(condition.excludes(left, right) for left, right in neighbours) > 0.6 * len(
            neighbours
        )
