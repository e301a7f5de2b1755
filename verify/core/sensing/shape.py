"""Relation between weights and a matrix S of the class of the model, with the penalty (theory note,
sections 1 and 6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from numeric.problem.problem import Problem


@dataclass(frozen=True)
class Shape:
    """Relation between columns of weights, (d, columns), and a matrix S, with the penalty besides a
    Frobenius term.

    `kind` is the kind of the matrix. Without a `threshold` S itself is trained.
    """

    kind: str
    threshold: bool
    dim: int
    width: int

    @property
    def columns(self) -> int:
        """Return the number of columns of the weights."""
        if not self.threshold:
            return self.dim
        return self.width if self.kind == "positive" else 2 * self.width

    @property
    def unit(self) -> float:
        """Return sqrt(m d)."""
        return math.sqrt(self.width * self.dim)

    def matrix(self, weights: torch.Tensor) -> torch.Tensor:
        """Return S, (d, d)."""
        if not self.threshold:
            return weights if self.kind == "general" else (weights + weights.T) / 2
        one, other = weights[:, : self.width], weights[:, self.width :]
        if self.kind == "general":
            return one @ other.T / self.unit
        return (one @ one.T - (other @ other.T if self.kind == "symmetric" else 0)) / self.unit

    def gradient(self, weights: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
        """Return the gradient by the weights of a function whose derivative by the entries of S
        is `slope`.
        """
        symmetric = (slope + slope.T) / 2
        if not self.threshold:
            return slope if self.kind == "general" else symmetric
        one, other = weights[:, : self.width], weights[:, self.width :]
        if self.kind == "general":
            return torch.cat([slope @ other, slope.T @ one], 1) / self.unit
        parts = [symmetric @ one] + ([-symmetric @ other] if self.kind == "symmetric" else [])
        return 2 * torch.cat(parts, 1) / self.unit

    def decay(self, problem: Problem) -> float:
        """Return the factor of the squared norm of the weights: half of lambda for each factor
        of a general matrix.
        """
        if not self.threshold:
            return problem.lambda_ * self.dim
        return problem.lambda_ / (2 if self.kind == "general" else 1)
