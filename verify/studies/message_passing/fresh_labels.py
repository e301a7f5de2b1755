"""Test errors of a map on fresh samples, the same ones at every step."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch

from numeric.channel.softmax.label_losses import index_deviation
from verify.core.data import attention, draw_labels, fresh_indices
from verify.core.run import Run

#: samples: one scatters by about its own mean, so that eight runs know it to 0.3 percent
FRESH = 20_000
#: of Gauss and Hermite: exact for polynomials of degree 79 in the noise, far beyond what a sigmoid
#: at beta0 of 1 needs
_NODES = 40


class LabelPredictor(Protocol):
    """Predicted labels but for the last of each row, (n, T, T - 1), from the contrasts of the index
    of the map, of the same shape.
    """

    def __call__(self, contrasts: torch.Tensor) -> torch.Tensor:
        """Predict."""


def fresh_error(run: Run, s: torch.Tensor, s0: torch.Tensor, predict: LabelPredictor) -> float:
    """Mean square error per fresh sample of what `predict` makes of the indices of S (d, d); labels
    are those of S0.
    """
    rng, total = np.random.default_rng(run.seeds()["test"]), 0.0
    for contrasts, h0, _ in fresh_indices(run.data, (s, s0), FRESH, run.problem.tokens, rng):
        labels = draw_labels(h0, run.problem.noise, run.problem.beta0, rng)
        residual = predict(contrasts) - labels[..., :-1]
        total += float(residual.square().sum() + residual.sum(-1).square().sum())  # rows sum to one
    return total / FRESH


def student_labels(beta: float) -> LabelPredictor:
    """Return the softmax of the index of the map."""
    return lambda contrasts: attention(beta, contrasts)


def posterior_labels(beta0: float, variance: float) -> LabelPredictor:
    """Mean of the softmax over what is not known of the noisy index, of `variance` per unit; for
    two tokens.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    moves = (index_deviation() * variance**0.5 * nodes).tolist()

    def predict(contrasts: torch.Tensor) -> torch.Tensor:
        mean = torch.zeros_like(contrasts)
        for move, weight in zip(moves, (weights / weights.sum()).tolist(), strict=True):
            mean += weight * attention(beta0, contrasts + move)
        return mean

    return predict
