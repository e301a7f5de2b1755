"""The other unknowns lead to the same root, and there where the conjugates do not."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from strategies import log_uniform

from numeric.channel.rules import coarse_rules
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import power_law
from numeric.maths.domain import OutsideDomain
from numeric.maths.fixed_point import Anderson, Newton, iterate
from numeric.problem.conjugates import Conjugates
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from numeric.problem.solution import Status
from numeric.saddle.equations import SaddleMap
from numeric.saddle.estimator import estimator_of, reduced_variables
from numeric.saddle.solve import solve
from numeric.saddle.unknowns.above_interpolation import AboveInterpolation
from numeric.saddle.unknowns.choice import unknowns_at
from numeric.saddle.unknowns.coordinates import Logarithms, in_unknowns
from numeric.saddle.unknowns.free_directions import FreeDirections
from numeric.thresholds.interpolation import interpolation

FEW = Problem(alpha=0.1, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5)
INTERPOLATION = float(interpolation(MarchenkoPastur(0.5).exact(), Fraction(1, 2), 2, 12))
ABOVE = Problem(alpha=1.01 * INTERPOLATION, target=MarchenkoPastur(0.5), lambda_=0.0, noise=0.5)


def saddle_map(problem):
    return SaddleMap(problem, coarse_rules(problem)[0])


def test_averages_where_nothing_is_learned_are_those_of_no_map():
    (rule, *_) = coarse_rules(FEW)
    nothing = SimpleNamespace(overlaps=Overlaps(0.0, 0.0, 0.0))
    assert SaddleMap(FEW, rule).averages(nothing).M == rule.unlearned(FEW).M


@pytest.mark.parametrize(
    "conjugates", [(1e10, 1e-305, 1.0), (1e-10, 1e300, 1e-10), (1e10, 1.0, 1e-300)]
)
def test_conjugates_beyond_double_precision_are_no_denoising_problem(conjugates):
    """Without noise, or with infinite noise; an infinite gain."""
    with pytest.raises(OutsideDomain, match="no denoising problem"):
        reduced_variables(Conjugates(*conjugates), Problem(1.0, MarchenkoPastur(0.5), 0.1, 0.5))


def test_coordinates_and_conjugates_are_inverse():
    free = FreeDirections(FEW)
    conjugates = solve(FEW).conjugates
    assert free.denoised(free.coordinates(conjugates)).conjugates.pack() == pytest.approx(
        conjugates.pack(), abs=1e-9
    )


def test_the_share_of_free_directions_is_that_of_the_solution():
    conjugates = solve(FEW).conjugates
    energy = estimator_of(FEW).denoised(conjugates).denoising.energy
    assert np.exp(FreeDirections(FEW).coordinates(conjugates)[1]) == pytest.approx(
        energy.J_v, rel=1e-12
    )


@pytest.mark.parametrize(("alpha", "decay"), [(0.03, 0.01), (0.1, 1e-4), (0.1, 0.01)])
def test_both_unknowns_find_one_root(alpha, decay):
    problem = Problem(alpha=alpha, target=MarchenkoPastur(0.05), lambda_=decay, noise=0.5)
    saddle = saddle_map(problem)
    free, begin = FreeDirections(problem), Conjugates.unpack(saddle.unlearned(), problem)
    assert free.are_suitable(begin)
    found = iterate(
        in_unknowns(saddle.image, free),
        free.coordinates(begin),
        Anderson(),
        tolerance=1e-6,
        max_steps=20,
    )
    assert found.converged
    conjugates = free.denoised(found.point).conjugates
    x = conjugates.pack()
    assert saddle(x) == pytest.approx(x, abs=5e-6)  # residuals of v and c are differences of these
    assert isinstance(unknowns_at(problem, conjugates), FreeDirections)


@pytest.mark.parametrize(
    ("dim", "x", "y"),
    [
        (10**4, 0.75, -1.25),
        pytest.param(10**8, 1.27, -1.23, marks=pytest.mark.slow),
        pytest.param(10**12, 0.75, -1.25, marks=pytest.mark.slow),
    ],
)
def test_weak_decay_in_huge_dimension(dim, x, y):
    """From the conjugates neither acceleration nor continuation got anywhere, and residuals of
    theirs stayed above 1e-7.
    """
    asked = Problem(1.0, power_law(0.75, dim, per_octave=64), float(dim) ** y, 0.5)
    solution = solve(asked.at(float(dim) ** (x - 2)))
    assert solution.status is Status.CONVERGED


def test_more_labels_than_directions_are_left_to_the_conjugates():
    problem = Problem(alpha=4.0, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5)
    assert isinstance(
        unknowns_at(problem, Conjugates.unpack(saddle_map(problem).unlearned(), problem)),
        Logarithms,
    )


@pytest.mark.identity
@given(v=log_uniform(0.1, 100.0), V=log_uniform(1.0, 1e12), c=log_uniform(0.1, 10.0))
def test_coordinates_above_interpolation_and_conjugates_are_inverse(v, V, c):
    above = AboveInterpolation.of(ABOVE)
    y = np.log([v, V, c])
    assert above.coordinates(above.denoised(y).conjugates) == pytest.approx(y, abs=1e-9)


def test_a_solution_above_interpolation_is_a_fixed_point_in_both_unknowns():
    above, saddle, x = (
        AboveInterpolation.of(ABOVE),
        saddle_map(ABOVE),
        solve(ABOVE).conjugates.pack(),
    )
    outcome = iterate(saddle, x, Newton(1e-4), tolerance=1e-7, max_steps=8)
    assert outcome.converged
    y = above.coordinates(Conjugates.unpack(outcome.point, ABOVE))
    # the distance of alpha(V) from the threshold, one per cent of either, has a hundred times their
    # relative rounding
    assert in_unknowns(saddle.image, above)(y) == pytest.approx(y, abs=1e-4)


@pytest.mark.parametrize(
    "sample_minimum", ["global", pytest.param("fitted", marks=pytest.mark.slow)]
)
def test_the_limit_of_no_decay_is_continuous_at_interpolation(sample_minimum):
    """The linear channel below and averages at V of 10^8 above are one; from S = 0 the iteration
    ran away to q = 10^5.
    """
    problem = replace(ABOVE, sample_minimum=sample_minimum)
    below, above = (
        solve(problem.at((1 + side) * INTERPOLATION)).unwrap() for side in (-1e-8, 1e-4)
    )
    assert above.V > 1e7 and np.inf == below.V
    # m and q leave the threshold like the root of the distance below it, with it above: 3e-4 and
    # 5e-4 of q here
    for name in ("m", "q", "delta", "c", "test_error"):
        assert getattr(above, name) == pytest.approx(getattr(below, name), rel=1e-3), name


def test_what_is_neither_at_no_decay_nor_near_interpolation_is_left_to_other_unknowns():
    assert AboveInterpolation.of(FEW) is None
    assert AboveInterpolation.of(ABOVE.at(0.5 * INTERPOLATION)) is None
    assert AboveInterpolation.of(ABOVE.at(3.0 * INTERPOLATION)) is None
