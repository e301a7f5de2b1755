"""The risk, its gradient and the minimisers."""

import dataclasses

import numpy as np
import pytest
import torch

from numeric.laws.target_spectrum import target_quantile_means
from numeric.problem.problem import Parametrisation
from verify.core.data import DataKind, draw_inputs, draw_labels
from verify.core.minimise import Adam, DescentStatus, Lbfgs, Proximal
from verify.core.parametrisation import WEIGHTS, Factors
from verify.core.risk import Risk
from verify.core.streams import HostStream
from verify.core.target import rotated_target


def make_risk(
    dim=8,
    n=60,
    tokens=2,
    kind=DataKind.SEQUENCES,
    lambda_=0.05,
    beta=1.3,
    seed=0,
    what="factorised",
):
    rng = np.random.default_rng(seed)
    s0 = torch.as_tensor(rotated_target(target_quantile_means(0.5, dim), rng))
    inputs = draw_inputs(kind, n, tokens, dim, HostStream(rng))
    return Risk(
        inputs,
        draw_labels(inputs.indices(s0), 0.5, 1.0, HostStream(rng)),
        lambda_,
        beta,
        WEIGHTS[Parametrisation(what)],
    ), s0


def start(dim, width, seed=1):
    return torch.as_tensor(np.random.default_rng(seed).standard_normal((dim, width)))


@pytest.mark.parametrize(
    ("what", "kind"),
    [(what, kind) for what in ("factorised", "symmetric") for kind in DataKind]
    + [("general", DataKind.SEQUENCES)],
)
@pytest.mark.parametrize("tokens", [2, 3])
def test_gradient_equals_central_differences(what, kind, tokens):
    risk, _ = make_risk(tokens=tokens, kind=kind, what=what)
    columns = 5 if what == "factorised" else 8
    weights, direction = (risk.weights.start(start(8, columns, seed=seed)) for seed in (1, 2))
    step = 1e-5  # truncation step^2 and rounding eps/step are both near 1e-10
    above, below = (
        risk.value_and_gradient(weights + sign * step * direction)[0] for sign in (1, -1)
    )
    slope = float((risk.value_and_gradient(weights)[1] * direction).sum())
    assert float(above - below) / (2 * step) == pytest.approx(slope, rel=1e-7)


def risk_as_written(risk, s):
    """Sample by sample, token by token, with no product shared, of any map S, without weight
    decay.
    """
    total = 0.0
    for x, y in zip(risk.inputs.tokens.numpy(), risk.labels.numpy(), strict=True):
        scores = np.exp(risk.beta * (x @ s @ x.T - np.trace(s) * np.eye(len(x))) / np.sqrt(len(s)))
        total += ((y - scores / scores.sum(1, keepdims=True)) ** 2).sum()
    return total


def test_value_is_the_risk_as_the_paper_writes_it():
    risk, _ = make_risk(n=5, tokens=3)
    weights = start(8, 5)
    total = risk_as_written(risk, (weights @ weights.T / np.sqrt(5 * 8)).numpy())
    total += risk.lambda_ * float((weights**2).sum())
    assert float(risk.value_and_gradient(weights)[0]) == pytest.approx(total / 64, rel=1e-12)


def test_direct_training_has_a_frobenius_penalty_on_a_map_of_any_shape():
    risk, _ = make_risk(n=5, tokens=3, what="general")
    a = start(8, 8)
    assert float((a - a.T).norm()) > 1
    total = risk_as_written(risk, a.numpy()) + risk.lambda_ * 8 * float((a**2).sum())
    assert float(risk.value_and_gradient(a)[0]) == pytest.approx(total / 64, rel=1e-12)


@pytest.mark.parametrize("factor", [0.5, 3.0])
def test_scaling_symmetry(factor):
    """S -> S/c, beta -> c beta, lambda -> c lambda leaves the risk as it is: W -> W/sqrt(c)."""
    risk, _ = make_risk()
    weights = start(8, 5)
    scaled = dataclasses.replace(risk, beta=factor * risk.beta, lambda_=factor * risk.lambda_)
    value = scaled.value_and_gradient(weights / np.sqrt(factor))[0]
    assert float(value) == pytest.approx(float(risk.value_and_gradient(weights)[0]), rel=1e-12)


def overlaps(minimum, s0):
    s = Factors().attention_map(torch.as_tensor(minimum.weights))
    return np.array([float((s * s0).sum()), float((s * s).sum())])


@pytest.mark.parametrize("n", [10, 150], ids=["below interpolation", "above"])
@pytest.mark.parametrize("width", [6, 10])
def test_minimisers_and_starts_agree(n, width):
    risk, s0 = make_risk(dim=10, n=n)
    reference = Lbfgs(tolerance=1e-7).minimise(risk, start(10, width))
    assert reference.status is DescentStatus.CONVERGED
    others = {
        "other start": (Lbfgs().minimise(risk, 2 * start(10, width, seed=7)), 1e-4),
        "no proximal steps": (Lbfgs(proximal_steps=0).minimise(risk, start(10, width)), 1e-4),
        "adam": (Adam().minimise(risk, start(10, width)), 3e-3),
    }
    for name, (minimum, tolerance) in others.items():
        assert minimum.status is DescentStatus.CONVERGED, name
        assert minimum.loss == pytest.approx(reference.loss, rel=tolerance), name
        assert overlaps(minimum, s0) == pytest.approx(overlaps(reference, s0), rel=tolerance), name


@pytest.mark.parametrize("n", [10, 150], ids=["below interpolation", "above"])
@pytest.mark.parametrize("what", ["symmetric", "general"])
def test_direct_training_reaches_one_minimum_from_anywhere(what, n):
    risk, _ = make_risk(dim=10, n=n, what=what)
    first, second, proximal = (
        minimiser.minimise(risk, risk.weights.start(start(10, 10, seed)))
        for minimiser, seed in ((Lbfgs(), 1), (Lbfgs(proximal_steps=0), 2), (Proximal(), 3))
    )
    for minimum in (first, second, proximal):
        assert minimum.status is DescentStatus.CONVERGED
        # relative gradient 1e-5 over a curvature of at least that of the penalty, of the order of
        # the loss here
        np.testing.assert_allclose(
            minimum.weights, first.weights, atol=1e-4 * np.abs(first.weights).max()
        )
    if what == "symmetric":
        np.testing.assert_allclose(
            first.weights, first.weights.T, atol=1e-12 * np.abs(first.weights).max()
        )


def test_more_freedom_gives_a_lower_minimum():
    """Every symmetric matrix is a general one, at the same penalty: the minimum cannot rise, and
    noise makes it fall.
    """
    losses = [
        Lbfgs().minimise(risk, risk.weights.start(start(8, 8))).loss
        for risk in (make_risk(what=what)[0] for what in ("symmetric", "general"))
    ]
    assert losses[1] < losses[0]


def test_heavy_weight_decay_gives_the_zero_map():
    risk, _ = make_risk(lambda_=100.0)
    minimum = Lbfgs().minimise(risk, start(8, 5))
    assert minimum.status is DescentStatus.CONVERGED
    assert np.abs(minimum.weights).max() < 1e-3


@pytest.mark.parametrize("minimiser", [Lbfgs(max_steps=5), Adam(max_steps=5)])
def test_a_descent_cut_short_says_so(minimiser):
    risk, _ = make_risk()
    minimum = minimiser.minimise(risk, start(8, 5))
    assert minimum.status is DescentStatus.MAX_STEPS
    assert minimum.evaluations == 5
    assert minimum.relative_gradient > minimiser.tolerance
    assert "raise the step limit" in minimum.status.value


def test_a_loss_that_is_not_finite_says_so():
    risk, _ = make_risk()
    minimum = Lbfgs().minimise(risk, start(8, 5) * np.inf)
    assert minimum.status is DescentStatus.DIVERGED


def test_a_tolerance_out_of_reach_is_not_called_converged():
    risk, _ = make_risk()
    minimum = Lbfgs(tolerance=1e-30, max_steps=2000).minimise(risk, start(8, 5))
    assert minimum.status in (DescentStatus.STALLED, DescentStatus.MAX_STEPS)
