"""Empirical risk of any model and its gradient, from the loss and its derivatives as generated for
torch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from numeric.problem.problem import Problem
from verify.core.sensing.samples import (
    deviations,
    evaluated,
    from_coordinates,
    sensed_indices,
    stacked,
)
from verify.core.sensing.shape import Shape


@dataclass(frozen=True)
class SensedRisk:
    """Empirical risk per d^2 of one model on Gaussian-equivalent data.

    Attributes:
        sensing: shape (K, n, P): for each of K indices of each sample, P coordinates of a Gaussian
            matrix, d(d+1)/2 in the orthonormal basis of symmetric matrices or d^2 entries.
        labels: shape (n, numbers).
    """

    problem: Problem
    shape: Shape
    sensing: torch.Tensor
    labels: torch.Tensor

    def value_and_gradient(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return L/d^2 and its gradient, shape of the weights."""
        s, dim = self.shape.matrix(weights), self.shape.dim
        h = self.indices(s)
        frobenius = sum(self.problem.frobenius) * dim if self.shape.threshold else 0.0
        decay = self.shape.decay(self.problem)
        losses, slopes = self.losses_and_slopes(h)
        value = losses.sum() + decay * weights.square().sum() + frobenius * s.square().sum()
        slope = self._adjoint(slopes) + 2 * frobenius * s
        gradient = self.shape.gradient(weights, slope) + 2 * decay * weights
        return value / dim**2, gradient / dim**2

    def losses(self, h: torch.Tensor) -> torch.Tensor:
        """Return the loss of each sample at indices h, shape (K, n)."""
        return self._call("index_loss", h)

    def losses_and_slopes(self, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss of each sample and its slope in its indices h, both of shape (K, n)."""
        return self.losses(h), stacked(self._call("index_slope", h), h[0])

    def indices(self, s: torch.Tensor) -> torch.Tensor:
        """Return the indices of all samples, shape (K, n)."""
        return sensed_indices(s, self.sensing, self.problem)

    def _adjoint(self, slopes: torch.Tensor) -> torch.Tensor:
        """Return the derivative by S, (d, d), of a function with these derivatives by indices."""
        flat = torch.einsum("kn,knp->p", slopes * deviations(self.problem)[:, None], self.sensing)
        return from_coordinates(flat / math.sqrt(self.shape.dim), self.shape.kind, self.shape.dim)

    def _call(self, name: str, h: torch.Tensor):  # type: ignore[no-untyped-def]
        return evaluated(name, (*h, *self.labels.T), self.problem)
