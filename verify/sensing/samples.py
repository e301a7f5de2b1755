"""Indices of samples by Gaussian sensing matrices, and the generated functions of tensors at them."""

from __future__ import annotations

import math
from types import ModuleType

import numpy as np
import torch

from numeric.model import functions, structure
from numeric.problem.problem import Problem


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


def stacked(values, like: torch.Tensor) -> torch.Tensor:  # type: ignore[no-untyped-def]
    """Values of a generated function, one or several, constants among them, (values, n)."""
    several = values if isinstance(values, tuple) else (values,)
    return torch.stack([torch.as_tensor(value).to(like).expand_as(like) for value in several])


def sensed_labels(s0: torch.Tensor, sensing: torch.Tensor, problem: Problem, rng: np.random.Generator) -> torch.Tensor:
    """Labels (n, numbers) of the noisy indices of S0."""
    kind = structure(problem.model)["matrix"]
    h0 = sensing @ coordinates(s0, kind) / math.sqrt(len(s0)) * deviations(problem)[:, None]
    return labels_of(h0, problem, rng)


def labels_of(h0: torch.Tensor, problem: Problem, rng: np.random.Generator) -> torch.Tensor:
    """Labels (n, numbers) of indices (K, n) of the target, with noise inside."""
    spread = math.sqrt(problem.rho - problem.q0) * deviations(problem)[:, None]
    noisy = h0 + spread * torch.as_tensor(rng.standard_normal(tuple(h0.shape)))
    found = call(functions("torch", problem.model), "index_label", tuple(noisy), problem)
    return stacked(found, noisy[0]).T
