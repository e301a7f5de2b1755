"""Tokens with other norms than Gaussian ones: theory against its limits and against random
matrices. Training is in tests/verify/core/test_norms.py.
"""

from dataclasses import replace

import numpy as np
import pytest

from attention_erm.runtime.errors import InvalidParameter
from numeric.channel.rules import coarse_rules
from numeric.channel.softmax_rules import SampledRule
from numeric.laws.covariance.aligned import AlignedCovariance
from numeric.laws.covariance.independent import IndependentCovariance
from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.lifted import LiftedTarget
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.maths.sobol import Sampling
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from numeric.saddle.solve import solve
from numeric.studies.optimal_decay import largest_decay, optimal_lambda
from numeric.studies.spectrum import learned_spectrum

MP = MarchenkoPastur(0.5)
TWO_VALUES = IndependentCovariance(MP, [0.4, 1.6])
NETWORK = Problem(0.6, TWO_VALUES, 0.08, 0.5, norms="fixed", model="quadratic_network")
SIGNED = Eigenvalues((-1.0, 1.0), (0.5, 0.5))
HEAD = Problem(0.6, MP, 0.02, 0.5, norms="fixed")


@pytest.mark.parametrize("target", [MP, TWO_VALUES, AlignedCovariance([2, 1, 0], [0.5, 1, 1.5])])
@pytest.mark.parametrize(
    "settings",
    [
        {"model": "quadratic_network"},
        {"model": "linear_attention"},
        {},
        {"width": 0.4},
        {"model": "first_row_attention"},
    ],
    ids=["closed", "two closed kinds", "two tokens", "rank limit", "blocks"],
)
def test_gaussian_norms_are_a_limit(target, settings):
    gaussian = Problem(0.8, target, 0.05, 0.5, **settings)
    near = solve(replace(gaussian, norms=2 + 1e-7))
    expected = solve(gaussian)
    assert near.trusted
    for name in ("m", "q", "V", "train_error", "test_error", "denoising_error", "free_entropy"):
        bars = near.errors[name] + expected.errors[name]
        assert getattr(near, name) == pytest.approx(getattr(expected, name), rel=1e-5, abs=bars)


def test_sampled_and_deterministic_channels_agree():
    """Two tokens by quadrature along two axes, and by sampling all scores."""
    overlaps = Overlaps(0.9, 1.0, 0.7, t=0.55)
    rule, sampled = coarse_rules(HEAD)[0].refined(), SampledRule(Sampling(4096, 16))
    for overlap in (overlaps, None):
        exact, drawn = (
            one.unlearned(HEAD) if overlap is None else one.average(overlap, HEAD)
            for one in (rule, sampled)
        )
        for name in ("M", "dM_dm", "dM_dq", "dM_dV", "dM_dt", "train_error", "test_error"):
            value, draws = getattr(exact, name)[0], getattr(drawn, name)
            error = draws.std(ddof=1) / np.sqrt(len(draws))
            assert abs(value - draws.mean()) < 4 * error + 1e-5 * abs(value), name


def overlaps_of_matrices(problem, dim, seed, steps=300):
    """Own fixed point of the quadratic network: m, q, t and test error with J on random matrices.

    The matrix S = c (A + sqrt(v) G)_+ is drawn; m, t and q are its traces, and V its divergence.
    """
    rng, c_ = np.random.default_rng(seed), np.repeat([0.4, 1.6], dim // 2)
    w0 = rng.standard_normal((dim, dim // 2)) / (dim * dim // 2) ** 0.25
    s0 = np.sqrt(c_)[:, None] * (w0 @ w0.T) * np.sqrt(c_)
    g = rng.standard_normal((dim, dim))
    g = (g + g.T) / np.sqrt(2 * dim)
    k, q0 = np.mean(c_**2), np.sum(s0**2) / dim
    t0, w = np.mean(c_ * np.diag(s0)) / k, problem.norms
    alpha, rho = problem.alpha, q0 + problem.noise / 2
    m, q, V, t = 0.5 * q0, 0.5 * q0, 0.5, 0.5 * t0
    for _ in range(steps):
        scale = 1 + 4 * V  # M = (2 (q - 2 m + rho) - (2 - w) k (t - t0)^2)/(1 + 4 V)
        mh = Vh = 4 * alpha / scale
        qh = 2 * alpha * 4 * (2 * (q - 2 * m + rho) - (2 - w) * k * (t - t0) ** 2) / scale**2
        th = 2 * alpha * (2 - w) * k * (t - t0) / scale
        v = qh / (2 * mh**2)
        shifted = s0 - np.diag(problem.lambda_ / (mh * c_)) + th / (mh * k) * np.diag(c_)
        x, u = np.linalg.eigh(shifted + np.sqrt(v) * g)
        s = (u * np.maximum(x, 0)) @ u.T * mh / Vh
        new = np.sum(s * s0) / dim, np.sum(s**2) / dim, np.sum(s * g) / dim / (2 * np.sqrt(v) * mh)
        step = np.array([*new, np.mean(c_ * np.diag(s)) / k]) - (m, q, V, t)
        m, q, V, t = np.array([m, q, V, t]) + 0.5 * step
    assert np.abs(step).max() < 1e-9
    return m / q0, q / q0, t / t0, (2 * (q - 2 * m + rho) - (2 - w) * k * (t - t0) ** 2) / q0


@pytest.mark.parametrize("norms", [0.0, 1.0])
def test_random_matrices_give_the_same_order_parameters(norms):
    problem = replace(NETWORK, norms=norms)
    found, q0, t0 = solve(problem), problem.q0, problem.norm_overlap
    drawn = np.array([overlaps_of_matrices(problem, 240, seed) for seed in range(8)])
    mean, error = drawn.mean(axis=0), drawn.std(axis=0, ddof=1) / np.sqrt(len(drawn))
    expected = found.m / q0, found.q / q0, found.norms.t / t0, found.test_error / q0
    # Targets of finite rank scatter in q0, which the ratios leave to order 1/d.
    assert np.all(np.abs(mean - expected) < 4 * error + 4e-3 * np.abs(expected))


def test_a_shift_of_the_threshold_is_all_for_isotropic_tokens():
    """The shift of S0 + shift is a threshold lower by the shift; so is a covariance of one."""
    values = Eigenvalues((2.0, 1.0), (0.5, 0.5))
    for target, plain in (
        (MP, MP),
        (IndependentCovariance(MP, [1.0]), MP),
        (values, values),
        (AlignedCovariance([2.0, 1.0], [1.0, 1.0]), values),
    ):
        one = LiftedTarget(target, 0.3).energy(0.4, 0.5, 0.6)
        two = plain.energy(0.4, 0.2, 0.6)
        assert one[:4] == pytest.approx(two[:4], rel=1e-8)
        assert one.J_shift == pytest.approx(-two.J_b, rel=1e-8)


@pytest.mark.parametrize("problem", [NETWORK, HEAD, replace(NETWORK, target=MP, norms=4.0)])
def test_spectra_have_the_second_moment_of_the_solution(problem):
    """`learned_spectrum` compares the moment by quadrature with q itself."""
    spectrum = learned_spectrum(solve(problem))
    assert spectrum.moment_error < 1e-5 * solve(problem).q


def test_decays_of_networks_with_fixed_norms():
    """Nothing is learned beyond the largest decay, and the best decay is below it."""
    for problem in (NETWORK, replace(NETWORK, target=MP)):
        most = largest_decay(problem)
        assert solve(replace(problem, lambda_=1.01 * most)).q == 0
        assert solve(replace(problem, lambda_=0.9 * most)).q > 0
        best = optimal_lambda(problem)
        here = solve(replace(problem, lambda_=best.decay)).test_error
        for factor in (0.8, 1.25):
            other = solve(replace(problem, lambda_=factor * best.decay)).test_error
            assert here < other


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"norms": -1}, "must be finite and not negative"),
        ({"norms": "unit"}, "must be a number, or one of gaussian, fixed"),
        ({"norms": float("nan")}, "norms"),
        ({"model": "cross_attention", "target": SIGNED}, "no score is of a token with itself"),
        ({"model": "signed_quadratic_network"}, "no theory for"),
        ({"lambda_": 0}, "the limit lambda -> 0"),
        ({"sample_minimum": "fitted"}, "the fitted branch"),
        ({"parametrisation": "symmetric"}, "no theory for training of other matrices"),
    ],
)
def test_what_norms_do_not_cover_is_refused(changes, words):
    with pytest.raises(InvalidParameter) as refusal:
        replace(HEAD, **({"target": Eigenvalues((2.0, 1.0), (0.5, 0.5))} | changes))
    assert words in str(refusal.value)
