"""What test errors are made of: nodes, fields, the best multiple of made-up errors, labels of a
posterior.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from numeric.channel.best_multiple import minimise_sampled_error, root_of_slope
from numeric.channel.softmax import label_losses
from numeric.channel.softmax.label_losses import (
    PairLosses,
    RowLosses,
    converged_average,
    gaussian_nodes,
    independent_rows,
    index_deviation,
)
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import power_law
from numeric.maths.domain import OutsideDomain
from numeric.model import float64 as generated
from numeric.prediction.gaussian_indices import GaussianPrediction
from numeric.prediction.leading_features import LeadingPrediction
from numeric.prediction.posterior_prediction import posterior_problem
from numeric.prediction.prediction import best_prediction
from numeric.problem.labels import Labels, fields_at
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from numeric.problem.solution import Status, failed_solution

PROBLEM = Problem(1.0, MarchenkoPastur(0.5), 0.1, 0.5, beta=2.0, beta0=3.0)
LABELS = Labels.of(PROBLEM)


@pytest.mark.parametrize("nodes", label_losses._NODES)
def test_nodes_of_a_gaussian_have_its_moments(nodes):
    x, weights = gaussian_nodes(nodes)
    assert len(x) == nodes
    for power, moment in ((0, 1), (1, 0), (2, 1), (4, 3), (6, 15)):
        assert weights @ x**power == pytest.approx(moment, abs=1e-12 * 15)


def test_an_average_is_that_of_the_first_rule_that_agrees_with_the_one_before():
    first, second, third, *_ = label_losses._NODES
    asked = []
    assert (
        converged_average(
            lambda nodes: (
                asked.append(nodes) or {first: 1.0, second: 2.0, third: 2.0 + 0.9e-10}[nodes]
            )
        )
        == 2 + 0.9e-10
    )
    assert asked == [first, second, third]
    with pytest.raises(OutsideDomain, match="not resolved"):
        converged_average(lambda nodes: 1.1e-10 * (nodes % 7))


def test_fields_need_overlaps_that_matrices_have():
    assert fields_at(1.0, 0.5, 2.0).independent == pytest.approx(0, abs=1e-7)
    assert fields_at(1.0, 0.5 * (1 - 0.9e-12), 2.0).teacher == pytest.approx(
        math.sqrt(0.5)
    )  # within rounding
    for m, q in ((1.0, 0.5 * (1 - 2e-12)), (math.nan, 1.0), (-1.01, 0.5)):
        with pytest.raises(OutsideDomain, match=r"must satisfy m\^2 <= q rho"):
            fields_at(m, q, 2.0)
    assert LABELS.rho == PROBLEM.rho and LABELS.fields(0.5, 0.6) == fields_at(0.5, 0.6, PROBLEM.rho)


@pytest.mark.parametrize(("beta", "beta0"), [(1.0, 1.0), (2.0, 0.5)])
@pytest.mark.parametrize("place", [2e-3, 0.1, 1.0, 1.9])
def test_the_best_multiple_is_found_within_its_range(beta, beta0, place):
    """In units of beta0/beta, from 1e-3 to 2: by the slope, or by a minimum."""
    best = place * beta0 / beta
    assert root_of_slope(lambda c: c - best, beta, beta0) == pytest.approx(best, rel=1e-12)
    assert minimise_sampled_error(lambda c: math.log(c / best) ** 2, beta, beta0) == pytest.approx(
        best, rel=1e-5
    )


@pytest.mark.parametrize("place", [0.99e-3, 2.01])
def test_a_best_multiple_beyond_it_is_refused(place):
    with pytest.raises(OutsideDomain, match=r"between 0\.002 and 4"):
        root_of_slope(lambda c: c - 2 * place, 1.0, 2.0)
    with pytest.raises(OutsideDomain, match=r"between 0\.002 and 4"):
        minimise_sampled_error(lambda c: math.log(c / (2 * place)) ** 2, 1.0, 2.0)


@pytest.mark.parametrize("make", [PairLosses, RowLosses])
def test_either_way_of_two_tokens_has_the_slope_of_its_own_test_error(make):
    averages, c, step = make(LABELS), 1.2, 1e-4
    up, down = (
        averages.test_error(*generated.multiple_overlaps(c + side * step, LABELS.q0)).value
        for side in (1, -1)
    )
    assert averages.multiple_slope(c) == pytest.approx((up - down) / (2 * step), rel=1e-4)
    pair, row = PairLosses(LABELS).test_error(0.5, 0.6), RowLosses(LABELS).test_error(0.5, 0.6)
    assert (
        row.value == pytest.approx(pair.value, abs=2 * row.error) and row.error < 1e-2 * row.value
    )


@pytest.mark.parametrize("tokens", [2, 3, 5])
def test_rows_are_independent_and_have_the_variances_of_an_index(tokens):
    """Up to a constant in a row: differences of entries, of the diagonal one and of others."""
    rows = independent_rows(tokens)
    diagonal, others, _ = map(float, generated.index_variances())
    for row in rows:
        assert (row[:, 0] - row[:, 1]).var() == pytest.approx(diagonal + others, rel=5e-3)
        if tokens > 2:
            assert (row[:, 1] - row[:, -1]).var() == pytest.approx(2 * others, rel=5e-3)
    assert abs(np.mean((rows[0, :, 0] - rows[0, :, 1]) * (rows[1, :, 0] - rows[1, :, 1]))) < 1e-2
    if tokens == 2:
        assert (rows[0, :, 0] - rows[0, :, 1]).std() == pytest.approx(index_deviation(), rel=5e-3)


def test_best_predictions_by_quadrature_and_by_samples_agree():
    pair, row = PairLosses(LABELS), RowLosses(LABELS)
    assert row.least_test_error() == pytest.approx(pair.least_test_error(), rel=5e-3)
    assert row.mismatch(1.1) == pytest.approx(pair.mismatch(1.1), rel=2e-2)
    without = replace(LABELS, noise=0.0)
    assert (
        PairLosses(without).least_test_error()
        == pytest.approx(0, abs=1e-9)
        == RowLosses(without).least_test_error()
    )
    assert isinstance(best_prediction(replace(PROBLEM, tokens=3)), RowLosses) and isinstance(
        best_prediction(PROBLEM), PairLosses
    )


def test_an_excess_is_over_the_best_multiple_and_has_both_errors():
    prediction = GaussianPrediction(PairLosses(LABELS))
    best = prediction.best_multiple()
    at_best = Overlaps(*map(float, generated.multiple_overlaps(best.c, LABELS.q0)), 0.0)
    solution = replace(failed_solution(PROBLEM, Status.CONVERGED), errors={"test_error": 0.25})
    excess = prediction.excess_error(solution, at_best)
    assert excess.value == pytest.approx(0, abs=1e-9) and excess.error == pytest.approx(0.25)
    for factor in (0.99, 1.01):
        beside = Overlaps(*map(float, generated.multiple_overlaps(factor * best.c, LABELS.q0)), 0.0)
        assert prediction.test_error(beside).value > best.test_error
    assert prediction.fitted_error() == (0.0, 0.0)


@pytest.mark.parametrize("error", [0.0, 0.3, 1.0])
def test_labels_keep_their_law_where_the_target_is_known_by_its_posterior(error):
    """What is not known of the target is noise of its labels."""
    seen = posterior_problem(PROBLEM, error)
    assert seen.q0 == pytest.approx(PROBLEM.q0 - error) and seen.rho == pytest.approx(PROBLEM.rho)
    assert seen.beta == seen.beta0 == PROBLEM.beta0


def test_a_multiple_of_a_target_has_its_leading_features():
    """As many times each of them, where they are treated exactly."""
    problem = Problem(1.0, power_law(0.75, 2000), 0.1, 0.5, leading=1)
    prediction = LeadingPrediction.of(problem)
    overlaps = prediction.multiple(0.8)
    assert (overlaps.m, overlaps.q) == pytest.approx((0.8 * problem.q0, 0.64 * problem.q0))
    assert overlaps.learned == pytest.approx((0.8 * problem.features[0][0],))
