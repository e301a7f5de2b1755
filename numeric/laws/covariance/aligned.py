"""Target of tokens with a covariance that has the eigenvectors of the target (case a of the theory
note, section 13).
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.covariance.target import (
    Entries,
    ListedCovariance,
    MovedEigenvalues,
    a_float,
    diagonal_entries,
    inverse_square,
    normalised,
    numbers,
)
from numeric.laws.law import Array
from numeric.maths.balls import ball
from numeric.maths.domain import require
from numeric.model import float64 as generated
from numeric.proven_laws.finite import FiniteLaw, exact_list
from numeric.proven_laws.subordinated import NullSpace


@dataclass(frozen=True)
class AlignedCovariance(ListedCovariance):
    """Eigenvalues of the target and of the covariance of the tokens on common eigenvectors.

    Args:
        eigenvalues: eigenvalues s_k of S0, not negative and not all zero.
        covariance: eigenvalues c_k of C, positive, one for each of S0; scaled to mean 1, so that
            tr C = d.
        weights: one for each, positive, with sum one; by default all are equal.

    Raises:
        InvalidParameter: an argument is outside its domain.

    Source: theory note, section 13.

    >>> from numeric import AlignedCovariance, Problem, solve
    >>> target = AlignedCovariance([2.0, 1.0, 0.0], covariance=[1.6, 1.0, 0.4])
    >>> solution = solve(Problem(alpha=1, target=target, lambda_=0.1, noise=0.2))
    >>> solution.status.name, round(target.q0, 3), round(solution.m, 4)
    ('CONVERGED', 3.747, 2.4714)
    """

    eigenvalues: tuple[Any, ...]
    covariance: tuple[Any, ...]
    weights: tuple[Any, ...] = ()

    #: s_k, c_k of mean 1 and weights as exact numbers; a float is its binary value
    exact_parameters: tuple[tuple[Fraction, ...], ...] = field(init=False, compare=False)
    #: arguments by name, with a float among their numbers or None
    stated_floats: tuple[tuple[str, float | None], ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        names = ("eigenvalues", "covariance", "weights")
        object.__setattr__(
            self, "stated_floats", tuple((n, a_float(getattr(self, n))) for n in names)
        )
        values = numbers("eigenvalues", self.eigenvalues)
        covariance = numbers("covariance", self.covariance)
        if len(values) != len(covariance):
            rule = f"must be as many as the eigenvalues, {len(values)}"
            raise InvalidParameter("covariance", len(covariance), rule, "give one for each")
        for value in values:
            rule = "must not be negative"
            require(value >= 0, "eigenvalues", float(value), rule, "S0 is positive")
        rule = "must not all be zero"
        require(any(values), "eigenvalues", f"{len(values)} zeros", rule, "S0 needs a signal")
        covariance, weights = normalised(covariance, numbers("weights", self.weights))
        exact = (values, covariance, weights)
        object.__setattr__(self, "exact_parameters", exact)
        for name, given in zip(names, exact, strict=True):
            object.__setattr__(self, name, tuple(map(float, given)))

    @cached_property
    def arrays(self) -> tuple[Array, Array, Array]:
        """Eigenvalues of S0, those of C and weights, each of shape (N,)."""
        return np.array(self.eigenvalues), np.array(self.covariance), np.array(self.weights)

    @property
    def covariance_range(self) -> tuple[float, float]:
        """Least and largest eigenvalue of C."""
        return min(self.covariance), max(self.covariance)

    def exact(self) -> FiniteLaw:
        """Return the law of the whitened target in ball arithmetic."""
        values, covariance, weights = self.exact_parameters
        return exact_list([s * c for s, c in zip(values, covariance, strict=True)], weights)

    def null_space(self) -> NullSpace:
        """Return the inverse covariance on the null space of the target."""
        values, covariance, weights = self.exact_parameters
        null = [(c, w) for s, c, w in zip(values, covariance, weights, strict=True) if s == 0]
        law = FiniteLaw(
            lambda: [1 / ball(c) - 1 for c, _ in null], [w for _, w in null], Fraction(0)
        )
        return NullSpace(law, inverse_square(covariance, weights))

    def scaled(self, factor: float) -> Self:
        """Return the law of `factor` times the target."""
        values, covariance, weights = self.exact_parameters
        return type(self)(tuple(Fraction(factor) * s for s in values), covariance, weights)

    @property
    def square(self) -> float:
        """Mean square of the eigenvalues of C, tr C^2/d."""
        _, c, w = self.arrays
        return float(w @ c**2)

    @property
    def norm_overlap(self) -> float:
        """Overlap of the whitened target with C, tr(C S0)/tr(C^2), eigenvalue."""
        s, c, w = self.arrays
        return float(w @ (s * c**2)) / self.square

    @cached_property
    def entries(self) -> Entries:
        """Entries of the whitened target, which is diagonal."""
        s, c, w = self.arrays
        return diagonal_entries(c, w, 0.0, w * (s * c) ** 2)

    def moved(self, b: float, shift: float) -> MovedEigenvalues:
        """Return the eigenvalues of the law; a multiple of C is a shift of S0.

        Args:
            b: coefficient of C^{-1}, eigenvalue.
            shift: coefficient of C, eigenvalue.
        """
        s, c, w = self.arrays
        return MovedEigenvalues(
            np.asarray(generated.aligned_eigenvalue(s + shift, c, b)), 1 / c, c, w
        )

    def __repr__(self) -> str:
        """Return the number of directions and the range of the covariance."""
        low, high = self.covariance_range
        count = len(self.eigenvalues)
        return f"AlignedCovariance({count} directions, covariance {low:.4g} to {high:.4g})"
