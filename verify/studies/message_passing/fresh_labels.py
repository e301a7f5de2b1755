"""Test errors of a map on fresh samples, which are the same at every step."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch

from numeric.channel.softmax.label_losses import index_deviation
from verify.core.data import attention, draw_labels, fresh_indices
from verify.core.run import Run
from verify.core.streams import stream

#: samples; one scatters by about its mean, so eight runs give 0.3 %
FRESH = 20_000
#: Gauss-Hermite nodes: exact for polynomials of degree 79 in the noise, more than a sigmoid at
#: beta0 = 1 needs
_NODES = 40


class LabelPredictor(Protocol):
    """Predict labels without the last entry of each row, (n, T, T - 1), from contrasts of the same
    shape.
    """

    def __call__(self, contrasts: torch.Tensor) -> torch.Tensor:
        """Predict."""


def fresh_error(run: Run, s: torch.Tensor, s0: torch.Tensor, predict: LabelPredictor) -> float:
    """Return the mean square error per fresh sample of predicted labels.

    Args:
        run: run that states the samples.
        s: map whose indices are used, shape (d, d).
        s0: target of the labels, shape (d, d).
        predict: predicts labels from indices of `s`.
    """
    source, total = stream(run.seeds()["test"], run.device), 0.0
    for contrasts, h0, _ in fresh_indices(run.data, (s, s0), FRESH, run.problem.tokens, source):
        labels = draw_labels(h0, run.problem.noise, run.problem.beta0, source)
        residual = predict(contrasts) - labels[..., :-1]
        total += float(residual.square().sum() + residual.sum(-1).square().sum())  # rows sum to one
    return total / FRESH


def student_labels(beta: float) -> LabelPredictor:
    """Return the softmax of the index of the map."""
    return lambda contrasts: attention(beta, contrasts)


def posterior_labels(beta0: float, variance: float) -> LabelPredictor:
    """Return a predictor: the mean of the softmax over the unknown part of the noisy index, for two
    tokens.

    Args:
        beta0: inverse temperature of the target.
        variance: variance of the unknown part, per unit.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    moves = (index_deviation() * variance**0.5 * nodes).tolist()

    def predict(contrasts: torch.Tensor) -> torch.Tensor:
        mean = torch.zeros_like(contrasts)
        for move, weight in zip(moves, (weights / weights.sum()).tolist(), strict=True):
            mean += weight * attention(beta0, contrasts + move)
        return mean

    return predict
