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
        return (self.value - value) / self.half_width * STANDARD_ERRORS

    def __contains__(self, value: object) -> bool:
        """Return whether a number lies between the ends."""
        return isinstance(value, int | float) and bool(self.low <= value <= self.high)

    def __format__(self, form: str) -> str:
        return f"{self.value:{form}} [{self.low:{form}}, {self.high:{form}}]"


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
    tail = (1 + level) / 2
    return math.sqrt(runs / (runs - 1)) * float(
        scipy.stats.t.ppf(tail, runs - 1) / scipy.stats.norm.ppf(tail)
    )


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
    weights = np.array([interval.half_width for interval in intervals]) ** -2.0
    value = float(weights @ [interval.value for interval in intervals] / weights.sum())
    half = float(weights.sum() ** -0.5)
    return Interval(value, value - half, value + half)
