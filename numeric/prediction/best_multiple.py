"""The multiple c* of the target of least test error: what infinitely many samples teach (theory note, section 7)."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy

from numeric.maths.domain import OutsideDomain

_FACTORS = (1e-3, 2.0)  # range of c* beta/beta0: 1 without noise, and less with noise, which flattens E[y | X]
_TOLERANCE = 1e-6  # of the logarithm of a sampled minimum: the least error is then known to the square of that


class BestMultiple(NamedTuple):
    """The multiple c* of the target of least test error, and that error (unit loss per sample)."""

    c: float
    test_error: float


def root_of_slope(slope: Callable[[float], float], beta: float, beta0: float) -> float:
    """c* where the derivative of the test error of c S0 vanishes.

    Raises:
        OutsideDomain: the slope does not change its sign in the range searched.
    """
    low, high = (factor * beta0 / beta for factor in _FACTORS)
    if slope(low) >= 0 or slope(high) <= 0:
        raise _outside(low, high)
    return float(scipy.optimize.brentq(slope, low, high, xtol=1e-15, rtol=1e-14))


def least_point(error: Callable[[float], float], beta: float, beta0: float) -> float:
    """c* by minimisation of a sampled test error of c S0, whose differences scatter less than its slope.

    Raises:
        OutsideDomain: the minimum is at an end of the range searched.
    """
    low, high = np.log(_FACTORS) + np.log(beta0 / beta)
    found = scipy.optimize.minimize_scalar(
        lambda log: error(float(np.exp(log))), bounds=(low, high), method="bounded", options={"xatol": _TOLERANCE}
    )
    if min(found.x - low, high - found.x) < 0.01:
        raise _outside(*np.exp([low, high]))
    return float(np.exp(found.x))


def _outside(low: float, high: float) -> OutsideDomain:
    return OutsideDomain(f"no best multiple of the target between {low:g} and {high:g}")
