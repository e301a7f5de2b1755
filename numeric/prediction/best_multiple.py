"""The multiple c* of the target of least test error: what a student of infinitely many samples learns (theory note, section 7)."""

from functools import lru_cache

from scipy.optimize import brentq

from numeric.maths.domain import OutsideDomain
from numeric.prediction.pair import multiple_slope, prediction_error
from numeric.problem.problem import Problem

FACTORS = (1e-3, 2.0)  # range of c* beta/beta0: 1 without noise, and less with noise, which flattens E[y | X]


def best_multiple(problem: Problem) -> tuple[float, float]:
    """c* and the test error of c* S0, the least over multiples of the target.

    Raises:
        OutsideDomain: the minimum is outside the range searched, or the error cannot be resolved.
    """
    return _best_multiple(problem.q0, problem.rho, problem.beta, problem.beta0, problem.tokens)


@lru_cache(maxsize=64)
def _best_multiple(q0: float, rho: float, beta: float, beta0: float, tokens: int) -> tuple[float, float]:
    scales = (rho, beta, beta0, tokens)
    low, high = (factor * beta0 / beta for factor in FACTORS)
    if multiple_slope(low, q0, *scales) >= 0 or multiple_slope(high, q0, *scales) <= 0:
        raise OutsideDomain(f"no best multiple of the target between {low:g} and {high:g}")
    c = float(brentq(lambda c: multiple_slope(c, q0, *scales), low, high, xtol=1e-15, rtol=1e-14))
    return c, prediction_error(c * q0, c**2 * q0, *scales)[0]
