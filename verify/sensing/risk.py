"""The empirical risk of any model and its gradient, loss and slope as generated for torch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

import torch

from numeric.model import functions
from numeric.problem.problem import Problem
from verify.sensing.samples import call, coordinates, deviations, from_coordinates, stacked
from verify.sensing.shape import Shape


@dataclass(frozen=True)
class SensedRisk:
    """Empirical risk per d^2 of one model on Gaussian-equivalent data.

    `sensing` has shape (K, n, P): for each of K indices of each sample P coordinates of a Gaussian matrix, d(d+1)/2 in the orthonormal
    basis of symmetric matrices or d^2 entries; `labels` has shape (n, numbers).
    """

    problem: Problem
    shape: Shape
    sensing: torch.Tensor
    labels: torch.Tensor

    @cached_property
    def generated(self) -> ModuleType:
        """Label, loss and slope of the model."""
        return functions("torch", self.problem.model)

    def value_and_gradient(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """L/d^2 and its gradient, shape of the weights."""
        s, dim = self.shape.matrix(weights), self.shape.dim
        h = self.indices(s)
        slopes = stacked(self._call("index_slope", h), h[0])
        frobenius = sum(self.problem.frobenius) * dim if self.shape.threshold else 0.0
        value = (
            self.losses(h).sum()
            + self.shape.decay(self.problem) * weights.square().sum()
            + frobenius * s.square().sum()
        )
        slope = self._adjoint(slopes) + 2 * frobenius * s
        gradient = self.shape.gradient(weights, slope) + 2 * self.shape.decay(self.problem) * weights
        return value / dim**2, gradient / dim**2

    def losses(self, h: torch.Tensor) -> torch.Tensor:
        """Of each sample, at indices (K, n)."""
        return self._call("index_loss", h)

    def indices(self, s: torch.Tensor) -> torch.Tensor:
        """H of every sample, (K, n)."""
        units = self.sensing @ coordinates(s, self.shape.kind) / math.sqrt(self.shape.dim)
        return units * deviations(self.problem)[:, None]

    def _adjoint(self, slopes: torch.Tensor) -> torch.Tensor:
        """d/dS of what has these slopes by the indices, (d, d)."""
        flat = torch.einsum("kn,knp->p", slopes * deviations(self.problem)[:, None], self.sensing) / math.sqrt(
            self.shape.dim
        )
        return from_coordinates(flat, self.shape.kind, self.shape.dim)

    def _call(self, name: str, h: torch.Tensor):  # type: ignore[no-untyped-def]
        return call(self.generated, name, (*h, *self.labels.T), self.problem)
