"""The empirical risk of one attention head and its gradient.

    L(W) = sum_mu || y^mu - softmax(beta h_S(X^mu)) ||_F^2 + lambda ||W||_F^2,   S = W W^T / sqrt(m d)
    L(A) = the same with S = A and lambda d ||A||_F^2

All values are per d^2, where the theory has its limit.   (sections 1, 6)
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from verify.training.data import Inputs, attention
from verify.training.parametrisation import Factors, Weights


@dataclass(frozen=True)
class Risk:
    """The empirical risk of given inputs and labels (n, T, T), as a function of the weights, (d, m) or (d, d)."""

    inputs: Inputs
    labels: torch.Tensor
    lambda_: float
    beta: float
    weights: Weights = field(default_factory=Factors)

    def value_and_gradient(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return L/d^2 and its gradient, shape of the weights."""
        fit, slope = self.fit(self.weights.attention_map(weights))
        return self.with_decay(weights, fit, slope)

    def with_decay(
        self, weights: torch.Tensor, fit: torch.Tensor, slope: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return L/d^2 and its gradient by the weights, from `fit` and `slope` at their map."""
        dim = len(weights)
        decay = self.lambda_ * self.weights.decay_unit(dim)
        gradient = self.weights.gradient(weights, slope) + 2 * decay * weights
        return (fit + decay * weights.square().sum()) / dim**2, gradient / dim**2

    def fit(self, s: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the risk without weight decay, sum_mu || y - softmax(beta h) ||_F^2, and its admissible slope by S, (d, d).

        The slope is written out: it shares the products X S with the value, block by block, which autograd
        would store for all samples at once.
        """
        fit, slope = s.new_zeros(()), torch.zeros_like(s)
        for part, block in self.inputs.blocks():
            loss, by_contrast = contrast_loss(block.contrasts(s), self.labels[part], self.beta)
            fit += loss
            slope += block.contrast_adjoint(by_contrast)
        return fit, self.weights.admissible(slope)

    def train_error(self, s: torch.Tensor) -> float:
        """Return (1/n) sum_mu || y - softmax(beta h) ||_F^2 of a map S (d, d)."""
        total = sum(
            float(losses(block.contrasts(s), self.labels[part], self.beta).sum())
            for part, block in self.inputs.blocks()
        )
        return total / len(self.labels)


def losses(contrasts: torch.Tensor, labels: torch.Tensor, beta: float) -> torch.Tensor:
    """Return || y - softmax(beta h) ||_F^2 of each sample, shape (n,), from contrasts of h (n, T, T - 1) and labels (n, T, T)."""
    r = attention(beta, contrasts) - labels[..., :-1]
    return r.square().sum((-2, -1)) + r.sum(-1).square().sum(-1)


def total_loss(contrasts: torch.Tensor, labels: torch.Tensor, beta: float) -> float:
    """Return the sum of `losses` over samples."""
    r = attention(beta, contrasts) - labels[..., :-1]
    return float(r.square().sum() + r.sum(-1).square().sum())


def contrast_loss(contrasts: torch.Tensor, labels: torch.Tensor, beta: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return sum || y - softmax(beta h) ||_F^2 and its derivative by each contrast of h, shape (n, T, T - 1).

    Rows of both sum to one: what the last token has follows from the others.
    """
    p = attention(beta, contrasts)
    r = p - labels[..., :-1]
    last = -r.sum(-1, keepdim=True)
    mean = (p * r).sum(-1, keepdim=True) + (1 - p.sum(-1, keepdim=True)) * last
    return r.square().sum() + last.square().sum(), (2 * beta) * p * (r - mean)
