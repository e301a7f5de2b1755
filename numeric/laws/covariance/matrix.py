"""Target and covariance given as matrices of a finite dimension (case b of the theory note,
section 13).
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy
from flint import arb

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.covariance.target import (
    Entries,
    ListedCovariance,
    MovedEigenvalues,
    require_covariance,
)
from numeric.laws.law import Array
from numeric.maths.domain import require
from numeric.proven_laws.finite import FiniteLaw
from numeric.proven_laws.subordinated import NullSpace

SYMMETRY = 1e-10  # largest difference of a matrix from its transpose, relative to its largest entry


@dataclass(frozen=True, eq=False)
class MatrixCovariance(ListedCovariance):
    """Two given matrices: the target S0 and the covariance C of the tokens.

    Args:
        matrix: S0, shape (d, d), symmetric, without negative eigenvalues and not zero.
        covariance: C, shape (d, d), symmetric and positive definite; scaled to tr C = d.

    Raises:
        InvalidParameter: a matrix is not of this kind.

    Source: theory note, section 13.

    >>> from numeric import MatrixCovariance, Problem, solve
    >>> target = MatrixCovariance([[2.0, 0.5], [0.5, 1.0]], covariance=[[1.5, 0.2], [0.2, 0.5]])
    >>> solution = solve(Problem(alpha=1, target=target, lambda_=0.1, noise=0.2))
    >>> solution.status.name, round(target.q0, 3), round(solution.m, 4)
    ('CONVERGED', 5.603, 3.3979)
    """

    matrix: Any
    covariance: Any
    _roots: tuple[Array, Array] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("matrix", "covariance"):
            object.__setattr__(self, name, symmetric_matrix(name, getattr(self, name)))
        if self.matrix.shape != self.covariance.shape:
            rule = f"must have the shape of the covariance, {self.covariance.shape}"
            raise InvalidParameter("matrix", self.matrix.shape, rule, "give both in one dimension")
        values, vectors = scipy.linalg.eigh(self.covariance)
        require_covariance(values)
        values = values / np.mean(values)
        object.__setattr__(self, "covariance", (vectors * values) @ vectors.T)
        object.__setattr__(self, "_roots", (values, vectors))
        least, size = (float(f(self._whitened[0])) for f in (np.min, np.max))
        rule = "must not be zero, and must have no negative eigenvalue: S0 is positive"
        require(size > 0 and least >= -SYMMETRY * size, "matrix", least, rule, "change the target")

    @cached_property
    def _whitened(self) -> tuple[Array, Array]:
        """Eigenvalues of C^{1/2} S0 C^{1/2}, and this matrix in the eigenvectors of C."""
        values, vectors = self._roots
        half = np.sqrt(values)
        matrix = half[:, None] * (vectors.T @ self.matrix @ vectors) * half
        return scipy.linalg.eigvalsh(matrix), matrix

    @property
    def covariance_range(self) -> tuple[float, float]:
        """Least and largest eigenvalue of C."""
        values, _ = self._roots
        return float(values[0]), float(values[-1])

    def exact(self) -> FiniteLaw:
        """Return the law of the whitened target in balls, from its eigenvalues in float64."""
        return self.whitened.exact()

    def null_space(self) -> NullSpace:
        """Return the inverse covariance on the null space of the whitened target."""
        (c, _), (_, matrix) = self._roots, self._whitened
        values, vectors = scipy.linalg.eigh(matrix)
        null = vectors[:, values < SYMMETRY * values[-1]]
        inverse = scipy.linalg.eigvalsh((null.T / c) @ null).tolist() if null.size else []
        share = Fraction(1, len(c))
        law = FiniteLaw(lambda: [arb(x) - 1 for x in inverse], [share] * len(inverse), Fraction(0))
        return NullSpace(law, Fraction(float(np.mean(1 / c**2))))

    def scaled(self, factor: float) -> Self:
        """Return the law of `factor` times the target."""
        return type(self)(factor * self.matrix, self.covariance)

    @property
    def square(self) -> float:
        """Mean square of the eigenvalues of C, tr C^2/d."""
        values, _ = self._roots
        return float(np.mean(values**2))

    @property
    def norm_overlap(self) -> float:
        """Overlap of the whitened target with C, tr(C S0)/tr(C^2), eigenvalue."""
        (c, _), (_, matrix) = self._roots, self._whitened
        return float(np.mean(c * np.diag(matrix))) / self.square

    @cached_property
    def entries(self) -> Entries:
        """Entries of the whitened target."""
        (c, _), (_, matrix) = self._roots, self._whitened
        squares, d = matrix.ravel() ** 2, len(c)
        return Entries(np.outer(c, c).ravel(), np.full(d * d, 1 / d**2), squares / d)

    def moved(self, b: float, shift: float) -> MovedEigenvalues:
        """Return the eigenvalues of S0~ + b (1 - C^{-1}) + shift C, with equal weights.

        Args:
            b: coefficient of C^{-1}, eigenvalue.
            shift: coefficient of C, eigenvalue.
        """
        (c, _), (_, matrix) = self._roots, self._whitened
        values, vectors = scipy.linalg.eigh(matrix + np.diag(b * (1 - 1 / c) + shift * c))
        if b == shift == 0:  # eigenvalues that are zero up to rounding are zero
            values[np.abs(values) < SYMMETRY * values[-1]] = 0.0
        squares = vectors**2
        return MovedEigenvalues(values, (1 / c) @ squares, c @ squares, np.full(len(c), 1 / len(c)))

    def __repr__(self) -> str:
        """Return the dimension and the range of the covariance."""
        low, high = self.covariance_range
        return f"MatrixCovariance(d = {len(self.matrix)}, covariance {low:.4g} to {high:.4g})"


def symmetric_matrix(name: str, given: Any) -> Array:
    """Return a symmetric matrix as an array.

    Args:
        name: name of the argument.
        given: its value, of shape (d, d).

    Raises:
        InvalidParameter: it is not a symmetric matrix of finite numbers.
    """
    try:
        matrix = np.array(given, dtype=float)
    except (TypeError, ValueError):
        rule = "must be a matrix of numbers"
        raise InvalidParameter(name, type(given).__name__, rule, "give d rows of d") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise InvalidParameter(name, f"shape {matrix.shape}", "must be square", "give d rows of d")
    if not np.all(np.isfinite(matrix)):
        count = int(np.sum(~np.isfinite(matrix)))
        raise InvalidParameter(
            name, f"{count} entries", "must be finite", "remove NaN and infinity"
        )
    gap, size = float(np.max(np.abs(matrix - matrix.T))), float(np.max(np.abs(matrix)))
    rule = f"must be symmetric; entries differ from their mirror image by up to {gap:.3g}"
    if gap > SYMMETRY * size:
        raise InvalidParameter(name, f"shape {matrix.shape}", rule, "use (C + C.T)/2")
    return np.asarray((matrix + matrix.T) / 2)
