"""Gaussian-equivalent training of any model: indices by Gaussian sensing matrices, label, loss and slope as generated for torch.

What is trained follows from the class of the matrix: factors W, (W+, W-) or (Q, K) with weight decay, or the matrix itself with a
Frobenius penalty.   (theory note, sections 1 and 6)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

import numpy as np
import torch

from numeric.model import functions, structure
from numeric.problem.problem import Problem


@dataclass(frozen=True)
class Shape:
    """How columns of weights, (d, columns), make a matrix S, and what they cost beside a Frobenius term.

    `kind` is that of the matrix; without a `threshold` S itself is trained.
    """

    kind: str
    threshold: bool
    dim: int
    width: int

    @property
    def columns(self) -> int:
        """Of the weights."""
        if not self.threshold:
            return self.dim
        return self.width if self.kind == "positive" else 2 * self.width

    @property
    def unit(self) -> float:
        """sqrt(m d)."""
        return math.sqrt(self.width * self.dim)

    def matrix(self, weights: torch.Tensor) -> torch.Tensor:
        """S, (d, d)."""
        if not self.threshold:
            return weights if self.kind == "general" else (weights + weights.T) / 2
        one, other = weights[:, : self.width], weights[:, self.width :]
        if self.kind == "general":
            return one @ other.T / self.unit
        return (one @ one.T - (other @ other.T if self.kind == "symmetric" else 0)) / self.unit

    def gradient(self, weights: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
        """By the weights, of what has this slope by the entries of S."""
        symmetric = (slope + slope.T) / 2
        if not self.threshold:
            return slope if self.kind == "general" else symmetric
        one, other = weights[:, : self.width], weights[:, self.width :]
        if self.kind == "general":
            return torch.cat([slope @ other, slope.T @ one], 1) / self.unit
        parts = [symmetric @ one] + ([-symmetric @ other] if self.kind == "symmetric" else [])
        return 2 * torch.cat(parts, 1) / self.unit

    def decay(self, problem: Problem) -> float:
        """What the squared norm of the weights is multiplied by: half of lambda for each of two factors of a general matrix."""
        if not self.threshold:
            return problem.lambda_ * self.dim
        return problem.lambda_ / (2 if self.kind == "general" else 1)


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
        slopes = _stacked(self._call("index_slope", h), h[0])
        frobenius = sum(self.problem.frobenius) * dim if self.shape.threshold else 0.0
        value = self.losses(h).sum() + self.shape.decay(self.problem) * weights.square().sum() + frobenius * s.square().sum()
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
        flat = torch.einsum("kn,knp->p", slopes * deviations(self.problem)[:, None], self.sensing) / math.sqrt(self.shape.dim)
        return from_coordinates(flat, self.shape.kind, self.shape.dim)

    def _call(self, name: str, h: torch.Tensor):  # type: ignore[no-untyped-def]
        return call(self.generated, name, (*h, *self.labels.T), self.problem)


def call(generated: ModuleType, name: str, arguments: tuple[torch.Tensor, ...], problem: Problem):  # type: ignore[no-untyped-def]
    """A generated function of tensors and the settings that follow them."""
    function = getattr(generated, name)
    names = function.__code__.co_varnames[len(arguments) : function.__code__.co_argcount]
    known = {"beta": problem.beta, "beta0": problem.beta0, **dict(problem.extra)}
    return function(*arguments, *(known[extra] for extra in names))


def deviations(problem: Problem) -> torch.Tensor:
    """Standard deviation of each index per unit of overlap, (K,)."""
    return torch.tensor(structure(problem.model)["variances"], dtype=torch.float64).sqrt()


def coordinates(s: torch.Tensor, kind: str) -> torch.Tensor:
    """Entries of S, or of a symmetric one in the orthonormal basis, (P,)."""
    if kind == "general":
        return s.reshape(-1)
    rows, columns = torch.triu_indices(*s.shape)
    return s[rows, columns] * torch.where(rows == columns, 1.0, math.sqrt(2)).to(s)


def from_coordinates(flat: torch.Tensor, kind: str, dim: int) -> torch.Tensor:
    """The slope by the entries of S, (d, d), from that by the coordinates."""
    if kind == "general":
        return flat.reshape(dim, dim)
    rows, columns = torch.triu_indices(dim, dim)
    out = flat.new_zeros(dim, dim)
    out[rows, columns] = flat / torch.where(rows == columns, 1.0, math.sqrt(2)).to(flat)
    return (out + out.T) * (1 - 0.5 * torch.eye(dim).to(flat))


def draw_labels(s0: torch.Tensor, sensing: torch.Tensor, problem: Problem, rng: np.random.Generator) -> torch.Tensor:
    """Labels (n, numbers) of the noisy indices of S0."""
    kind = structure(problem.model)["matrix"]
    h0 = sensing @ coordinates(s0, kind) / math.sqrt(len(s0)) * deviations(problem)[:, None]
    return labels_of(h0, problem, rng)


def labels_of(h0: torch.Tensor, problem: Problem, rng: np.random.Generator) -> torch.Tensor:
    """Labels (n, numbers) of indices (K, n) of the target, with noise inside."""
    spread = math.sqrt(problem.rho - problem.q0) * deviations(problem)[:, None]
    noisy = h0 + spread * torch.as_tensor(rng.standard_normal(tuple(h0.shape)))
    found = call(functions("torch", problem.model), "index_label", tuple(noisy), problem)
    return _stacked(found, noisy[0]).T


def _stacked(values, like: torch.Tensor) -> torch.Tensor:  # type: ignore[no-untyped-def]
    """Values of a generated function, one or several, constants among them, (values, n)."""
    several = values if isinstance(values, tuple) else (values,)
    return torch.stack([torch.as_tensor(value).to(like).expand_as(like) for value in several])
