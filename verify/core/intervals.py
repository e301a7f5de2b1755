"""Confidence intervals from the scatter of few runs: bootstrap quantiles widened to Student's
interval, and pooled means.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy

from numeric.laws.law import Array

STANDARD_ERRORS = 1.96  #: standard errors in the half-width of an interval of 95 %
INTERVAL_PROBABILITY = 0.95
_LEAST_ERROR = 1e-6  # relative to the largest error of a weighted mean
DRAWS = 4000  #: bootstrap draws: the ends of an interval scatter by 2 % of its width


class Interval(NamedTuple):
    """Estimate with the ends of its interval. A format string applies to all three numbers."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Return half of the distance between the ends."""
        return (self.high - self.low) / 2

    def shifted(self, by: float) -> Interval:
        """Return the interval of the value plus a known number."""
        return Interval(self.value + by, self.low + by, self.high + by)

    def widened(self, by: float) -> Interval:
        """Return the estimate with both ends moved outwards by an additional error."""
        return Interval(self.value, self.low - by, self.high + by)

    def over(self, known: float) -> Interval:
        """Return the interval of the value divided by a known positive number."""
        return Interval(*(end / known for end in (self.value, self.low, self.high)))

    @property
    def bars(self) -> list[list[float]]:
        """Return the distances of the ends from the value, shape (2, 1), as matplotlib expects."""
        return [[self.value - self.low], [self.high - self.value]]

    def z(self, value: float) -> float:
        """Return the estimate minus `value` in standard errors, for an interval of 95 %."""
        return quotient(self.value - value, self.half_width) * STANDARD_ERRORS

    def __contains__(self, value: object) -> bool:
        """Return whether a number lies between the ends."""
        return isinstance(value, int | float) and bool(self.low <= value <= self.high)

    def __format__(self, form: str) -> str:
        return f"{self.value:{form}} [{self.low:{form}}, {self.high:{form}}]"


def quotient(residual: float, scale: float) -> float:
    """Return residual / scale: 0 if the residual vanishes, infinite if only the scale vanishes.

    Where nothing is learned, training and theory are both exactly 0, without scatter.

    Args:
        residual: difference of two values.
        scale: standard error or size of the values, not negative; NaN stays NaN.
    """
    if math.isnan(scale) or math.isnan(residual):
        return math.nan
    if residual == 0:
        return 0.0
    return residual / scale if scale else math.copysign(math.inf, residual)


def precisions(errors: Sequence[float] | Array) -> Array:
    """Return weights proportional to 1/error^2, finite also if errors vanish.

    Errors below 1e-6 of the largest count as this; all weights are equal if all errors are zero.

    Args:
        errors: standard errors, shape (values,).
    """
    known = np.asarray(errors, dtype=float)
    largest = float(np.max(known))
    return np.maximum(known / largest, _LEAST_ERROR) ** -2.0 if largest else np.ones_like(known)


def mean_with_error(values: Sequence[float] | Array) -> tuple[float, float]:
    """Return the mean of independent values and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / math.sqrt(len(values)))


def bootstrap_means(values: Array, rng: np.random.Generator, draws: int = DRAWS) -> Array:
    """Return the means of bootstrap samples of whole runs, shape (draws, ...).

    Args:
        values: shape (runs, ...).
        rng: source of the draws.
        draws: number of bootstrap samples.
    """
    return np.asarray(values[rng.integers(len(values), size=(draws, len(values)))].mean(axis=1))


def student_factor(runs: int, level: float) -> float:
    """Return the width of Student's interval over that of the bootstrap interval of few runs.

    The bootstrap lacks a degree of freedom and the heavy tails: for five runs its interval has 60 %
    of the right width.

    Args:
        runs: number of runs.
        level: confidence level.
    """
    normal = float(scipy.stats.norm.ppf((1 + level) / 2))
    return math.sqrt(runs / (runs - 1)) * student_errors(runs, level) / normal


def student_errors(runs: int, level: float) -> float:
    """Return the half-width of Student's interval of a mean in its standard errors.

    Args:
        runs: number of runs.
        level: confidence level.
    """
    return float(scipy.stats.t.ppf((1 + level) / 2, runs - 1))


def student_interval(value: float, drawn: Array, runs: int, level: float) -> Interval:
    """Return the bootstrap interval around a value, widened to Student's interval of few runs.

    Args:
        value: the estimate.
        drawn: bootstrap estimates, shape (draws,).
        runs: number of runs.
        level: confidence level.
    """
    wider = student_factor(runs, level)
    return Interval(
        value, *(value + (end - value) * wider for end in quantile_interval(drawn, level))
    )


def quantile_interval(drawn: Array, level: float) -> tuple[float, float]:
    """Return the quantiles between which the share `level` lies, with tails of equal weight.

    Args:
        drawn: values, shape (draws,).
        level: confidence level.
    """
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def pooled(intervals: Sequence[Interval]) -> Interval:
    """Return the mean of independent estimates of one number, weighted by the inverse squared
    half-width.
    """
    if len(intervals) == 1:
        return intervals[0]
    halves = np.array([interval.half_width for interval in intervals])
    share = precisions(halves)
    share /= share.sum()
    value = float(share @ [interval.value for interval in intervals])
    half = float(np.sqrt(share**2 @ halves**2))
    return Interval(value, value - half, value + half)
