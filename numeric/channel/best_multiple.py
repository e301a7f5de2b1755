"""The multiple c* of the target with the least test error (theory note, section 7).

A student learns it from infinitely many samples.
"""

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
import scipy

from numeric.maths.domain import OutsideDomain
from numeric.maths.replicates import Estimate
from numeric.model import float64 as generated
from numeric.problem.labels import Labels

# Range of c* beta/beta0. It is 1 without noise and smaller with noise, which flattens E[y | X].
_FACTORS = (1e-3, 2.0)
# Tolerance of log c at a sampled minimum: the error there is accurate to the square of it.
_TOLERANCE = 1e-6


class BestMultiple(NamedTuple):
    """The multiple c* of the target with the least test error, and that error (unit loss)."""

    c: float
    test_error: float


class MeanLosses(Hashable, Protocol):
    """Mean losses per sample of fresh labels if all indices are Gaussian."""

    @property
    def labels(self) -> Labels:
        """Return the parameters of the labels."""

    def test_error(self, m: float, q: float) -> Estimate:
        """Return the mean loss of a student, with its error.

        Args:
            m: overlap with the target, eigenvalue^2.
            q: second moment of the student, eigenvalue^2.

        Raises:
            OutsideDomain: m^2 > q rho (beyond rounding), or the average is not resolved.
        """

    def fitted_error(self) -> Estimate:
        """Return the mean loss of a student with the visible index of the label.

        It is 0 for a square loss, and the entropy of the label for cross-entropy.
        """

    def multiple_slope(self, c: float) -> float:
        """Return the derivative in c of the test error of c S0."""

    def least_test_error(self) -> float:
        """Return the mean loss of the best prediction, which is due to label noise.

        Raises:
            InvalidParameter: the model adds noise to its labels, and the average is sampled.
        """

    def mismatch(self, c: float) -> float:
        """Return the difference between the test error of c S0 and the least one."""


@lru_cache(maxsize=64)
def best_multiple(losses: MeanLosses) -> BestMultiple:
    """Return the multiple of the target with the least mean loss.

    Raises:
        OutsideDomain: there is no minimum in the range, or an average is not resolved.
    """
    labels = losses.labels
    c = root_of_slope(losses.multiple_slope, labels.beta, labels.beta0)
    m, q = map(float, generated.multiple_overlaps(c, labels.q0))
    return BestMultiple(c, losses.test_error(m, q).value)


def root_of_slope(slope: Callable[[float], float], beta: float, beta0: float) -> float:
    """Return c*, the root of the slope of the test error of c S0.

    Args:
        slope: derivative of the test error in c.
        beta: inverse temperature of the student, 1/index.
        beta0: inverse temperature of the target, 1/index.

    Raises:
        OutsideDomain: the slope does not change its sign in the search range.
    """
    low, high = (factor * beta0 / beta for factor in _FACTORS)
    if slope(low) >= 0 or slope(high) <= 0:
        raise _outside(low, high)
    return float(scipy.optimize.brentq(slope, low, high, xtol=1e-15, rtol=1e-14))


def minimise_sampled_error(error: Callable[[float], float], beta: float, beta0: float) -> float:
    """Return c*, the minimum of a sampled test error of c S0.

    Differences of sampled errors scatter less than their slope.

    Args:
        error: test error of c S0 as a function of c.
        beta: inverse temperature of the student, 1/index.
        beta0: inverse temperature of the target, 1/index.

    Raises:
        OutsideDomain: the minimum is at an end of the search range.
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
