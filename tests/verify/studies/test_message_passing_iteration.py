"""Message passing: its pieces are what they say, its fixed point is the minimum, and the theory
predicts both.
"""

import numpy as np
import pytest
import torch

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from verify.core.data import DataKind
from verify.core.draw import draw
from verify.core.minimise import DescentStatus, Lbfgs
from verify.core.risk import Risk
from verify.core.run import Run
from verify.studies.message_passing.iteration import LabelChannel, pass_messages, soft_threshold

RUN = Run(Problem(1.0, MarchenkoPastur(0.5), 0.05, 0.5), dim=24, data=DataKind.GAUSSIAN_EQUIVALENT)


def symmetric_basis(dim):
    for i in range(dim):
        for j in range(i, dim):
            e = torch.zeros(dim, dim, dtype=torch.float64)
            e[i, j] = e[j, i] = 1.0 if i == j else np.sqrt(0.5)
            yield e


def test_divergence_of_the_threshold_equals_central_differences():
    y = torch.as_tensor(np.random.default_rng(0).standard_normal((6, 6)))
    y, step = y + y.T, 1e-6  # truncation step^2, rounding eps/step: both below 1e-9
    difference = sum(
        float(
            (
                (soft_threshold(y + step * e, 0.4)[0] - soft_threshold(y - step * e, 0.4)[0]) * e
            ).sum()
        )
        for e in symmetric_basis(6)
    )
    assert soft_threshold(y, 0.4)[1] == pytest.approx(difference / (2 * step), rel=1e-7)


def make_channel(tokens, beta=1.5, n=200):
    run = RUN.varied(dim=10, alpha=n / 100, tokens=tokens, noise=1.0)
    units = torch.as_tensor(
        np.random.default_rng(1).standard_normal((n, tokens * (tokens + 1) // 2))
    )
    return LabelChannel(draw(run).labels, beta), units


@pytest.mark.parametrize("tokens", [2, 3])
def test_slope_and_curvature_equal_central_differences(tokens):
    channel, units = make_channel(tokens)
    slope, curvature = channel.slope_and_curvature(units)
    for k in range(units.shape[1]):
        step = torch.zeros_like(units)
        step[:, k] = 1e-5
        by_energy = (channel.energy(units + step) - channel.energy(units - step)) / 2e-5
        by_slope = (channel.slope(units + step) - channel.slope(units - step)) / 2e-5
        # truncation step^2 = 1e-10, rounding eps/step = 1e-11
        torch.testing.assert_close(slope[:, k], by_energy, rtol=1e-6, atol=1e-8)
        torch.testing.assert_close(curvature[..., k], by_slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("V", [0.5, 3.0])
def test_no_other_start_leads_lower(V):
    channel, omega = make_channel(2)
    least = channel.moreau(channel.proximal(omega, V), omega, V)
    rng = np.random.default_rng(2)
    for _ in range(10):
        start = omega + 2 * torch.as_tensor(rng.standard_normal(omega.shape))
        other = channel.moreau(channel.descend(start, omega, V), omega, V)
        assert bool(
            (other > least - 1e-12).all()
        )  # energies of order one, summed from a handful of terms


@pytest.mark.parametrize("tokens", [2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("data", "dim"),
    [
        (DataKind.GAUSSIAN_EQUIVALENT, 24),
        pytest.param(DataKind.SEQUENCES, 40, marks=pytest.mark.slow),
    ],
)
def test_the_fixed_point_is_the_minimum(tokens, data, dim):
    """On sequences of smaller d messages can oscillate for ever: their indices are Gaussian up to
    1/d only.
    """
    run = RUN.varied(tokens=tokens, data=data, dim=dim)
    drawn = draw(run)
    passed = pass_messages(
        drawn.inputs,
        drawn.labels,
        run.problem.lambda_,
        run.problem.beta,
        torch.zeros_like(drawn.s0),
    )
    assert passed.status is DescentStatus.CONVERGED
    risk = Risk(drawn.inputs, drawn.labels, run.problem.lambda_, run.problem.beta)
    minimum = Lbfgs(tolerance=1e-8).minimise(risk, drawn.start)
    assert minimum.status is DescentStatus.CONVERGED
    s = risk.weights.attention_map(torch.as_tensor(minimum.weights))
    # both stop at relative steps of 1e-8; messages contract by about .6 a step, the risk is curved
    # by a tenth of its scale
    assert float((passed.s - s).norm() / s.norm()) < 1e-6


def test_a_step_limit_is_reported():
    drawn = draw(RUN)
    passed = pass_messages(
        drawn.inputs,
        drawn.labels,
        RUN.problem.lambda_,
        RUN.problem.beta,
        torch.zeros_like(drawn.s0),
        max_steps=3,
    )
    assert passed.status is DescentStatus.MAX_STEPS
    assert passed.steps == 3
