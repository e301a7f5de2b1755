"""The empirical risk of one attention head and its gradient.

    L(W) = sum_mu || y^mu - softmax(beta h_S(X^mu)) ||_F^2 + lambda ||W||_F^2,   S = W W^T / sqrt(m d)
    L(A) = the same with S = A and lambda d ||A||_F^2

Of the output sequences y X in place of labels y each sample's loss is || (y - softmax(beta h)) X ||_F^2/d. All values are
per d^2, where the theory has its limit.   (sections 1, 6)
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from verify.core.data import Inputs, Output, attention, output_metric
from verify.core.parametrisation import Factors, Weights


@dataclass(frozen=True)
class Risk:
    """The empirical risk of given inputs and labels (n, T, T), as a function of the weights, (d, m) or (d, d)."""

    inputs: Inputs
    labels: torch.Tensor
    lambda_: float
    beta: float
    weights: Weights = field(default_factory=Factors)
    output: Output = Output.LABELS

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
        """Return the risk without weight decay, the sum of `losses`, and its admissible slope by S, (d, d).

        The slope is written out: it shares the products X S with the value, block by block, which autograd
        would store for all samples at once.
        """
        fit, slope = s.new_zeros(()), torch.zeros_like(s)
        for part, block in self.inputs.blocks():
            metric = output_metric(block, self.output)
            loss, by_contrast = contrast_loss(
                block.contrasts(s), self.labels[part], self.beta, metric
            )
            fit += loss
            slope += block.contrast_adjoint(by_contrast)
        return fit, self.weights.admissible(slope)

    def train_error(self, s: torch.Tensor) -> float:
        """Return the mean of `losses` of a map S (d, d)."""
        total = sum(
            total_loss(
                block.contrasts(s), self.labels[part], self.beta, output_metric(block, self.output)
            )
            for part, block in self.inputs.blocks()
        )
        return total / len(self.labels)


def losses(
    contrasts: torch.Tensor, labels: torch.Tensor, beta: float, metric: torch.Tensor | None = None
) -> torch.Tensor:
    """Return each sample's loss, shape (n,), from contrasts of h (n, T, T - 1) and labels (n, T, T).

    Without a metric || y - softmax(beta h) ||_F^2; with that of the output sequences || (y - softmax(beta h)) X ||_F^2/d.
    """
    r = attention(beta, contrasts) - labels[..., :-1]
    return (r * _weighed(r, metric)).sum((-2, -1))


def total_loss(
    contrasts: torch.Tensor, labels: torch.Tensor, beta: float, metric: torch.Tensor | None = None
) -> float:
    """Return the sum of `losses` over samples."""
    r = attention(beta, contrasts) - labels[..., :-1]
    return float((r * _weighed(r, metric)).sum())


def contrast_loss(
    contrasts: torch.Tensor,
    labels: torch.Tensor,
    beta: float | torch.Tensor,
    metric: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the sum of `losses` over samples and its derivative by each contrast of h, shape (n, T, T - 1).

    In a batch, of contrasts (B, n, T, T - 1) and beta (B, 1, 1, 1), one sum for each element.
    """
    p = attention(beta, contrasts)
    r = p - labels[..., :-1]
    weighed = _weighed(r, metric)
    return (r * weighed).sum((-3, -2, -1)), (2 * beta) * p * (
        weighed - (p * weighed).sum(-1, keepdim=True)
    )


def _weighed(r: torch.Tensor, metric: torch.Tensor | None) -> torch.Tensor:
    """What all but the last of rows that sum to zero are multiplied by to give the loss: 1 + 1 1^T counts the last one."""
    if metric is None:
        return r + r.sum(-1, keepdim=True)
    return r * metric if r.shape[-1] == 1 else r @ metric
