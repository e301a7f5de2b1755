"""Averages over the output channel that the saddle-point equations need."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numeric.maths.domain import OutsideDomain

Array = NDArray[np.float64]
#: Largest overlap whose square is finite: an iteration that diverges exceeds it.
MAX_OVERLAP = 1e150


class Averages(NamedTuple):
    """Averages per sample, each of shape (replicates,), and errors (theory note, section 3).

    M is the mean Moreau envelope; dM_dm, dM_dq and dM_dV are its derivatives. The derivatives
    `..._antisymmetric` refer to the antisymmetric part of a general matrix. `strengths`, shape
    (replicates, features), are the effective eigenvalues of the leading features in the
    estimator; if there are any, m and q refer to the remaining spectrum.
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
        """Return the mean over the replicates, as one replicate."""
        return Averages(*(np.mean(value, axis=0, keepdims=True) for value in self))

    def each(self) -> Iterator["Averages"]:
        """Return an iterator over the replicates, each of shape (1,)."""
        return (Averages(*(value[k : k + 1] for value in self)) for k in range(len(self.M)))


def require_pair(m: float, q: float, V: float, rho: float) -> None:
    """Check that the overlaps belong to a trained student and do not overflow.

    Args:
        m: overlap with the target, eigenvalue^2.
        q: second moment of the student, eigenvalue^2.
        V: response, index^2/loss.
        rho: second moment of the target with its label noise, eigenvalue^2.

    Raises:
        OutsideDomain: the overlaps are not valid.
    """
    if not (0 < V < MAX_OVERLAP and abs(m) < MAX_OVERLAP and q - m**2 / rho > 0):
        rule = f"need 0 < V < {MAX_OVERLAP:g} and q > m^2/rho"
        raise OutsideDomain(f"{rule}, got m = {m!r}, q = {q!r}, V = {V!r}, rho = {rho!r}")


def symmetric_averages(*values: ArrayLike) -> Averages:
    """Return averages of a symmetric map without leading features.

    Args:
        values: M, dM_dm, dM_dq, dM_dV, training and test error, each a number (one replicate)
            or of shape (replicates,).
    """
    M, dM_dm, dM_dq, dM_dV, train, test = map(np.atleast_1d, values)
    zero = np.zeros_like(M)
    return Averages(M, dM_dm, dM_dq, dM_dV, train, test, zero, zero, np.zeros((len(M), 0)))
