"""The Bayes optimum and what learning costs against it."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.maths.domain import OutsideDomain
from numeric.model import float64 as generated
from numeric.plotting import recovery_figure
from numeric.prediction.posterior_prediction import PosteriorErrors
from numeric.problem.problem import Problem
from numeric.problem.solution import Status, failed_solution
from numeric.studies.bayes_comparison import BayesPoint, CostPoint, cost_curve
from numeric.studies.bayes_estimation_error import bayes_error, cubed_density
from numeric.studies.optimal_decay import Optimum
from numeric.studies.recovery_table import recovery_table

LAW = MarchenkoPastur(0.5)


def optimum(alpha, noise, target=LAW, tokens=2):
    return bayes_error(Problem(alpha, target, 1.0, noise, tokens=tokens))


def test_cubed_density_of_a_nearly_pure_semicircle():
    """int rho^3 of a semicircle of variance v is 3/(4 pi^2 v): at large v the target hardly
    shows.
    """
    v = 1e4
    assert cubed_density(v, LAW) * v == pytest.approx(3 / (4 * np.pi**2), rel=1e-3)


def test_bayes_error_falls_from_the_variance_to_zero():
    errors = [optimum(alpha, 0.0) for alpha in (1e-4, 0.05, 0.1, 0.18, 0.19)]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] == pytest.approx(1.0, abs=1e-3)  # q0 - t0^2: the mean is known
    assert errors[-1] == 0.0  # beyond (kappa0 - kappa0^2/2)/D = .1875


def test_bayes_error_of_many_samples_is_that_of_a_weak_noise():
    """alpha -> infinity: v = Delta/(4 D alpha) and E = v, every eigenvalue resolved (kappa0 > 1: no
    zero eigenvalues).
    """
    law, alpha, noise = MarchenkoPastur(3.0), 1e5, 0.5
    v = noise / (4 * 2 * alpha)
    assert optimum(alpha, noise, law) == pytest.approx(v, rel=1e-3)


def test_posterior_mean_in_a_random_matrix():
    """The best rotation-invariant denoiser of S0 + delta G, eigenvalue by eigenvalue, has the
    generated error.
    """
    rng, d, v = np.random.default_rng(1), 400, 0.3
    w = rng.standard_normal((d, d // 2))
    s0 = w @ w.T / np.sqrt(d * d / 2)
    a = rng.standard_normal((d, d))
    y = s0 + np.sqrt(v) * (a + a.T) / np.sqrt(2 * d)
    _, vectors = np.linalg.eigh(y)
    oracle = np.einsum("ij,ik,kj->j", vectors, s0, vectors)  # the optimum knows these in the limit
    error = ((s0 - (vectors * oracle) @ vectors.T) ** 2).sum() / d
    assert error == pytest.approx(float(generated.bayes_error(v, cubed_density(v, LAW))), rel=0.02)


def test_learning_never_beats_the_optimum():
    problem = Problem(alpha=1.0, target=MarchenkoPastur(0.5), lambda_=0.02, noise=0.5)
    for point in cost_curve(problem, [0.2, 1.0]):
        assert point.ratio > 1


def test_points_beyond_double_precision_do_not_stop_the_others():
    points = cost_curve(
        Problem(alpha=1.0, target=MarchenkoPastur(0.5), lambda_=0.02, noise=0.5), [1e-9, 0.5]
    )
    assert points[0].bayes_error is None and np.isnan(points[0].ratio)
    assert points[1].bayes_error is not None


def test_recovery_table_costs_at_least_the_optimum_and_draws_any_number_of_widths():
    grid = [Fraction(k, 10) for k in range(1, 10)]
    widths = [
        Fraction(1),
        Fraction(9, 10),
        Fraction(8, 10),
        Fraction(7, 10),
        Fraction(6, 10),
        Fraction(1, 2),
    ]
    rows = recovery_table(grid, widths, [2, 3])
    assert all(row.ratio >= 1 for row in rows)
    assert len(recovery_figure(rows).axes[0].lines) == 2 * (len(widths) + 1)


def test_samples_beyond_double_precision_are_said_to_be_too_few_or_too_many():
    with pytest.raises(OutsideDomain, match="too few samples"):
        optimum(1e-15, 0.0)
    with pytest.raises(OutsideDomain, match="is below double precision"):
        optimum(1e16, 0.5)


def test_labels_of_more_tokens_count_for_more_samples():
    """As many times as they have numbers: 5 in place of 2."""
    assert optimum(0.2, 0.3, tokens=3) == pytest.approx(optimum(0.5, 0.3), rel=1e-9)


def test_a_cost_is_a_ratio_of_errors_where_there_are_two():
    solution = replace(
        failed_solution(Problem(1.0, LAW, 0.1, 0.5), Status.CONVERGED),
        estimation_error=0.3,
        test_error=0.4,
    )
    assert CostPoint(solution, 0.2).ratio == pytest.approx(1.5)
    assert CostPoint(solution, 0.0).ratio == math.inf and math.isnan(
        CostPoint(solution, None).ratio
    )
    found = BayesPoint(
        solution.problem, 0.2, PosteriorErrors(0.5, 0.6), Optimum(0.05, solution, 0.0)
    ).record()
    assert list(found.values()) == [1.0, 0.2, 0.5, 0.6, 0.05, 0.3, 0.4]
    assert list(BayesPoint(solution.problem, None, None, None).record().values()) == [
        1.0,
        *6 * [None],
    ]


def test_tokens_that_a_model_states_itself_are_no_setting_of_a_row():
    """Two were told of quadratic networks, which see one."""
    (row,) = recovery_table([Fraction(1, 2)], [Fraction(1)], [2], "quadratic_network")
    assert row.tokens is None and float(row.bayes) == pytest.approx(0.375)
    assert [
        text.get_text() for text in recovery_figure([row]).axes[0].get_legend().get_texts()
    ] == [
        r"$\kappa=1$",
        "Bayes-optimal",
    ]


def test_a_row_stands_for_each_width_that_reaches_the_rank_ratio():
    """A rank ratio above one is one of one."""
    asked = [Fraction(1, 2), Fraction(3, 2)], [Fraction(1, 2), Fraction(1)], [2, 3]
    rows = recovery_table(*asked)
    places = [(row.tokens, row.width, row.kappa0) for row in rows]
    assert places == [
        (tokens, *place)
        for tokens in (2, 3)
        for place in (
            (asked[1][0], asked[0][0]),
            (asked[1][1], asked[0][0]),
            (asked[1][1], asked[0][1]),
        )
    ]
    assert rows[0].ratio == pytest.approx(float(rows[0].recovery) / float(rows[0].bayes)) == 1.0
