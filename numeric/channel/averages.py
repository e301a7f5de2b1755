"""Averages over the output channel that the saddle-point equations ask for."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numeric.maths.domain import OutsideDomain

Array = NDArray[np.float64]


class Averages(NamedTuple):
    """Averages per sample, each of shape (replicates,): M and its derivatives (theory note, section 3), and the errors.

    `antisymmetric` derivatives are those by the order parameters of the antisymmetric part of a general matrix; `strengths`,
    of shape (replicates, features), are the eigenvalues that the estimator sees in place of leading features; with these m and q
    are of the rest.
    """

    M: Array
    dM_dm: Array
    dM_dq: Array
    dM_dV: Array
    train_error: Array
    test_error: Array
    dM_dq_antisymmetric: Array
    dM_dV_antisymmetric: Array
    strengths: Array

    def mean(self) -> "Averages":
        """The same with one replicate, the mean of all."""
        return Averages(*(np.mean(value, axis=0, keepdims=True) for value in self))

    def each(self) -> Iterator["Averages"]:
        """The replicates one by one, each of shape (1,)."""
        return (Averages(*(value[k : k + 1] for value in self)) for k in range(len(self.M)))


MAX_OVERLAP = (
    1e150  #: of an overlap, whose square is still a number: an iteration that runs away passes it
)


def require_pair(m: float, q: float, V: float, rho: float) -> None:
    """Raises OutsideDomain for overlaps that no student that learned has, or whose squares are no numbers."""
    if not (0 < V < MAX_OVERLAP and abs(m) < MAX_OVERLAP and q - m**2 / rho > 0):
        rule = f"need 0 < V < {MAX_OVERLAP:g} and q > m^2/rho"
        raise OutsideDomain(f"{rule}, got m = {m!r}, q = {q!r}, V = {V!r}, rho = {rho!r}")


def one_replicate(*values: float) -> Averages:
    """Averages (M, dM_dm, dM_dq, dM_dV, train, test) of a deterministic rule, without antisymmetric part and leading features."""
    M, dM_dm, dM_dq, dM_dV, train, test = (np.array([value]) for value in values)
    return Averages(M, dM_dm, dM_dq, dM_dV, train, test, np.zeros(1), np.zeros(1), np.zeros((1, 0)))
