"""Thresholds of tokens whose norms are not Gaussian."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy

from attention_erm.runtime.errors import InvalidParameter
from numeric.channel.softmax.whitened_index import token_index
from numeric.laws.covariance.independent import IndependentCovariance
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.model import float64 as physics
from numeric.problem.problem import Problem
from numeric.saddle.solve import solve
from numeric.thresholds.bayes_recovery import bayes_recovery
from numeric.thresholds.interpolation import interpolation, interpolation_limit
from numeric.thresholds.recovery import recovery

MP = MarchenkoPastur(0.5)


def greatest_ratio(gain, numbers, noise):
    """The greatest value over v and the multiple of the covariance, by search in float64."""

    def negative(at):
        v, shift = np.exp(at[0]), at[1]
        J = MP.energy(v, -shift, 1.0).J
        value = J - MP.q0 - noise / 2 - 2 * MP.t0 * shift - shift**2 / gain
        return -value / (2 * numbers * v)

    start = [np.log(1.0), 0.1]
    options = {"xatol": 1e-9, "fatol": 1e-15, "maxiter": 4000}
    return -scipy.optimize.minimize(negative, start, method="Nelder-Mead", options=options).fun


@pytest.mark.parametrize(
    ("model", "norms", "gain", "numbers"),
    [
        ("tied_attention", 0, 3 / 4, 2),
        ("tied_attention", 1, 3 / 8, 2),
        ("quadratic_network", Fraction(1, 2), 3 / 4, 1),
        ("linear_attention", 0, 2 / 3, 3),
    ],
)
def test_interpolation_is_the_greatest_ratio(model, norms, gain, numbers):
    found = interpolation(MP, noise="1/2", digits=15, model=model, norms=norms)
    assert float(found) == pytest.approx(greatest_ratio(gain, numbers, 0.5), rel=1e-9)


@pytest.mark.parametrize("norms", [0.0, 1.0, 3.0])
def test_the_training_error_vanishes_below_interpolation_only(norms):
    problem = Problem(1.0, MP, 1e-6, 0.5, norms=norms, model="quadratic_network")
    threshold = float(interpolation(problem, digits=10))
    below, above = (
        [solve(replace(problem, alpha=share * threshold, lambda_=decay)).unwrap().train_error
         for decay in (1e-4, 1e-6)]
        for share in (0.93, 1.07)
    )  # fmt: skip
    assert below[1] / below[0] == pytest.approx(1e-4, rel=0.1)  # the square of the decay
    assert above[1] / above[0] == pytest.approx(1, rel=0.2)


def test_gaussian_norms_and_free_multiples_are_limits():
    for name in ("tied_attention", "quadratic_network"):
        gaussian = interpolation(MP, noise="1/2", digits=20, model=name)
        near = interpolation(MP, noise="1/2", digits=20, model=name, norms="1999999999/1000000000")
        assert float(near) == pytest.approx(float(gaussian), rel=1e-9)
    free = interpolation(MP, noise="1/2", digits=10, model="quadratic_network", norms=0)
    assert free.value == "0.5000000000"  # parameters d^2/2 against one number a label
    near = interpolation(MP, noise="1/2", digits=6, model="quadratic_network", norms="1/10000")
    assert float(near) == pytest.approx(0.5, rel=2e-2)


@pytest.mark.parametrize("tokens", [2, 3, 6])
def test_the_share_of_own_scores_is_that_of_the_sampled_index(tokens):
    """The invisible shift takes its part of it."""
    index = token_index(tokens)
    own, _, _ = physics.index_variances()
    visible = index.visible[: index.symmetric, : index.visible_symmetric]
    shares = visible.T @ np.diag(index.own / own) @ visible
    numerator, denominator = physics.mean_norm_share(float(tokens))
    assert np.trace(shares) / len(shares) == pytest.approx(numerator / denominator, rel=1e-12)


def test_recovery_of_isotropic_tokens_does_not_depend_on_norms():
    assert recovery(MP, norms=0, digits=20).value == recovery(MP, digits=20).value
    problem = Problem(1.0, MP, 1e-7, 0.0, norms=0.0)
    threshold = float(recovery(problem, digits=10))
    lost, found = (solve(problem.at(share * threshold)) for share in (0.9, 1.15))
    assert found.estimation_error < 1e-3 * lost.estimation_error


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: interpolation(MP, noise=1, norms=-1), "must not be negative"),
        (lambda: interpolation(MP, noise=1, norms=0, width="1/2"), "at width < 1"),
        (
            lambda: interpolation(IndependentCovariance(MP, [1, 2]), noise=1, norms=0),
            "with a covariance",
        ),
        (lambda: recovery(MarchenkoPastur(2), norms=0, model="quadratic_network"), "full rank"),
        (lambda: interpolation_limit(Problem(1, MP, 0.1, 0.0, norms=0)), "not derived"),
        (lambda: bayes_recovery(Problem(1, MP, 0.1, 0.0, norms=0)), "not derived"),
    ],
)
def test_what_is_not_derived_is_refused(ask, words):
    with pytest.raises((InvalidParameter, ValueError)) as refusal:
        ask()
    assert words in str(refusal.value)
