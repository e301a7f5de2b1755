"""Intervals from the scatter between few runs: bootstrap quantiles as wide as Student's, and means
of several estimates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy

from numeric.laws.law import Array

STANDARD_ERRORS = 1.96  #: in the half-width of an interval of 95 %
INTERVAL_PROBABILITY = 0.95
DRAWS = (
    4000  #: of the bootstrap: the ends of its intervals then scatter by 2 per cent of their width
)


class Interval(NamedTuple):
    """An estimate with the ends of its interval; in a format string all three, each in that
    format.
    """

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of the distance of the ends."""
        return (self.high - self.low) / 2

    def shifted(self, by: float) -> Interval:
        """The interval of the value plus a known number."""
        return Interval(self.value + by, self.low + by, self.high + by)

    def widened(self, by: float) -> Interval:
        """Return the estimate with both ends moved outwards by an additional error."""
        return Interval(self.value, self.low - by, self.high + by)

    def over(self, known: float) -> Interval:
        """The interval of the value over a known positive number."""
        return Interval(*(end / known for end in (self.value, self.low, self.high)))

    @property
    def bars(self) -> list[list[float]]:
        """Distances of the ends from the value, shape (2, 1), as matplotlib takes them."""
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
    """Means over runs, `values` of shape (runs, ...), drawn with replacement as a whole, shape
    (draws, ...).
    """
    return np.asarray(values[rng.integers(len(values), size=(draws, len(values)))].mean(axis=1))


def student_factor(runs: int, level: float) -> float:
    """Width of Student's interval of so few runs over that of their bootstrap.

    Resampling alone lacks a degree of freedom and the heavy tails: five runs would be given 60 per
    cent of their interval.
    """
    tail = (1 + level) / 2
    return math.sqrt(runs / (runs - 1)) * float(
        scipy.stats.t.ppf(tail, runs - 1) / scipy.stats.norm.ppf(tail)
    )


def student_interval(value: float, drawn: Array, runs: int, level: float) -> Interval:
    """Bootstrap quantiles about a value, as wide as Student's interval of so few runs."""
    wider = student_factor(runs, level)
    return Interval(
        value, *(value + (end - value) * wider for end in quantile_interval(drawn, level))
    )


def quantile_interval(drawn: Array, level: float) -> tuple[float, float]:
    """Between which the share `level` lies, tails of equal weight."""
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def pooled(intervals: Sequence[Interval]) -> Interval:
    """Mean of independent estimates of one number, each by its inverse squared half-width; of one,
    itself.
    """
    if len(intervals) == 1:
        return intervals[0]
    weights = np.array([interval.half_width for interval in intervals]) ** -2.0
    value = float(weights @ [interval.value for interval in intervals] / weights.sum())
    half = float(weights.sum() ** -0.5)
    return Interval(value, value - half, value + half)
