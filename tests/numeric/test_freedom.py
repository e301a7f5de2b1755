"""The other unknowns lead to the same root, and there where the conjugates do not."""

import numpy as np
import pytest

from numeric.averages import coarse_rules
from numeric.freedom import FreedomMap, by_freedom, underdetermined
from numeric.marchenko_pastur import MarchenkoPastur
from numeric.prior import prior_of
from numeric.problem import Problem
from numeric.saddle import SaddleMap, solve
from numeric.scaling import ScalingProblem
from numeric.solution import Status

FEW = Problem(alpha=0.1, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5)


def saddle_map(problem):
    return SaddleMap(problem, coarse_rules(problem)[0])


def test_coordinates_and_conjugates_are_inverse():
    inner = FreedomMap(saddle_map(FEW), FEW)
    x = solve(FEW).conjugates
    assert inner.conjugates(inner.coordinates(x)) == pytest.approx(x, abs=1e-9)


def test_the_share_of_free_directions_is_that_of_the_solution():
    x = solve(FEW).conjugates
    energy = prior_of(FEW).denoised(x).denoising.energy
    assert np.exp(FreedomMap(saddle_map(FEW), FEW).coordinates(x)[1]) == pytest.approx(energy.J_v, rel=1e-12)


@pytest.mark.parametrize(("alpha", "decay"), [(0.03, 0.01), (0.1, 1e-4), (0.1, 0.01)])
def test_both_unknowns_find_one_root(alpha, decay):
    problem = Problem(alpha=alpha, target=MarchenkoPastur(0.05), lambda_=decay, noise=0.5)
    saddle = saddle_map(problem)
    assert underdetermined(problem, saddle.unlearned())
    found = by_freedom(saddle, problem, saddle.unlearned(), 1e-6)
    assert found.converged
    assert found.steps < 20
    assert saddle(found.point) == pytest.approx(found.point, abs=5e-6)  # residuals of v and c are differences of these


@pytest.mark.parametrize(("dim", "x", "y"), [(10**4, 0.75, -1.25), (10**8, 1.27, -1.23), (10**12, 0.75, -1.25)])
def test_weak_decay_in_huge_dimension(dim, x, y):
    """From the conjugates neither acceleration nor continuation got anywhere."""
    problem = ScalingProblem(0.75, dim, float(dim) ** y, 0.5).problem().at(float(dim) ** (x - 2))
    solution = solve(problem)
    assert solution.trusted
    assert solution.status is not Status.UNLEARNED


def test_more_labels_than_directions_are_left_to_the_conjugates():
    problem = Problem(alpha=4.0, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5)
    assert not underdetermined(problem, saddle_map(problem).unlearned())
