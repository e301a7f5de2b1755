"""The multiple c* of the target of least test error: what infinitely many samples teach (theory note, section 7)."""

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
import scipy

from numeric.maths.domain import OutsideDomain
from numeric.maths.replicates import Estimate
from numeric.model import float64 as generated
from numeric.problem.labels import Labels

_FACTORS = (
    1e-3,
    2.0,
)  # range of c* beta/beta0: 1 without noise, and less with noise, which flattens E[y | X]
_TOLERANCE = 1e-6  # of the logarithm of a sampled minimum: the least error is then known to the square of that


class BestMultiple(NamedTuple):
    """The multiple c* of the target of least test error, and that error (unit loss per sample)."""

    c: float
    test_error: float


class MeanLosses(Hashable, Protocol):
    """Mean losses per sample of fresh labels where all indices are Gaussian."""

    @property
    def labels(self) -> Labels:
        """Parameters of the labels."""
        ...

    def test_error(self, m: float, q: float) -> Estimate:
        """Return the mean loss of a student of overlaps m and q (eigenvalue^2), with its error.

        Raises:
            OutsideDomain: m^2 > q rho, beyond rounding, or the average is not resolved.
        """
        ...

    def fitted_error(self) -> Estimate:
        """Return the mean loss where the visible index is that of the label: 0 for a square loss, entropy for cross-entropy."""
        ...

    def multiple_slope(self, c: float) -> float:
        """Return the derivative in c of the test error of c S0."""
        ...

    def least_test_error(self) -> float:
        """Return the mean loss of the best prediction, which the label noise leaves to any student.

        Raises:
            InvalidParameter: the labels are sampled with noise of their own.
        """
        ...

    def mismatch(self, c: float) -> float:
        """Return the difference between the test error of c S0 and the least one."""
        ...


@lru_cache(maxsize=64)
def best_multiple(losses: MeanLosses) -> BestMultiple:
    """Return the multiple of the target of least mean loss.

    Raises:
        OutsideDomain: as `root_of_slope`, or an average is not resolved.
    """
    labels = losses.labels
    c = root_of_slope(losses.multiple_slope, labels.beta, labels.beta0)
    m, q = map(float, generated.multiple_overlaps(c, labels.q0))
    return BestMultiple(c, losses.test_error(m, q).value)


def root_of_slope(slope: Callable[[float], float], beta: float, beta0: float) -> float:
    """c* where the derivative of the test error of c S0 vanishes.

    Raises:
        OutsideDomain: the slope does not change its sign in the range searched.
    """
    low, high = (factor * beta0 / beta for factor in _FACTORS)
    if slope(low) >= 0 or slope(high) <= 0:
        raise _outside(low, high)
    return float(scipy.optimize.brentq(slope, low, high, xtol=1e-15, rtol=1e-14))


def minimise_sampled_error(error: Callable[[float], float], beta: float, beta0: float) -> float:
    """c* by minimisation of a sampled test error of c S0, whose differences scatter less than its slope.

    Raises:
        OutsideDomain: the minimum is at an end of the range searched.
    """
    low, high = np.log(_FACTORS) + np.log(beta0 / beta)
    found = scipy.optimize.minimize_scalar(
        lambda log: error(float(np.exp(log))),
        bounds=(low, high),
        method="bounded",
        options={"xatol": _TOLERANCE},
    )
    if min(found.x - low, high - found.x) < 0.01:
        raise _outside(*np.exp([low, high]))
    return float(np.exp(found.x))


def _outside(low: float, high: float) -> OutsideDomain:
    return OutsideDomain(f"no best multiple of the target between {low:g} and {high:g}")
