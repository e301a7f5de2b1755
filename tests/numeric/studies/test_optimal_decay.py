"""Optimal weight decay: against a grid, at its limits, and factors against direct training."""

from dataclasses import replace

import numpy as np
import pytest

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Parametrisation, Problem
from numeric.problem.solution import Status
from numeric.saddle.solve import solve
from numeric.studies.optimal_decay import largest_decay, optimal_lambda

FIGURE_TWO = Problem(alpha=0.3, target=MarchenkoPastur(0.05), lambda_=1.0, noise=0.05)


def test_no_decay_of_a_grid_does_better():
    best = optimal_lambda(FIGURE_TWO, tolerance=1e-2)
    for factor in np.geomspace(0.2, 5, 7):
        other = solve(replace(FIGURE_TWO, lambda_=best.decay * factor)).unwrap()
        # The test error is quadratic there: a decay off by the tolerance costs 1e-4 of it at most.
        assert best.solution.test_error <= other.test_error * (1 + 1e-4)


def test_the_largest_decay_is_where_learning_begins():
    edge = largest_decay(FIGURE_TWO)
    assert solve(replace(FIGURE_TWO, lambda_=1.01 * edge)).status is Status.UNLEARNED
    assert solve(replace(FIGURE_TWO, lambda_=0.9 * edge)).q > 0


@pytest.mark.slow
def test_without_noise_and_with_enough_data_vanishing_decay_is_best():
    """Beyond recovery the limit 0 gives the target itself."""
    best = optimal_lambda(replace(FIGURE_TWO, noise=0.0))
    assert best.decay == 0.0 and best.solution.test_error < 1e-12


@pytest.mark.parametrize("alpha", [pytest.param(0.1, marks=pytest.mark.slow), 1.0])
def test_direct_training_is_never_better(alpha):
    factors = optimal_lambda(FIGURE_TWO.at(alpha)).solution.test_error
    direct = optimal_lambda(replace(FIGURE_TWO.at(alpha), parametrisation=Parametrisation.SYMMETRIC)).solution
    assert direct.test_error > factors


def test_bad_tolerance_is_named():
    with pytest.raises(ValueError, match="tolerance"):
        optimal_lambda(FIGURE_TWO, tolerance=0.0)
