"""Empirical risk of a narrow student on token sequences, computed from X W without a d x d map.

The learned map has a rank far below d, so m << d columns suffice. An evaluation takes 8 n d m
operations at two tokens, d/m times fewer than one through S.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from verify.core.risk import contrast_loss
from verify.studies.exponents.sequences import TokenSequences


def contrasts_of_projected(
    projected: torch.Tensor, unit: float, trace: float | torch.Tensor
) -> torch.Tensor:
    """Return contrasts h_ab - h_aT, shape (n, T, T - 1), of h_ab = (p_a.p_b - delta_ab trace)/unit.

    The loop over tokens is several times faster than batched products of small matrices.

    Args:
        projected: projected tokens p, shape (n, T, m).
        unit: normalisation of h.
        trace: trace of the map in these units.
    """
    differences = projected[:, :-1] - projected[:, -1:]
    h = torch.stack(
        [(projected[:, a, None] * differences).sum(-1) for a in range(projected.shape[1])], 1
    )
    h.diagonal(dim1=1, dim2=2).sub_(trace)
    h[:, -1].add_(trace)
    return h.div_(unit)


def gradient_of_projected(slope: torch.Tensor, projected: torch.Tensor) -> torch.Tensor:
    """Return the gradient by the projected tokens, shape (n, T, m).

    Args:
        slope: gradient by the contrasts of `contrasts_of_projected` in units of `unit`, shape (n,
            T, T - 1).
        projected: projected tokens, shape (n, T, m).
    """
    differences = projected[:, :-1] - projected[:, -1:]
    out = torch.empty_like(projected)
    by_difference = slope[:, 0, :, None] * projected[:, :1]
    for a in range(1, projected.shape[1]):
        by_difference.addcmul_(slope[:, a, :, None], projected[:, a : a + 1])
    out[:, :-1] = by_difference
    out[:, -1] = -by_difference.sum(1)
    for a in range(projected.shape[1]):
        out[:, a] += (slope[:, a, :, None] * differences).sum(1)
    return out


@dataclass(frozen=True)
class NarrowRisk:
    """Empirical risk per d^2 of S = W W^T/sqrt(m d), W of shape (d, m), for the minimisers.

    Attributes:
        sequences: n sequences of T tokens.
        labels: shape (n, T, T).
        lambda_: coefficient of ||W||_F^2.
        beta: inverse temperature.
    """

    sequences: TokenSequences
    labels: torch.Tensor
    lambda_: float
    beta: float

    def value_and_gradient(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return L/d^2 and its gradient at weights W, (d, m)."""
        dim, width = weights.shape
        unit = math.sqrt(width) * dim  # of h = (x_a^T W W^T x_b - delta_ab ||W||^2)/unit
        trace = weights.square().sum()
        fit, gradient, diagonal = (
            weights.new_zeros(()),
            torch.zeros_like(weights),
            weights.new_zeros(()),
        )
        for part, x in self.sequences.blocks():
            labels = self.labels[part]
            flat = x.reshape(-1, dim)
            projected = (flat @ weights).reshape(*x.shape[:2], width)
            loss, slope = contrast_loss(
                contrasts_of_projected(projected, unit, trace), labels, self.beta
            )
            fit += loss
            diagonal += slope.diagonal(dim1=1, dim2=2).sum() - slope[:, -1].sum()
            gradient.addmm_(flat.T, gradient_of_projected(slope, projected).reshape(-1, width))
        gradient = (gradient - 2 * diagonal * weights) / unit + 2 * self.lambda_ * weights
        return (fit + self.lambda_ * weights.square().sum()) / dim**2, gradient / dim**2
