"""Optimal weight decay: against a grid, at its limits, and factors against direct training."""

import math
from dataclasses import replace

import numpy as np
import pytest

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Parametrisation, Problem
from numeric.problem.solution import NotConverged, Status, failed_solution
from numeric.saddle.solve import solve
from numeric.studies import optimal_decay
from numeric.studies.optimal_decay import DECAY_RATIO, MIN_DECAY, largest_decay, optimal_lambda

FIGURE_TWO = Problem(alpha=0.3, target=MarchenkoPastur(0.05), lambda_=1.0, noise=0.05)


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_direct_training_is_never_better(alpha):
    factors = optimal_lambda(FIGURE_TWO.at(alpha)).solution.test_error
    direct = optimal_lambda(
        replace(FIGURE_TWO.at(alpha), parametrisation=Parametrisation.SYMMETRIC)
    ).solution
    assert direct.test_error > factors


def test_bad_tolerance_is_named():
    with pytest.raises(ValueError, match="tolerance"):
        optimal_lambda(FIGURE_TWO, tolerance=0.0)


@pytest.fixture
def made_up(monkeypatch):
    """Test errors that are a function of the weight decay, found with an error of 1e-6 between 1
    and 0; the decays tried.
    """

    def of(error, status=lambda decay: Status.CONVERGED):
        tried = []

        def solved(problem, start, accuracy):
            tried.append(problem.lambda_)
            found = failed_solution(problem, status(problem.lambda_), 0.0, 0)
            return replace(
                found,
                test_error=error(problem.lambda_),
                m=1.0,
                errors={"test_error": 1e-6, "m": 0.02},
            )

        monkeypatch.setattr(optimal_decay, "solve", solved)
        monkeypatch.setattr(optimal_decay, "largest_decay", lambda problem: 1.0)
        return tried

    return of


@pytest.mark.parametrize("at", [0.9, 0.1, 1e-3, 1e-6])
def test_a_parabola_has_its_minimum_and_the_width_that_its_error_leaves(made_up, at):
    """1 + log(lambda/at)^2/2 rises by 1e-6 within the square root of 2e-6, which the tolerance
    joins.
    """
    tried = made_up(lambda decay: 1 + math.log(decay / at) ** 2 / 2 if decay else 100.0)
    found = optimal_lambda(FIGURE_TWO, tolerance=1e-5)
    assert math.log(found.decay / at) == pytest.approx(0, abs=1e-5)
    assert found.uncertainty == pytest.approx(1e-5 + math.sqrt(2e-6), rel=1e-3)
    assert found.solution.test_error == pytest.approx(1, abs=1e-9)
    assert tried[0] == pytest.approx(1 / DECAY_RATIO) and 0.0 not in tried


def test_an_error_that_falls_all_the_way_ends_at_no_decay(made_up):
    tried = made_up(lambda decay: 1 + decay)
    found = optimal_lambda(FIGURE_TWO)
    assert (found.decay, found.solution.test_error, found.uncertainty) == (0.0, 1.0, math.inf)
    assert MIN_DECAY / DECAY_RATIO < min(filter(None, tried)) <= MIN_DECAY and tried[-1] == 0.0
    tried = made_up(lambda decay: 1 + decay)
    without = optimal_lambda(replace(FIGURE_TWO, parametrisation=Parametrisation.SYMMETRIC))
    assert (
        0 < without.decay <= MIN_DECAY and 0.0 not in tried
    )  # for direct training there is no such limit


def test_an_error_that_rose_once_may_fall_again(made_up):
    """Two rises in a row end the search, one does not: a kink between two branches, say."""
    bump = [5, 4, 4.5, 3, 2, 3, 4, 1]
    tried = made_up(
        lambda decay: float(
            bump[min(len(bump), round(-math.log(decay) / math.log(DECAY_RATIO))) - 1]
        )
    )
    path = list(optimal_decay._descent(FIGURE_TWO, None, "test_error"))
    assert [one.test_error for one in path] == bump[:-1] and len(tried) == len(path)


def test_points_that_are_spent_end_the_search_and_others_without_a_value_are_said(made_up):
    made_up(
        lambda decay: 1 + decay,
        lambda decay: Status.INACCURATE if 0 < decay < 0.01 else Status.CONVERGED,
    )
    assert optimal_lambda(FIGURE_TWO).decay == 0.0
    made_up(
        lambda decay: 1 + decay,
        lambda decay: Status.STEP_LIMIT if 0 < decay < 0.01 else Status.CONVERGED,
    )
    # without noise, beyond recovery, no error is left to solve
    assert optimal_lambda(replace(FIGURE_TWO, noise=0.0)).decay == 0.0
    with pytest.raises(NotConverged):
        optimal_lambda(FIGURE_TWO)
    made_up(lambda decay: 1 + decay, lambda decay: Status.STEP_LIMIT)
    with pytest.raises(NotConverged):
        optimal_lambda(FIGURE_TWO)


def test_the_largest_decay_is_proportional_to_no_decay_of_the_problem():
    """And for direct training one at which a hundredth is learned."""
    assert largest_decay(replace(FIGURE_TWO, lambda_=7.0)) == largest_decay(FIGURE_TWO)
    direct = replace(FIGURE_TWO, parametrisation=Parametrisation.SYMMETRIC)
    little = solve(replace(direct, lambda_=largest_decay(direct)))
    assert 0 < little.m < 0.01 * direct.q0
