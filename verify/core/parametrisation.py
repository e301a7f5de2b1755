"""What is trained: factors W of the map S = W W^T/sqrt(m d) with weight decay, or the d x d matrix
S = A itself.

Each parametrisation turns weights into a map and a slope by the map into a gradient by the weights;
the risk and the minimisers know nothing else of it. Weights, maps and slopes of a batch have the
same leading dimensions more.

Penalties are those of the loss before its division by d^2:
lambda ||W||_F^2 for factors and lambda d ||A||_F^2 for matrices.   (theory note, sections 1 and 6)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch

from numeric.problem.problem import Parametrisation


class Weights(Protocol):
    """How weights give a map S (d, d), what they cost, and where a descent over them starts."""

    def start(self, noise: torch.Tensor) -> torch.Tensor:
        """Starting weights from standard normal numbers, (d, m) or (d, d)."""
        ...

    def attention_map(self, weights: torch.Tensor) -> torch.Tensor:
        """The map S, (d, d)."""
        ...

    def admissible(self, slope: torch.Tensor) -> torch.Tensor:
        """A slope by the d^2 entries of S, (d, d), restricted to the directions in which S can
        move.
        """
        ...

    def gradient(self, weights: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
        """The gradient by the weights of what has the admissible `slope` by S."""
        ...

    def decay_unit(self, dim: int) -> float:
        """Return the factor between lambda times the squared norm of the weights and the
        penalty.
        """
        ...

    def proximal(
        self, s: torch.Tensor, decay: float | torch.Tensor, weights: torch.Tensor
    ) -> torch.Tensor:
        """Weights (as many as in `weights`) of the map that minimises ||S' - S||_F^2/2 + `decay` *
        penalty(S')/lambda.

        Of a batch `decay` may be one number for each map.
        """
        ...

    def labels_determine_map(self, samples: int, tokens: int, dim: int) -> bool:
        """Return whether the labels contain more numbers than S, so that no direction of S is
        flat.

        A label determines T(T + 1)/2 indices up to a common constant; S has d(d + 1)/2 entries.
        """
        ...


@dataclass(frozen=True)
class Factors:
    """S = W W^T/sqrt(m d), W of shape (d, m) with entries of order one: positive, of rank m at
    most.
    """

    def start(self, noise: torch.Tensor) -> torch.Tensor:
        """W itself."""
        return noise

    def attention_map(self, weights: torch.Tensor) -> torch.Tensor:
        """W W^T/sqrt(m d)."""
        return weights @ weights.mT / _unit(weights)

    def admissible(self, slope: torch.Tensor) -> torch.Tensor:
        """The symmetric part."""
        return (slope + slope.mT) / 2

    def gradient(self, weights: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
        """2 slope W/sqrt(m d)."""
        return (2 / _unit(weights)) * (slope @ weights)

    def decay_unit(self, dim: int) -> float:
        """One: the penalty is lambda ||W||_F^2."""
        return 1.0

    def proximal(
        self, s: torch.Tensor, decay: float | torch.Tensor, weights: torch.Tensor
    ) -> torch.Tensor:
        """W of the positive part of S - decay sqrt(m d), its largest m eigenvalues only: ||W||_F^2
        = sqrt(m d) tr S.
        """
        unit, (dim, width) = _unit(weights), weights.shape[-2:]
        values, vectors = torch.linalg.eigh(s)
        kept, shrinkage = (
            min(width, dim),
            torch.as_tensor(decay, dtype=s.dtype, device=s.device)[..., None] * unit,
        )
        columns = (
            vectors[..., -kept:]
            * (unit * (values[..., -kept:] - shrinkage).clamp_min(0)).sqrt()[..., None, :]
        )
        return torch.nn.functional.pad(columns, (0, width - kept))

    def labels_determine_map(self, samples: int, tokens: int, dim: int) -> bool:
        """Return whether T(T + 1)/2 - 1 numbers per label exceed the d(d + 1)/2 entries of S."""
        return samples * (tokens * (tokens + 1) // 2 - 1) > dim * (dim + 1) // 2


@dataclass(frozen=True)
class Matrix:
    """S = A, of shape (d, d) with entries of order 1/sqrt(d), symmetric or not: no sign, no
    rank.
    """

    symmetric: bool

    def start(self, noise: torch.Tensor) -> torch.Tensor:
        """A with tr(A A^T)/d of order one."""
        return self.admissible(noise / math.sqrt(len(noise)))

    def attention_map(self, weights: torch.Tensor) -> torch.Tensor:
        """A."""
        return weights

    def admissible(self, slope: torch.Tensor) -> torch.Tensor:
        """The symmetric part, or all of it."""
        return (slope + slope.mT) / 2 if self.symmetric else slope

    def gradient(self, weights: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
        """The slope."""
        return slope

    def decay_unit(self, dim: int) -> float:
        """d: the penalty is lambda d ||A||_F^2."""
        return float(dim)

    def proximal(
        self, s: torch.Tensor, decay: float | torch.Tensor, weights: torch.Tensor
    ) -> torch.Tensor:
        """S shrunk by the factor 1 + 2 decay d."""
        return s / (
            1
            + 2
            * s.shape[-1]
            * torch.as_tensor(decay, dtype=s.dtype, device=s.device)[..., None, None]
        )

    def labels_determine_map(self, samples: int, tokens: int, dim: int) -> bool:
        """Symmetric: as for factors.  General: T(T - 1) numbers in a label, d^2 in A."""
        if self.symmetric:
            return Factors().labels_determine_map(samples, tokens, dim)
        return samples * tokens * (tokens - 1) > dim**2


def _unit(weights: torch.Tensor) -> float:
    """sqrt(m d), by which tr S is the squared norm of W."""
    return math.sqrt(weights.shape[-2] * weights.shape[-1])


WEIGHTS: dict[Parametrisation, Weights] = {
    Parametrisation.FACTORISED: Factors(),
    Parametrisation.SYMMETRIC: Matrix(symmetric=True),
    Parametrisation.GENERAL: Matrix(symmetric=False),
}
