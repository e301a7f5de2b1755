"""Training with losses that have kinks, and the figures of classification that are measured."""

import numpy as np
import pytest
import torch

from numeric.channel.classification import classification
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from verify.core.sensing.classification import measured_classification
from verify.core.sensing.run import ModelRun, train_model
from verify.core.sensing.samples import deviations, labels_of, noisy_indices
from verify.core.sensing.shape import Shape
from verify.core.sensing.smoothing import SmoothedRisk, has_convex_kinks


def problem(model):
    return Problem(1.0, MarchenkoPastur(0.5), 0.2, 0.2, model=model)


def risk_at(h, labels, width):
    shape = Shape("positive", True, 2, 2)
    return SmoothedRisk(problem("sign_quadratic_hinge"), shape, h, labels, width)


def test_the_envelope_of_the_hinge_loss_is_known():
    """It is quadratic over one width below the margin, then linear; so is its slope."""
    h, width = torch.linspace(-3, 3, 61, dtype=torch.float64), 0.4
    labels = torch.ones(61, 1, dtype=torch.float64)
    losses, (slopes,) = risk_at(h, labels, width).losses_and_slopes(h[None])
    short = (1 - h).clamp(min=0)
    expected = torch.where(short < width, short.square() / (2 * width), short - width / 2)
    assert torch.allclose(losses, expected, atol=1e-9)
    assert torch.allclose(slopes, -(short / width).clamp(max=1), atol=1e-9)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("sign_quadratic_hinge", True),
        ("sign_quadratic_logistic", False),  # smooth
        ("phase_retrieval", False),  # its kink is concave
        ("drawn_attention_cross_entropy", False),
    ],
)
def test_only_convex_kinks_are_smoothed(model, expected):
    assert has_convex_kinks(problem(model), torch.ones(5, 1, dtype=torch.float64)) is expected


def test_the_training_loss_of_separated_labels_vanishes():
    """No sample is left inside the margin, and the bound on smoothing is small."""
    found = train_model(
        ModelRun(Problem(0.3, MarchenkoPastur(0.5), 0.02, 0.2, model="sign_quadratic_hinge"), 16, 0)
    )
    assert found.train_error < 1e-6
    assert 0 < found.smoothing_error < 5e-3


@pytest.mark.parametrize(
    "model",
    ["sign_quadratic_logistic", "hard_attention_cross_entropy", "drawn_attention_cross_entropy"],
)
def test_measured_figures_are_those_of_the_theory_at_the_same_overlaps(model):
    """On Gaussian indices of given overlaps: no training, and no rule in common."""
    of, rng, count = problem(model), np.random.default_rng(3), 200_000
    m, q = 1.2, 1.9
    units = torch.as_tensor(rng.standard_normal((2, len(deviations(of)), count)))
    spread = deviations(of)[:, None]
    h0 = np.sqrt(of.q0) * spread * units[0]
    h = spread * (m / np.sqrt(of.q0) * units[0] + np.sqrt(q - m**2 / of.q0) * units[1])
    labels = labels_of(noisy_indices(h0, of, rng), of, rng)
    measured = measured_classification(h, h0, labels, of)
    theory = classification(of, Overlaps(m, q, 1.0))
    for name, value in theory._asdict().items():
        error = 0.5 / np.sqrt(count)  # of a share; draws of a sample are correlated
        assert abs(measured[name] - value) < 5 * error, name
