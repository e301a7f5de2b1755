"""Conjugates of the order parameters: named values, and the vector of logarithms for solvers."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from numeric.problem.problem import Parametrisation, Problem

Vector = NDArray[np.float64]


class AntisymmetricConjugates(NamedTuple):
    """Conjugates of the antisymmetric part of a general matrix; the target has no such part."""

    qh: float  #: loss^2/eigenvalue^2
    Vh: float  #: loss/eigenvalue


class Conjugates(NamedTuple):
    """Conjugates of the order parameters m, q and V; all are positive.

    Attributes:
        antisymmetric: conjugates of the antisymmetric part, if S is a general matrix.
        strengths: effective eigenvalues of leading features treated exactly, ascending.
    """

    mh: float  #: loss/eigenvalue^2
    qh: float  #: loss^2/eigenvalue^2
    Vh: float  #: loss/eigenvalue^2
    antisymmetric: AntisymmetricConjugates | None = None
    strengths: tuple[float, ...] = ()

    def pack(self) -> Vector:
        """Return the logarithms, NaN where a conjugate is not positive.

        The shape is (unknowns,), or (replicates, unknowns) if the conjugates are columns.
        """
        values = np.stack(
            [self.mh, self.qh, self.Vh, *(self.antisymmetric or ()), *self.strengths], axis=-1
        )
        return np.log(np.where(values > 0, values, np.nan))

    @classmethod
    def unpack(cls, logarithms: Vector, problem: Problem) -> Self:
        """Return the conjugates with the given logarithms.

        Args:
            logarithms: as returned by `pack`, shape (unknowns,).
            problem: the problem that determines the kind of the unknowns.
        """
        mh, qh, Vh, *others = np.exp(logarithms)  # overflow gives inf, which the caller rejects
        if problem.parametrisation is Parametrisation.GENERAL:
            return cls(mh, qh, Vh, antisymmetric=AntisymmetricConjugates(*others))
        return cls(mh, qh, Vh, strengths=tuple(others))
