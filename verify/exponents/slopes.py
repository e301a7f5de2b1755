"""Slopes of measured errors along n and what they tend to as d grows, with intervals from the scatter between runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

LEVEL = 0.95
_DRAWS = 4000  #: of the bootstrap: the ends of its intervals then scatter by 2 per cent of their width


class SlopeInterval(NamedTuple):
    """A value and the ends of its interval."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of the distance of the ends."""
        return (self.high - self.low) / 2

    def shifted(self, by: float) -> SlopeInterval:
        """The interval of the value plus a known number."""
        return SlopeInterval(self.value + by, self.low + by, self.high + by)

    def widened(self, by: float) -> SlopeInterval:
        """With both ends moved out by an error of another kind."""
        return SlopeInterval(self.value, self.low - by, self.high + by)

    def contains(self, value: float) -> bool:
        """Whether a value lies between the ends."""
        return bool(self.low <= value <= self.high)


def log_slope(samples: Sequence[int], errors: np.ndarray) -> np.ndarray:
    """Least-squares slopes of log(error) against log(n), one for each row of `errors` (..., points)."""
    x = np.log(np.asarray(samples, float))
    centred = x - x.mean()
    return np.asarray(np.log(errors) @ centred / (centred @ centred))


def trained_slope(samples: Sequence[int], errors: np.ndarray, rng: np.random.Generator, level: float) -> SlopeInterval:
    """Slope of the mean errors of runs, `errors` of shape (runs, points), whole runs drawn: they share data along n."""
    value = float(log_slope(samples, errors.mean(axis=0)))
    return student_interval(value, log_slope(samples, _means_drawn(errors, rng)), len(errors), level)


def trained_level(theory: Sequence[float], errors: np.ndarray, rng: np.random.Generator, level: float) -> SlopeInterval:
    """Mean over the points of log(mean error/theory), whole runs drawn."""
    expected = np.log(np.asarray(theory))
    value = float((np.log(errors.mean(axis=0)) - expected).mean())
    drawn = (np.log(_means_drawn(errors, rng)) - expected).mean(axis=1)
    return student_interval(value, drawn, len(errors), level)


def _means_drawn(errors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Means over runs drawn with replacement, shape (_DRAWS, points)."""
    return np.asarray(errors[rng.integers(len(errors), size=(_DRAWS, len(errors)))].mean(axis=1))


def student_interval(value: float, drawn: np.ndarray, runs: int, level: float) -> SlopeInterval:
    """Bootstrap quantiles about a value, as wide as Student's interval of so few runs.

    Resampling alone lacks a degree of freedom and the heavy tails: five runs would be given 60 per cent of their interval.
    """
    tail = (1 + level) / 2
    wider = math.sqrt(runs / (runs - 1)) * student.ppf(tail, runs - 1) / norm.ppf(tail)
    low, high = np.quantile(drawn, [1 - tail, tail])
    return SlopeInterval(value, *(value + (float(end) - value) * float(wider) for end in (low, high)))


def pooled(intervals: Sequence[SlopeInterval]) -> SlopeInterval:
    """Mean of independent estimates of one number, each by its inverse squared half-width."""
    weights = np.array([interval.half_width for interval in intervals]) ** -2.0
    value = float(weights @ [interval.value for interval in intervals] / weights.sum())
    half = float(weights.sum() ** -0.5)
    return SlopeInterval(value, value - half, value + half)


def limit_weights(dims: Sequence[int], power: float, half_widths: Sequence[float]) -> np.ndarray:
    """Weights w with s = sum_k w_k s_k the limit of the weighted least-squares fit s_k = s + c d_k^-power."""
    design = np.stack([np.ones(len(dims)), np.asarray(dims, float) ** -power], axis=1)
    importance = np.asarray(half_widths, float) ** -2.0
    return np.asarray(np.linalg.solve((design.T * importance) @ design, design.T * importance)[0])


def limit_of_slopes(
    dims: Sequence[int], slopes: Sequence[SlopeInterval], power: float, theory: Sequence[float], exponent: float
) -> SlopeInterval:
    """Limit of trained slopes at several sizes for a slowest correction d^-power, without their theory.

    What the same fit makes of the theory's slopes at the same sizes misses the exponent by what corrections beyond the slowest
    add: the interval is widened by that.
    """
    half_widths = [slope.half_width for slope in slopes]
    weights = limit_weights(dims, power, half_widths)
    value = float(weights @ [slope.value for slope in slopes])
    scatter = math.sqrt(float(np.square(weights * half_widths).sum()))
    missed = abs(float(weights @ np.asarray(theory)) - exponent)
    return SlopeInterval(value, value - scatter, value + scatter).widened(missed)
