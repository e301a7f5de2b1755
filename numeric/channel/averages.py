"""Averages over the output channel that the saddle-point equations need."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class Averages(NamedTuple):
    """Averages per sample, each of shape (replicates,), and errors (theory note, section 3).

    M is the mean Moreau envelope; dM_dm, dM_dq and dM_dV are its derivatives. The derivatives
    `..._antisymmetric` refer to the antisymmetric part of a general matrix. `strengths`, shape
    (replicates, features), are the effective eigenvalues of the leading features in the
    estimator; if there are any, m and q refer to the remaining spectrum. `dM_dt` is the derivative
    in the overlap with the covariance of tokens, 0 if tokens have Gaussian norms.
    `vocabulary_test_error` is the test error on the tokens of the vocabulary, that of new tokens if
    there is none.
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
    dM_dt: Array
    vocabulary_test_error: Array

    def mean(self) -> "Averages":
        """Return the mean over the replicates, as one replicate."""
        return Averages(*(np.mean(value, axis=0, keepdims=True) for value in self))

    def each(self) -> Iterator["Averages"]:
        """Return an iterator over the replicates, each of shape (1,)."""
        return (Averages(*(value[k : k + 1] for value in self)) for k in range(len(self.M)))


def symmetric_averages(*values: ArrayLike) -> Averages:
    """Return averages of a symmetric map without leading features.

    Args:
        values: M, dM_dm, dM_dq, dM_dV, dM_dt, training and test error, each a number (one
            replicate) or of shape (replicates,).
    """
    M, dM_dm, dM_dq, dM_dV, dM_dt, train, test = map(np.atleast_1d, values)
    zero, no_features = np.zeros_like(M), np.zeros((len(M), 0))
    symmetric = M, dM_dm, dM_dq, dM_dV, train, test, zero, zero, no_features, zero + dM_dt
    return Averages(*symmetric, test)
