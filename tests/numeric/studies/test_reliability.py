"""Reliability: accuracy of predicted classes by their stated probability."""

from dataclasses import replace

import numpy as np
import pytest
import scipy

from attention_erm.runtime.errors import InvalidParameter
from numeric.channel.classification import optimal_classification
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.plotting import reliability_figure
from numeric.problem.problem import Problem
from numeric.saddle.solve import solve
from numeric.studies.reliability import MOST_BINS, reliability

SIGNS = Problem(0.7, MarchenkoPastur(0.5), 0.02, 0.3, model="sign_quadratic_logistic")


@pytest.fixture(scope="module")
def solved():
    return solve(SIGNS).unwrap()


@pytest.mark.parametrize("model", ["sign_quadratic_logistic", "drawn_attention_cross_entropy"])
def test_bins_add_up_to_the_figures_of_the_solution(model):
    solution = solve(replace(SIGNS, model=model)).unwrap()
    bins = reliability(solution, 7).bins
    assert sum(one.share for one in bins) == pytest.approx(1, abs=1e-9)
    right = sum(one.share * one.accuracy for one in bins)
    stated = sum(one.share * one.confidence for one in bins)
    assert right == pytest.approx(1 - solution.misclassification, abs=1e-8)
    assert stated - right == pytest.approx(solution.calibration, abs=1e-8)
    assert all(one.low <= one.confidence <= one.high for one in bins)


def test_bins_are_those_of_sampled_labels(solved):
    """A million scores: h = w with q, target z with rho, overlap m; variances 2 per unit."""
    rng, n, problem = np.random.default_rng(1), 10**6, SIGNS
    w = np.sqrt(solved.q) * rng.standard_normal(n)
    rest = np.sqrt(problem.rho - solved.m**2 / solved.q)
    z = solved.m / solved.q * w + rest * rng.standard_normal(n)
    stated = scipy.special.expit(np.sqrt(2) * np.abs(w))
    for one in reliability(solved, 5).bins:
        inside = (stated > one.low) & (stated <= one.high)
        count = inside.sum()
        right = (np.sign(w) == np.sign(z))[inside].mean()
        assert abs(inside.mean() - one.share) < 4 * np.sqrt(one.share / n)
        assert abs(right - one.accuracy) < 4 * np.sqrt(one.accuracy * (1 - one.accuracy) / count)
        assert stated[inside].mean() == pytest.approx(one.confidence, abs=4 / np.sqrt(count))


def test_a_student_trained_with_little_decay_is_too_sure(solved):
    curve = reliability(solved)
    assert all(one.confidence > one.accuracy for one in curve.bins)
    assert curve.calibration_error == pytest.approx(solved.calibration, abs=1e-8)
    assert optimal_classification(SIGNS, 0.3).calibration == 0


def test_the_figure_shows_every_bin_with_labels(solved):
    accuracy, share = reliability_figure([reliability(solved, 6)]).axes
    assert [len(line.get_xdata()) for line in accuracy.lines] == [2, 6]
    assert [len(line.get_xdata()) for line in share.lines] == [6]


@pytest.mark.parametrize("bins", [0, MOST_BINS + 1])
def test_a_number_of_bins_without_sense_is_refused(solved, bins):
    with pytest.raises(InvalidParameter, match=f"^bins = {bins}: must lie from 1 to"):
        reliability(solved, bins)


def test_a_loss_without_probabilities_has_no_reliability():
    hinge = solve(replace(SIGNS, model="sign_quadratic_hinge"))
    with pytest.raises(InvalidParameter, match="states no probabilities of classes"):
        reliability(hinge)
