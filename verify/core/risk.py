"""Empirical risk of one attention head and its gradient.

    L(W) = sum_mu || y^mu - softmax(beta h_S(X^mu)) ||_F^2 + lambda ||W||_F^2,  S = W W^T / sqrt(m
    d) L(A) = the same with S = A and lambda d ||A||_F^2

With output sequences y X instead of labels y, the loss of a sample is
|| (y - softmax(beta h)) X ||_F^2/d. All values are per d^2, where the theory has its limit
(theory note, sections 1 and 6).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import torch

from verify.core.data import Inputs, Output, attention, output_metric
from verify.core.parametrisation import Factors, Weights


class RiskPoint(NamedTuple):
    """Risk at some weights, of one run or with a leading dimension of B runs.

    Attributes:
        weights: shape (d, m).
        fit: risk without decay.
        slope: derivative of `fit` by the map.
        loss: L/d^2.
        gradient: derivative of `loss` by the weights.
    """

    weights: torch.Tensor
    maps: torch.Tensor
    fit: torch.Tensor
    slope: torch.Tensor
    loss: torch.Tensor
    gradient: torch.Tensor

    def select(self, places: torch.Tensor) -> RiskPoint:
        """Return only the runs at `places`."""
        return RiskPoint(*(value[places] for value in self))


@dataclass(frozen=True)
class Risk:
    """Empirical risk of inputs and labels (n, T, T) as a function of the weights, (d, m) or (d, d).

    The inputs state n samples of T tokens.
    """

    inputs: Inputs
    labels: torch.Tensor
    lambda_: float
    beta: float
    weights: Weights = field(default_factory=Factors)
    output: Output = Output.LABELS

    def value_and_gradient(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return L/d^2 and its gradient, shape of the weights."""
        point = self.at(weights)
        return point.loss, point.gradient

    def at(self, weights: torch.Tensor) -> RiskPoint:
        """Return the risk and its derivatives at the weights."""
        s = self.weights.attention_map(weights)
        return add_decay(self.weights, weights, s, self.fit(s), self.lambda_)

    def fit(self, s: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the risk without weight decay and its admissible derivative by S, (d, d)."""
        blocks = ((block, self.labels[part]) for part, block in self.inputs.blocks())
        fit, slope = sum_blocks(blocks, s, self.beta, self.output)
        return fit, self.weights.admissible(slope)

    def train_error(self, s: torch.Tensor) -> float:
        """Return the mean loss per sample of a map S (d, d)."""
        total = sum(
            total_loss(
                block.contrasts(s), self.labels[part], self.beta, output_metric(block, self.output)
            )
            for part, block in self.inputs.blocks()
        )
        return total / len(self.labels)


def sum_blocks(
    blocks: Iterable[tuple[Inputs, torch.Tensor]],
    s: torch.Tensor,
    beta: float | torch.Tensor,
    output: Output,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the sum of the losses and its derivative by each entry of S.

    The derivative is written out: it shares the products X S with the value, block by block, which
    autograd would store for all samples at once.

    Args:
        blocks: inputs and labels of some samples each.
        s: the map, shape (d, d), or (B, d, d) of B runs.
        beta: inverse temperature, or (B, 1, 1, 1).
        output: compared output.
    """
    fit = torch.zeros(s.shape[:-2], dtype=torch.float64, device=s.device)
    slope = torch.zeros_like(s)
    for inputs, labels in blocks:
        metric = output_metric(inputs, output)
        loss, by_contrast = contrast_loss(inputs.contrasts(s), labels, beta, metric)
        fit += loss
        slope += inputs.contrast_adjoint(by_contrast)
    return fit, slope


def add_decay(
    kind: Weights,
    weights: torch.Tensor,
    maps: torch.Tensor,
    fit_and_slope: tuple[torch.Tensor, torch.Tensor],
    lambda_: float | torch.Tensor,
) -> RiskPoint:
    """Return the whole risk from its value without weight decay.

    Args:
        kind: parametrisation of the map.
        weights: shape (d, m), or (B, d, m) of B runs.
        maps: their map, shape (d, d) or (B, d, d).
        fit_and_slope: risk without decay, and its admissible derivative by the map.
        lambda_: weight decay, or (B,).
    """
    (fit, slope), dim = fit_and_slope, weights.shape[-2]
    decay = torch.as_tensor(lambda_, dtype=weights.dtype, device=weights.device)
    decay = decay * kind.decay_unit(dim)
    loss = (fit + decay * weights.square().sum((-2, -1))) / dim**2
    gradient = kind.gradient(weights, slope) + 2 * decay[..., None, None] * weights
    return RiskPoint(weights, maps, fit, slope, loss, gradient / dim**2)


def losses(
    contrasts: torch.Tensor, labels: torch.Tensor, beta: float, metric: torch.Tensor | None = None
) -> torch.Tensor:
    """Return the loss of each sample, shape (n,).

    Args:
        contrasts: h_ab - h_aT, shape (n, T, T - 1).
        labels: y, shape (n, T, T).
        beta: inverse temperature.
        metric: `output_metric` of the output sequences; None for labels.
    """
    r = attention(beta, contrasts) - labels[..., :-1]
    return (r * _weighed(r, metric)).sum((-2, -1))


def total_loss(
    contrasts: torch.Tensor, labels: torch.Tensor, beta: float, metric: torch.Tensor | None = None
) -> float:
    """Return the sum of `losses` over the samples.

    Args:
        contrasts: h_ab - h_aT, shape (n, T, T - 1).
        labels: y, shape (n, T, T).
        beta: inverse temperature.
        metric: `output_metric` of the output sequences; None for labels.
    """
    r = attention(beta, contrasts) - labels[..., :-1]
    return float((r * _weighed(r, metric)).sum())


def contrast_loss(
    contrasts: torch.Tensor,
    labels: torch.Tensor,
    beta: float | torch.Tensor,
    metric: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the sum of `losses` and its derivative by each contrast, shape (n, T, T - 1).

    Args:
        contrasts: h_ab - h_aT, shape (n, T, T - 1), or (B, n, T, T - 1) for B sums.
        labels: y, shape (n, T, T) or (B, n, T, T).
        beta: inverse temperature, or (B, 1, 1, 1).
        metric: `output_metric` of the output sequences; None for labels.
    """
    p = attention(beta, contrasts)
    r = p - labels[..., :-1]
    weighed = _weighed(r, metric)
    slope = (2 * beta) * p * (weighed - (p * weighed).sum(-1, keepdim=True))
    return (r * weighed).sum((-3, -2, -1)), slope


def _weighed(r: torch.Tensor, metric: torch.Tensor | None) -> torch.Tensor:
    """Return r M, so that the sum of r * (r M) is the loss of rows that sum to zero.

    `r` has no last entry; without a metric M = 1 + 1 1^T, which adds its square.
    """
    if metric is None:
        return r + r.sum(-1, keepdim=True)
    return r * metric if r.shape[-1] == 1 else r @ metric
