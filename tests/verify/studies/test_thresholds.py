"""Crossings from made-up data, training at vanishing decay, both parametrisations, and the command's refusals."""

import numpy as np
import pytest

from numeric.cli.arguments import BadInput
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from verify.__main__ import main
from verify.jobs.store import Store
from verify.judging.crossing import SizePoints, crossing_of, find_crossing
from verify.studies.descents import compare_descents
from verify.training.minimise import DescentStatus
from verify.training.run import Run
from verify.training.vanishing_decay import VanishingResult, train_at_vanishing_decay

THRESHOLD, ALPHAS = 0.2, np.array([0.24, 0.28, 0.32, 0.36])
TINY = Run(Problem(0.4, MarchenkoPastur(0.5), 1e-3, 0.25), dim=12)


def root(alphas, threshold):
    return 1.3 * (alphas - threshold) - 0.8 * (alphas - threshold) ** 2


def made_up(shift, seed=1, scatter=0.01):
    """Runs whose crossing at size d is at THRESHOLD + shift + 0.5/d."""
    rng = np.random.default_rng(seed)
    return [
        SizePoints(d, ALPHAS, tuple(rng.normal(root(a, THRESHOLD + shift + 0.5 / d), scatter, 20) for a in ALPHAS))
        for d in (20, 30, 40)
    ]


def test_a_straight_line_crosses_where_it_crosses():
    assert crossing_of(ALPHAS, 2 * (ALPHAS - 0.17)) == pytest.approx(0.17)


def test_lines_are_those_of_weighted_least_squares():
    rng = np.random.default_rng(0)
    roots, weights = rng.random((3, 4)), rng.random(4)
    expected = [np.polynomial.polynomial.polyfit(row, ALPHAS, 1, w=weights)[0] for row in roots]
    assert crossing_of(ALPHAS, roots, weights) == pytest.approx(expected)


def test_the_crossing_is_extrapolated_and_freed_of_the_bend():
    found = find_crossing(made_up(0.0), (ALPHAS, root(ALPHAS, THRESHOLD)), THRESHOLD, 0)
    assert THRESHOLD in found.infinite
    assert found.by_size[20].value - found.by_size[40].value == pytest.approx(0.0125, abs=0.008)
    assert abs(found.fit_bias) > 1e-3


def test_a_shifted_crossing_is_seen():
    found = find_crossing(made_up(0.05), (ALPHAS, root(ALPHAS, THRESHOLD)), THRESHOLD, 0)
    assert THRESHOLD not in found.infinite
    assert found.infinite.value == pytest.approx(
        THRESHOLD + 0.05, abs=0.01
    )  # the bend subtracted is that of the theory


def test_intervals_cover_as_often_as_they_say():
    theory = (ALPHAS, root(ALPHAS, THRESHOLD))
    covered = [THRESHOLD in find_crossing(made_up(0.0, seed), theory, THRESHOLD, seed).infinite for seed in range(120)]
    assert 0.87 < np.mean(covered) < 1  # 95 % and four deviations of the mean of 120 below


@pytest.fixture(scope="module")
def followed():
    return train_at_vanishing_decay(TINY)


def test_the_loss_falls_with_the_decay_and_extrapolates(followed):
    assert followed.status is DescentStatus.CONVERGED
    larger, smaller = followed.train_error
    assert 0 < followed.limit("train_error") ** 2 < smaller < larger


def test_results_survive_the_store(followed, tmp_path):
    Store(tmp_path, VanishingResult, "vanishing.jsonl").append(followed)
    assert Store(tmp_path, VanishingResult, "vanishing.jsonl").load() == {followed.run: followed}
    assert Store(tmp_path, VanishingResult, "vanishing.jsonl", protocol="other").load() == {}


def test_noise_below_the_dimension_count_is_fitted_and_above_it_is_not():
    """Width below 1: above (kappa - kappa^2/2)/D labels outnumber the parameters of S, whatever the replica-symmetric value."""
    losses = []
    for alpha in (0.05, 0.16):  # the count gives 0.109 for kappa = 1/4 at large d, 0.126 at d = 16
        run = Run(Problem(alpha, MarchenkoPastur(0.25), 1e-5, 0.2, width=0.25), dim=16)
        losses.append(train_at_vanishing_decay(run).limit("train_error"))
    assert losses[0] < 0.02 * losses[1]


@pytest.mark.parametrize("alpha", [0.12, 0.4])
def test_weight_decay_on_factors_is_a_trace_penalty(alpha):
    found = compare_descents(Run(Problem(alpha, MarchenkoPastur(0.5), 0.01, 0.25), dim=20))
    assert found.agrees, found


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--dim", "24"], "--dim"),
        (["--noise", "0"], "--noise"),
        (["--width", "1/2"], "--width"),
        (["--beta", "2"], "--beta"),
    ],
)
def test_bad_input_is_refused_before_any_work(arguments, named, tmp_path):
    with pytest.raises(BadInput, match=named):
        main(["thresholds", "--out", str(tmp_path / "out"), *arguments])
