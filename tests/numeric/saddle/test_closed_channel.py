"""Roots of models with a closed channel: found near thresholds, proven, and with honest bars."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from benchmarks.calibration.near_recovery import led, power_list, ratios, reference
from numeric.channel.rules import coarse_rules
from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Parametrisation, Problem
from numeric.problem.solution import NEGLIGIBLE, QUANTITIES, Status
from numeric.saddle import closed_channel
from numeric.saddle.closed_channel import ClosedChannel, has_closed_equations
from numeric.saddle.equations import SaddleMap
from numeric.saddle.solve import _SOLVER, solve

NEAR_RECOVERY = Problem(0.328, MarchenkoPastur(0.3), 1e-5, 1e-8, model="quadratic_network")


@pytest.mark.parametrize(
    ("decay", "expected", "digits"),
    [(4.318595628520378e-06, 2.904292e-06, 7), (5.623413251903491e-06, 2.944194938653e-06, 13)],
)
def test_points_near_recovery_are_at_their_root(decay, expected, digits):
    """By an independent solver in 40 digits. A cold solve once stopped at 2.8591e-6, and gave a bar
    225 times too small at the other decay.
    """
    problem = replace(NEAR_RECOVERY, lambda_=decay)
    for solution in (solve(problem), led(problem)):
        assert solution.status is Status.CONVERGED
        assert solution.test_error == pytest.approx(expected, abs=0.5 * 10.0 ** (-5 - digits))
        assert solution.errors["test_error"] < 1e-12 * expected


@given(
    alpha=st.floats(0.05, 3),
    rank=st.floats(0.05, 1.0),
    decay=st.floats(-7, 0),
    noise=st.floats(-9, 0.3),
    model=st.sampled_from(["quadratic_network", "linear_attention"]),
    listed=st.booleans(),
)
@examples(15)
def test_bars_contain_the_proven_digits(alpha, rank, decay, noise, model, listed):
    target = power_list(rank) if listed else MarchenkoPastur(rank)
    problem = Problem(alpha, target, 10**decay, 10**noise, model=model)
    solution = solve(problem)
    assert solution.trusted
    if solution.status is not Status.UNLEARNED:
        assert max(ratios(solution, reference(problem)).values()) <= 1


@pytest.mark.parametrize("alpha", [0.2167578298791229, 0.3])
def test_a_search_that_fails_is_replaced_by_a_continuation_from_stronger_decay(alpha):
    target, decay = MarchenkoPastur(0.15486733200334837), 2.624414597494145e-07
    problem = Problem(alpha, target, decay, 1.6574836937352083e-09, model="quadratic_network")
    found = ClosedChannel(SaddleMap(problem, coarse_rules(problem)[0])).continued(_SOLVER.search)
    solution = solve(problem)
    assert found.converged and solution.status is Status.CONVERGED
    assert np.exp(found.point) == pytest.approx([solution.delta**2, solution.V], rel=1e-6)
    assert max(ratios(solution, reference(problem)).values()) <= 1


def test_without_a_proof_the_bars_are_those_of_linear_response(monkeypatch):
    """For a narrow student and a law in closed form, where both are known."""
    problem = Problem(0.5, MarchenkoPastur(0.4), 1e-3, 0.2, width=0.3, model="quadratic_network")
    proven = solve(problem)
    monkeypatch.setattr(ClosedChannel, "_proven", lambda self, y: None)
    estimated = solve(problem)
    assert proven.quantile == pytest.approx(estimated.quantile, rel=1e-9)
    for name in QUANTITIES:
        value, bar = getattr(estimated, name), estimated.errors[name]
        assert abs(value - getattr(proven, name)) <= bar < 1e-6 * abs(value)
        assert proven.errors[name] <= 1e-13 * abs(value)


def test_a_proof_of_another_root_is_not_taken(monkeypatch):
    closed = ClosedChannel(SaddleMap(NEAR_RECOVERY, coarse_rules(NEAR_RECOVERY)[0]))
    solution = solve(NEAR_RECOVERY)
    root = np.log([solution.delta**2, solution.V])
    assert closed._proven(root) is not None
    assert closed._proven(np.array([-400.0, 300.0])) is None
    monkeypatch.setattr(closed_channel, "SAME", 1e-12)
    assert closed._proven(root + 1e-6) is None


def test_models_have_closed_equations_where_they_are_generated():
    assert has_closed_equations(NEAR_RECOVERY)
    assert not has_closed_equations(replace(NEAR_RECOVERY, lambda_=0))
    tied = Problem(1.0, MarchenkoPastur(0.5), 0.05, 0.5)
    assert not has_closed_equations(tied)
    assert not has_closed_equations(replace(tied, parametrisation=Parametrisation.SYMMETRIC))


def test_a_quantity_that_vanishes_has_an_error_on_the_scale_of_the_problem():
    """The training error below interpolation: its relative error was 5100 %."""
    solution = solve(Problem(0.25, MarchenkoPastur(0.3), 1e-8, 0.5, model="quadratic_network"))
    assert solution.status is Status.CONVERGED and solution.error_estimate < 1e-6
    assert 0 < solution.train_error < NEGLIGIBLE**2
    # E (h0 + noise)^2 with E h^2 = 2 rho of a network of one token
    assert solution.unlearned_error == pytest.approx(2 * solution.problem.rho)


@pytest.mark.parametrize("model", ["tied_attention", "quadratic_network"])
def test_recovery_is_exact(model):
    """The relative error of its zeros was 9.7e21."""
    solution = solve(Problem(1.0, MarchenkoPastur(0.5), 0, 0, model=model))
    assert solution.status is Status.CONVERGED and solution.error_estimate < 1e-6
    assert solution.test_error == solution.train_error == solution.estimation_error == 0
    assert max(solution.errors[name] for name in ("test_error", "train_error")) < 1e-13


def test_the_scale_is_that_of_each_quantity():
    target = Eigenvalues((0.0, 3.0), (0.9, 0.1))
    solution = solve(Problem(2.0, target, 0.01, 0.1, model="quadratic_network"))
    scales = {name: solution.scale(name) for name in QUANTITIES}
    assert scales["m"] == scales["estimation_error"] == pytest.approx(0.9)
    assert scales["b"] == pytest.approx(0.9**0.5)
    assert scales["free_entropy"] == 2 * scales["test_error"] == 2 * solution.unlearned_error
    assert scales["V"] == scales["mh"] == 0
    tiny = replace(solution, m=1e-9, errors={"m": 1e-10})
    assert tiny.relative_error(("m",)) == pytest.approx(1e-10 / (NEGLIGIBLE * 0.9))
    assert solution.relative_error(("m",)) == pytest.approx(solution.errors["m"] / solution.m)


@pytest.mark.parametrize("bar", [0.02, np.inf, np.nan])
def test_a_root_with_large_bars_is_inaccurate(monkeypatch, bar):
    monkeypatch.setattr(ClosedChannel, "_proven", lambda self, y: None)
    monkeypatch.setattr(
        ClosedChannel, "_errors", lambda self, y: np.full(len(QUANTITIES), bar * 1.5)
    )
    assert solve(replace(NEAR_RECOVERY, noise=0.5)).status is Status.INACCURATE
