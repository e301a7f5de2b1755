"""The empirical risk of one attention head and its gradient.

    L(W) = sum_mu || y^mu - softmax(beta h_W(X^mu)) ||_F^2 + lambda ||W||_F^2,   S = W W^T / sqrt(m d)

All values are per d^2, where the theory has its limit; W (d, m) has entries of order one.   (sections 1, 9)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from verify.data import Inputs, row_softmax


@dataclass(frozen=True)
class Risk:
    """The empirical risk of given inputs and labels (n, T, T), as a function of the weights (d, m)."""

    inputs: Inputs
    labels: torch.Tensor
    lambda_: float
    beta: float

    def value_and_gradient(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return L/d^2 and its gradient, shape (d, m)."""
        dim, width = weights.shape
        fit, slope = self.fit(attention_map(weights))
        gradient = (2 / math.sqrt(width * dim)) * (slope @ weights) + 2 * self.lambda_ * weights
        return (fit + self.lambda_ * weights.square().sum()) / dim**2, gradient / dim**2

    def fit(self, s: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the risk without weight decay, sum_mu || y - softmax(beta h) ||_F^2, and its slope by S, (d, d).

        The slope is written out: it shares the products X S with the value, block by block, which autograd
        would store for all samples at once.
        """
        fit, slope = s.new_zeros(()), torch.zeros_like(s)
        for part, block in self.inputs.blocks():
            loss, by_index = index_loss(block.indices(s), self.labels[part], self.beta)
            fit += loss
            slope += block.adjoint(by_index)
        return fit, slope

    def train_error(self, s: torch.Tensor) -> float:
        """Return (1/n) sum_mu || y - softmax(beta h) ||_F^2 of a map S (d, d)."""
        total = sum(
            float((row_softmax(self.beta, block.indices(s)) - self.labels[part]).square().sum())
            for part, block in self.inputs.blocks()
        )
        return total / len(self.labels)


def attention_map(weights: torch.Tensor) -> torch.Tensor:
    """Return S = W W^T / sqrt(m d), shape (d, d)."""
    return weights @ weights.T / math.sqrt(weights.shape[0] * weights.shape[1])


def index_loss(indices: torch.Tensor, labels: torch.Tensor, beta: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return sum || y - softmax(beta h) ||_F^2 and its derivative by h, symmetrised, shape (n, T, T)."""
    p = row_softmax(beta, indices)
    r = p - labels
    g = (2 * beta) * p * (r - (p * r).sum(-1, keepdim=True))
    return r.square().sum(), (g + g.transpose(1, 2)) / 2
