"""Indices of samples by Gaussian sensing matrices, and the generated functions of tensors at
them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from numeric.model import call, functions, structure
from numeric.problem.problem import Problem
from verify.core.data import from_symmetric_coordinates, symmetric_coordinates


def evaluated(name: str, arguments: Sequence[torch.Tensor], problem: Problem) -> Any:
    """A function of tensors of the problem's model, at these arguments and the settings that follow
    them.
    """
    return call(getattr(functions("torch", problem.model), name), arguments, problem.settings)


def deviations(problem: Problem) -> torch.Tensor:
    """Standard deviation of each index per unit of overlap, (K,)."""
    return torch.tensor(structure(problem.model).index_variances, dtype=torch.float64).sqrt()


def coordinates(s: torch.Tensor, kind: str) -> torch.Tensor:
    """Entries of S, or of a symmetric one in the orthonormal basis, (P,)."""
    return s.reshape(-1) if kind == "general" else symmetric_coordinates(s)


def from_coordinates(flat: torch.Tensor, kind: str, dim: int) -> torch.Tensor:
    """The slope by the entries of S, (d, d), from that by the coordinates."""
    return flat.reshape(dim, dim) if kind == "general" else from_symmetric_coordinates(flat, dim)


def stacked(values, like: torch.Tensor) -> torch.Tensor:  # type: ignore[no-untyped-def]
    """Values of a generated function, one or several, constants among them, (values, n)."""
    several = values if isinstance(values, tuple) else (values,)
    return torch.stack([torch.as_tensor(value).to(like).expand_as(like) for value in several])


def sensed_labels(
    s0: torch.Tensor, sensing: torch.Tensor, problem: Problem, rng: np.random.Generator
) -> torch.Tensor:
    """Labels (n, numbers) of the noisy indices of S0."""
    return labels_of(
        noisy_indices(sensed_indices(s0, sensing, problem), problem, rng), problem, rng
    )


def sensed_indices(s: torch.Tensor, sensing: torch.Tensor, problem: Problem) -> torch.Tensor:
    """Indices h of S, (K, n)."""
    kind = structure(problem.model).matrix
    return sensing @ coordinates(s, kind) / math.sqrt(len(s)) * deviations(problem)[:, None]


def noisy_indices(h0: torch.Tensor, problem: Problem, rng: np.random.Generator) -> torch.Tensor:
    """Indices (K, n) of the target with the noise inside."""
    spread = math.sqrt(problem.rho - problem.q0) * deviations(problem)[:, None]
    return h0 + spread * torch.as_tensor(rng.standard_normal(tuple(h0.shape)))


def labels_of(noisy: torch.Tensor, problem: Problem, rng: np.random.Generator) -> torch.Tensor:
    """Labels (n, numbers) of noisy indices (K, n), with the noise of their own where the model has
    one.
    """
    labels = stacked(evaluated("index_label", tuple(noisy), problem), noisy[0]).T
    if not structure(problem.model).has_noise_on_label:
        return labels
    variance = float(evaluated("noise_on_label", (), problem))
    return labels + math.sqrt(variance) * torch.as_tensor(rng.standard_normal(tuple(labels.shape)))
