"""What is trained: factors W of S = W W^T/sqrt(m d) with weight decay, or the d x d matrix S = A.

A parametrisation turns weights into a map, and the derivative by the map into the gradient by the
weights. Risk and minimisers need nothing else. Weights, maps and derivatives of a batch have one
more leading dimension.

Penalties are those of the loss before its division by d^2: lambda ||W||_F^2 for factors and lambda
d ||A||_F^2 for matrices (theory note, sections 1 and 6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch

from numeric.problem.problem import Parametrisation


class Weights(Protocol):
    """Relation between weights and the map S (d, d): penalty, gradient, and start of a descent."""

    def start(self, noise: torch.Tensor) -> torch.Tensor:
        """Return starting weights, (d, m) or (d, d), from standard normal numbers."""
        ...

    def attention_map(self, weights: torch.Tensor) -> torch.Tensor:
        """Return the map S, (d, d)."""
        ...

    def admissible(self, slope: torch.Tensor) -> torch.Tensor:
        """Return the part of a derivative by the entries of S along which S can move, (d, d)."""
        ...

    def gradient(self, weights: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
        """Return the gradient by the weights of a function with the admissible derivative `slope`
        by S.

        Args:
            weights: shape (d, m) or (d, d).
            slope: shape (d, d).
        """
        ...

    def decay_unit(self, dim: int) -> float:
        """Return the factor between lambda times the squared norm of the weights and the
        penalty.
        """
        ...

    def proximal(
        self, s: torch.Tensor, decay: float | torch.Tensor, weights: torch.Tensor
    ) -> torch.Tensor:
        """Return weights of the map that minimises ||S' - S||_F^2/2 + `decay` * penalty(S')/lambda.

        Args:
            s: map, shape (d, d), or (B, d, d) of a batch.
            decay: a number, or one for each map.
            weights: weights of the shape to return.
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
    """S = W W^T/sqrt(m d) with W of shape (d, m) and entries of order one: positive, of rank m or
    less.
    """

    def start(self, noise: torch.Tensor) -> torch.Tensor:
        """Return W itself."""
        return noise

    def attention_map(self, weights: torch.Tensor) -> torch.Tensor:
        """Return W W^T/sqrt(m d)."""
        return weights @ weights.mT / _unit(weights)

    def admissible(self, slope: torch.Tensor) -> torch.Tensor:
        """Return the symmetric part."""
        return (slope + slope.mT) / 2

    def gradient(self, weights: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
        """Return 2 slope W/sqrt(m d).

        Args:
            weights: W, shape (d, m).
            slope: derivative by S, shape (d, d).
        """
        return (2 / _unit(weights)) * (slope @ weights)

    def decay_unit(self, dim: int) -> float:
        """Return one: the penalty is lambda ||W||_F^2."""
        return 1.0

    def proximal(
        self, s: torch.Tensor, decay: float | torch.Tensor, weights: torch.Tensor
    ) -> torch.Tensor:
        """Return W of the positive part of S - decay sqrt(m d), with its m largest eigenvalues.

        Args:
            s: map, shape (d, d), or (B, d, d) of a batch.
            decay: a number, or one for each map; ||W||_F^2 = sqrt(m d) tr S.
            weights: weights of the shape to return.
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
class WhitenedFactors(Factors):
    """Map C^{1/2} W W^T C^{1/2}/sqrt(m d) of whitened tokens C^{-1/2} x, for tokens x with a
    covariance C that is diagonal.

    Its indices are those of S = W W^T/sqrt(m d) at the tokens x, and the weight decay is that on W.

    Attributes:
        roots: square roots of the eigenvalues of C, shape (d,).
    """

    roots: tuple[float, ...]

    def _scaled(self, weights: torch.Tensor) -> torch.Tensor:
        """Return C^{1/2} W."""
        roots = torch.tensor(self.roots, dtype=weights.dtype, device=weights.device)
        return roots[:, None] * weights

    def attention_map(self, weights: torch.Tensor) -> torch.Tensor:
        """Return C^{1/2} W W^T C^{1/2}/sqrt(m d)."""
        return super().attention_map(self._scaled(weights))

    def gradient(self, weights: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
        """Return 2 C^{1/2} slope C^{1/2} W/sqrt(m d).

        Args:
            weights: W, shape (d, m).
            slope: derivative by the whitened map, shape (d, d).
        """
        return self._scaled(super().gradient(self._scaled(weights), slope))

    def proximal(
        self, s: torch.Tensor, decay: float | torch.Tensor, weights: torch.Tensor
    ) -> torch.Tensor:
        """Raise NotImplementedError: with a covariance the step has no closed form."""
        raise NotImplementedError("the proximal step of a weighted trace has no closed form")

    def labels_determine_map(self, samples: int, tokens: int, dim: int) -> bool:
        """Return False, so that a descent takes no proximal steps."""
        return False


@dataclass(frozen=True)
class Matrix:
    """S = A of shape (d, d) with entries of order 1/sqrt(d), symmetric or general, of any sign and
    rank.
    """

    symmetric: bool

    def start(self, noise: torch.Tensor) -> torch.Tensor:
        """Return A with tr(A A^T)/d of order one."""
        return self.admissible(noise / math.sqrt(len(noise)))

    def attention_map(self, weights: torch.Tensor) -> torch.Tensor:
        """Return A."""
        return weights

    def admissible(self, slope: torch.Tensor) -> torch.Tensor:
        """Return the symmetric part for a symmetric A, otherwise the whole matrix."""
        return (slope + slope.mT) / 2 if self.symmetric else slope

    def gradient(self, weights: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
        """Return the slope.

        Args:
            weights: A, shape (d, d).
            slope: derivative by S, shape (d, d).
        """
        return slope

    def decay_unit(self, dim: int) -> float:
        """Return d: the penalty is lambda d ||A||_F^2."""
        return float(dim)

    def proximal(
        self, s: torch.Tensor, decay: float | torch.Tensor, weights: torch.Tensor
    ) -> torch.Tensor:
        """Return A of the map whose entries are divided by 1 + 2 decay d/(c_i c_j), with C = 1 for
        isotropic tokens.

        Args:
            s: map, shape (d, d), or (B, d, d) of a batch.
            decay: a number, or one for each map.
            weights: weights of the shape to return.
        """
        scale = self._scale(s)
        decay = torch.as_tensor(decay, dtype=s.dtype, device=s.device)[..., None, None]
        return s / (scale + 2 * s.shape[-1] * decay / scale)

    def _scale(self, like: torch.Tensor) -> torch.Tensor | float:
        """Return the factors of the entries of A in the map."""
        return 1.0

    def labels_determine_map(self, samples: int, tokens: int, dim: int) -> bool:
        """Return whether a label has more numbers than the map: as for factors if A is symmetric;
        otherwise T(T - 1) numbers per label, and d^2 in A.

        Args:
            samples: n.
            tokens: T.
            dim: d.
        """
        if self.symmetric:
            return Factors().labels_determine_map(samples, tokens, dim)
        return samples * tokens * (tokens - 1) > dim**2


@dataclass(frozen=True)
class WhitenedMatrix(Matrix):
    """Map C^{1/2} A C^{1/2} of whitened tokens C^{-1/2} x, for tokens x with a covariance C that is
    diagonal.

    Its indices are those of A at the tokens x, and the weight decay is that on A.

    Attributes:
        roots: square roots of the eigenvalues of C, shape (d,).
    """

    roots: tuple[float, ...]

    def _scale(self, like: torch.Tensor) -> torch.Tensor:
        """Return the factors of the entries of A in the map, shape (d, d)."""
        roots = torch.tensor(self.roots, dtype=like.dtype, device=like.device)
        return torch.outer(roots, roots)

    def attention_map(self, weights: torch.Tensor) -> torch.Tensor:
        """Return C^{1/2} A C^{1/2}."""
        return self._scale(weights) * weights

    def gradient(self, weights: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
        """Return C^{1/2} slope C^{1/2}.

        Args:
            weights: A, shape (d, d).
            slope: derivative by the whitened map, shape (d, d).
        """
        return self._scale(slope) * slope


def _unit(weights: torch.Tensor) -> float:
    """Return sqrt(m d); tr S is the squared norm of W divided by it."""
    return math.sqrt(weights.shape[-2] * weights.shape[-1])


def weights_of(parametrisation: Parametrisation, roots: tuple[float, ...] = ()) -> Weights:
    """Return what is trained.

    Args:
        parametrisation: factors or a matrix.
        roots: square roots of the eigenvalues of the covariance of the tokens; empty for isotropic
            tokens.
    """
    if not roots:
        return WEIGHTS[parametrisation]
    if parametrisation is Parametrisation.FACTORISED:
        return WhitenedFactors(roots)
    return WhitenedMatrix(parametrisation is Parametrisation.SYMMETRIC, roots)


WEIGHTS: dict[Parametrisation, Weights] = {
    Parametrisation.FACTORISED: Factors(),
    Parametrisation.SYMMETRIC: Matrix(symmetric=True),
    Parametrisation.GENERAL: Matrix(symmetric=False),
}
