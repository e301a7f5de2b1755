"""Empirical risk of a quadratic network on inputs: indices x^T S x without a d x d matrix per
sample.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from numeric.problem.problem import Problem
from verify.core.sensing.samples import evaluated, stacked


@dataclass(frozen=True)
class NetworkRisk:
    """Empirical risk per d^2 of a model of one token, S = W W^T/sqrt(m d), with the generated loss
    of the model.

    `inputs` have shape (n, d), `labels` (n, numbers); h = (x^T S x - tr S)/sqrt(d).
    """

    problem: Problem
    inputs: torch.Tensor
    labels: torch.Tensor

    def value_and_gradient(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return L/d^2 and its gradient at weights W, (d, m)."""
        dim, width = weights.shape
        unit, hidden = math.sqrt(width) * dim, self.inputs @ weights
        h = (hidden.square().sum(1) - weights.square().sum()) / unit
        slope = stacked(evaluated("index_slope", (h, *self.labels.T), self.problem), h)[0]
        decay = self.problem.lambda_
        value = (
            evaluated("index_loss", (h, *self.labels.T), self.problem).sum()
            + decay * weights.square().sum()
        )
        gradient = (
            2 / unit * (self.inputs.T @ (slope[:, None] * hidden) - slope.sum() * weights)
            + 2 * decay * weights
        )
        return value / dim**2, gradient / dim**2


def indices(s: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    """Return the indices h of a symmetric S, (n,).

    Args:
        s: shape (d, d).
        inputs: shape (n, d).
    """
    return (torch.einsum("ni,ni->n", inputs @ s, inputs) - s.trace()) / math.sqrt(len(s))
