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
    """Conjugates of the order parameters; those of m, q and V are positive.

    Attributes:
        antisymmetric: conjugates of the antisymmetric part, if S is a general matrix.
        strengths: effective eigenvalues of leading features treated exactly, ascending.
        th: conjugate of the overlap t with the covariance (loss/eigenvalue), of either sign; None
            if tokens have Gaussian norms.
    """

    mh: float  #: loss/eigenvalue^2
    qh: float  #: loss^2/eigenvalue^2
    Vh: float  #: loss/eigenvalue^2
    antisymmetric: AntisymmetricConjugates | None = None
    strengths: tuple[float, ...] = ()
    th: float | None = None

    def pack(self) -> Vector:
        """Return the logarithms, NaN where a conjugate is not positive, and th/sqrt(qh) if present.

        The shape is (unknowns,), or (replicates, unknowns) if the conjugates are columns.
        """
        values = np.stack(
            [self.mh, self.qh, self.Vh, *(self.antisymmetric or ()), *self.strengths], axis=-1
        )
        packed = np.log(np.where(values > 0, values, np.nan))
        if self.th is None:
            return packed
        noise = np.sqrt(np.where(values[..., 1] > 0, values[..., 1], np.nan))
        return np.concatenate([packed, (np.asarray(self.th) / noise)[..., None]], axis=-1)

    @classmethod
    def unpack(cls, logarithms: Vector, problem: Problem) -> Self:
        """Return the conjugates with the given logarithms.

        Args:
            logarithms: as returned by `pack`, with th/sqrt(qh) if tokens do not have Gaussian
                norms, shape (unknowns,).
            problem: the problem that determines the kind of the unknowns.
        """
        if problem.has_norms:
            *packed, scaled = logarithms
            mh, qh, Vh = np.exp(packed)
            return cls(mh, qh, Vh, th=scaled * np.sqrt(qh))
        mh, qh, Vh, *others = np.exp(logarithms)  # overflow gives inf, which the caller rejects
        if problem.parametrisation is Parametrisation.GENERAL:
            return cls(mh, qh, Vh, antisymmetric=AntisymmetricConjugates(*others))
        return cls(mh, qh, Vh, strengths=tuple(others))
