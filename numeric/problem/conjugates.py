"""Conjugates of the order parameters, by name, and as the vector of logarithms that solvers iterate."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from numeric.problem.problem import Parametrisation, Problem

Vector = NDArray[np.float64]


class AntisymmetricConjugates(NamedTuple):
    """Those of the antisymmetric part of a general matrix, which meets no target."""

    qh: float  #: loss^2/eigenvalue^2
    Vh: float  #: loss/eigenvalue


class Conjugates(NamedTuple):
    """Conjugates of m, q and V; of the antisymmetric part where S is general; strengths where leading features are kept exactly.

    `strengths` are the eigenvalues that the estimator sees in place of those of the leading features, ascending. All are positive.
    """

    mh: float  #: loss/eigenvalue^2
    qh: float  #: loss^2/eigenvalue^2
    Vh: float  #: loss/eigenvalue^2
    antisymmetric: AntisymmetricConjugates | None = None
    strengths: tuple[float, ...] = ()

    def pack(self) -> Vector:
        """Logarithms, shape (unknowns,), or (replicates, unknowns) of columns; not a number where one is not positive."""
        values = np.stack(
            [self.mh, self.qh, self.Vh, *(self.antisymmetric or ()), *self.strengths], axis=-1
        )
        return np.log(np.where(values > 0, values, np.nan))

    @classmethod
    def unpack(cls, logarithms: Vector, problem: Problem) -> Self:
        """The conjugates of a problem from their logarithms, shape (unknowns,)."""
        mh, qh, Vh, *others = np.exp(
            logarithms
        )  # of NumPy: what overflows becomes infinite, and is refused below
        if problem.parametrisation is Parametrisation.GENERAL:
            return cls(mh, qh, Vh, antisymmetric=AntisymmetricConjugates(*others))
        return cls(mh, qh, Vh, strengths=tuple(others))
