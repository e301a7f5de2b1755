"""Indices of samples from Gaussian sensing matrices, and generated torch functions evaluated at
them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from numeric.model import call, draw_values, functions, structure
from numeric.problem.problem import Problem
from verify.core.data import from_symmetric_coordinates, symmetric_coordinates


def evaluated(name: str, arguments: Sequence[torch.Tensor], problem: Problem) -> Any:
    """Evaluate a generated torch function of the model of `problem`; its settings are appended to
    the arguments.

    Args:
        name: name of the function.
        arguments: tensors.
        problem: the problem.
    """
    return call(getattr(functions("torch", problem.model), name), arguments, problem.settings)


def deviations(problem: Problem) -> torch.Tensor:
    """Return the standard deviation of each index per unit of overlap, (K,)."""
    return torch.tensor(structure(problem.model).index_variances, dtype=torch.float64).sqrt()


def coordinates(s: torch.Tensor, kind: str) -> torch.Tensor:
    """Return the entries of S, or its coordinates in the orthonormal basis if symmetric, (P,).

    Args:
        s: shape (d, d).
        kind: kind of the matrix.
    """
    return s.reshape(-1) if kind == "general" else symmetric_coordinates(s)


def from_coordinates(flat: torch.Tensor, kind: str, dim: int) -> torch.Tensor:
    """Return the derivative by the entries of S, (d, d), from the one by the coordinates.

    Args:
        flat: shape (P,).
        kind: kind of the matrix.
        dim: d.
    """
    return flat.reshape(dim, dim) if kind == "general" else from_symmetric_coordinates(flat, dim)


def stacked(values, like: torch.Tensor) -> torch.Tensor:  # type: ignore[no-untyped-def]
    """Return the values of a generated function (one or several, constants included) as one tensor,
    (values, n).

    Args:
        values: what the function returned.
        like: tensor of shape (n,) whose type and device the result has.
    """
    several = values if isinstance(values, tuple) else (values,)
    return torch.stack([torch.as_tensor(value).to(like).expand_as(like) for value in several])


def sensed_labels(
    s0: torch.Tensor, sensing: torch.Tensor, problem: Problem, rng: np.random.Generator
) -> torch.Tensor:
    """Return the labels (n, numbers) of the noisy indices of S0.

    Args:
        s0: target, shape (d, d).
        sensing: shape (K, n, P).
        problem: the problem.
        rng: source of the noise.
    """
    return labels_of(
        noisy_indices(sensed_indices(s0, sensing, problem), problem, rng), problem, rng
    )


def sensed_indices(s: torch.Tensor, sensing: torch.Tensor, problem: Problem) -> torch.Tensor:
    """Return the indices h of S, (K, n).

    Args:
        s: shape (d, d).
        sensing: shape (K, n, P).
        problem: the problem.
    """
    kind = structure(problem.model).matrix
    return sensing @ coordinates(s, kind) / math.sqrt(len(s)) * deviations(problem)[:, None]


def token_indices(s: torch.Tensor, tokens: torch.Tensor, problem: Problem) -> torch.Tensor:
    """Return the indices (K, n) of S for given tokens, (x_i^T S x_j - delta_ij tr S)/sqrt(d).

    Args:
        s: shape (d, d).
        tokens: shape (n, tokens, d).
        problem: the problem.
    """
    found = [
        ((tokens[:, i] @ s) * tokens[:, j]).sum(-1) - (s.trace() if i == j else 0.0)
        for i, j in structure(problem.model).tokens_of_scores
    ]
    return torch.stack(found) / math.sqrt(len(s))


def token_sensing(tokens: torch.Tensor, problem: Problem) -> torch.Tensor:
    """Return the sensing matrices of sequences, whose `sensed_indices` are `token_indices`.

    Args:
        tokens: shape (n, tokens, d).
        problem: the problem.
    """
    model, dim = structure(problem.model), tokens.shape[-1]
    found = []
    for i, j in model.tokens_of_scores:
        products = tokens[:, i, :, None] * tokens[:, j, None, :]
        if i == j:
            products = products - torch.eye(dim, dtype=tokens.dtype)
        if model.matrix == "general":
            found.append(products.flatten(-2))
        else:
            found.append(symmetric_coordinates((products + products.mT) / 2))
    return torch.stack(found) / deviations(problem)[:, None, None]


def noisy_indices(h0: torch.Tensor, problem: Problem, rng: np.random.Generator) -> torch.Tensor:
    """Return the indices (K, n) of the target with the noise inside.

    Args:
        h0: indices without noise, shape (K, n).
        problem: the problem.
        rng: source of the noise.
    """
    spread = math.sqrt(problem.rho - problem.q0) * deviations(problem)[:, None]
    return h0 + spread * torch.as_tensor(rng.standard_normal(tuple(h0.shape)))


def labels_of(noisy: torch.Tensor, problem: Problem, rng: np.random.Generator) -> torch.Tensor:
    """Return the labels (n, numbers) of noisy indices, drawn or with label noise if the model says
    so.

    Args:
        noisy: shape (K, n).
        problem: the problem.
        rng: source of the noise.
    """
    if structure(problem.model).draws:
        return _drawn_labels(noisy, problem, rng)
    labels = stacked(evaluated("index_label", tuple(noisy), problem), noisy[0]).T
    if not structure(problem.model).has_noise_on_label:
        return labels
    variance = float(evaluated("noise_on_label", (), problem))
    return labels + math.sqrt(variance) * torch.as_tensor(rng.standard_normal(tuple(labels.shape)))


def _drawn_labels(noisy: torch.Tensor, problem: Problem, rng: np.random.Generator) -> torch.Tensor:
    """Return labels with a few values, each drawn with its probability."""
    draws = structure(problem.model).draws
    found: dict[int, torch.Tensor] = {}
    values = draw_values(problem.model, problem.settings)
    for k, (draw, of_class) in enumerate(zip(draws, values, strict=True), 1):
        chances = stacked(evaluated(f"draw{k}_probabilities", tuple(noisy), problem), noisy[0])
        below = chances.cumsum(0)[:-1]
        drawn = (torch.as_tensor(rng.random(noisy.shape[1])) > below).sum(0)
        rows = torch.as_tensor(of_class, dtype=noisy.dtype)[drawn]
        found |= dict(zip(draw.numbers, rows.T, strict=True))
    return torch.stack([found[number] for number in sorted(found)], dim=-1)
