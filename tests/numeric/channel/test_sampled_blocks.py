"""Sampled averages beside quadrature, and noise on the label: without it tied attention, minimisers
by brute force, constants that it must add, and derivatives of M.
"""

import dataclasses

import numpy as np
import pytest

from numeric.channel.block_minima import lowest_minimiser
from numeric.channel.blocks import samples
from numeric.channel.rules import channel_of
from numeric.channel.sampled_blocks import SampledBlockRule
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.maths.sobol import Sampling
from numeric.prediction.prediction import prediction_of
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from numeric.saddle.solve import solve
from verify.studies.models.study import SETTINGS, problem_at

CLEAN = Problem(1.0, MarchenkoPastur(0.5), 0.05, 0.5)
ENTRIES = 4  #: of the label of two tokens
AT = Overlaps(1.1, 0.95, 0.8)


def noisy(variance: float, **changes) -> Problem:
    extra = (("label_noise", variance),)
    return dataclasses.replace(CLEAN, model="label_noise_attention", extra=extra, **changes)


def test_without_noise_it_is_tied_attention():
    found, expected = solve(noisy(0.0)).unwrap(), solve(CLEAN).unwrap()
    for name in ("m", "q", "V", "train_error", "test_error", "free_entropy"):
        assert getattr(found, name) == pytest.approx(
            getattr(expected, name), abs=found.errors[name]
        )
        assert found.errors[name] < 5e-3


@pytest.mark.parametrize("name", ["cross_attention", "tied_attention_cross_entropy"])
def test_sampling_agrees_with_quadrature(name):
    """Blocks of one and of two indices, where there are both: within four errors of the mean."""
    problem, at = problem_at(name, SETTINGS[1]), AT._replace(m=0.9)
    (coarse,) = channel_of(problem).coarse_rules()
    exact = coarse.refined().refined().average(at, problem)
    sampled = SampledBlockRule(Sampling(4096)).average(at, problem)
    for key in ("M", "dM_dm", "dM_dq", "dM_dV", "train_error", "test_error"):
        values = getattr(sampled, key)
        error = 4 * values.std(ddof=1) / np.sqrt(len(values)) + 1e-4 * abs(values.mean())
        assert abs(values.mean() - getattr(exact, key)[0]) < error, key


def test_nothing_learned_leaves_the_noise_of_every_entry():
    found, expected = (
        solve(problem).unwrap()
        for problem in (noisy(0.3, lambda_=50.0), dataclasses.replace(CLEAN, lambda_=50.0))
    )
    assert found.q == 0
    assert found.train_error == pytest.approx(expected.train_error + ENTRIES * 0.3, abs=5e-3)


def test_a_test_error_is_that_against_noisy_labels():
    """A square loss of a given student: the variance of each entry, and no other change."""
    found, expected = (prediction_of(problem).test_error(AT) for problem in (noisy(0.3), CLEAN))
    assert found.value == pytest.approx(expected.value + ENTRIES * 0.3, abs=3 * found.error)
    assert 0 < found.error < 5e-3
    multiples = [prediction_of(problem).best_multiple().c for problem in (noisy(0.3), CLEAN)]
    assert multiples[0] == pytest.approx(multiples[1], rel=0.02)


def test_minimisers_are_the_lowest_of_a_grid():
    (sample,) = samples(noisy(0.2))
    rng, V = np.random.default_rng(0), 3.0
    w, z = (1.5 * sample.root @ rng.standard_normal((2, 200)) for _ in range(2))
    y = sample.label(z) + np.sqrt(0.2) * rng.standard_normal((4, 200))
    u = lowest_minimiser(sample, w, y, sample.fitted(z), V)
    axis = np.linspace(-12, 12, 121)
    grid = np.array(np.meshgrid(axis, axis)).reshape(2, -1)
    least = [
        sample.energy(
            grid, np.repeat(w[:, [k]], grid.shape[1], 1), np.repeat(y[:, [k]], grid.shape[1], 1), V
        ).min()
        for k in range(200)
    ]
    missed = sample.energy(u, w, y, V) - np.array(least)
    # The grid itself is off the minimum; a lower one of the grid is a minimum that was not found:
    # at most one sample in a hundred.
    assert np.mean(missed > 1e-3) <= 0.01


def test_derivatives_of_the_average_are_its_differences():
    """By the envelope theorem; of independent scramblings each mean errs by its scatter."""
    problem, rule, step = noisy(0.1), SampledBlockRule(Sampling(4096)), 1e-2
    found = rule.average(AT, problem)
    for name, derivative in (("m", found.dM_dm), ("q", found.dM_dq), ("V", found.dM_dV)):
        up, down = (
            rule.average(AT._replace(**{name: getattr(AT, name) + side * step}), problem).M
            for side in (1, -1)
        )
        difference = (up - down) / (2 * step)
        error = 4 * (difference - derivative).std(ddof=1) / np.sqrt(len(difference))
        assert abs(difference.mean() - derivative.mean()) < error + 0.01 * abs(derivative.mean())
