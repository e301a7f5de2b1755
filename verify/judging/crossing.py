"""Where a quantity that vanishes at a threshold crosses zero: per size, with a bootstrap interval, extrapolated in d.

Near a threshold the square roots of the training loss (above interpolation) and of the estimation error (below recovery) vanish
linearly in the sample ratio. At each size alpha is fitted as a straight line in that root, whose value at zero is the crossing; the
crossings at several d are extrapolated as a + c/d. The same fit applied to the theory's curve at the same sample ratios misses
the threshold by the bend of the curve over the window; that miss is subtracted, and reported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

from numeric.laws.law import Array

RESAMPLES = 4000  #: ends of intervals then scatter by 2 per cent of their width
INTERVAL_PROBABILITY = 0.95


@dataclass(frozen=True)
class SizePoints:
    """Values of the vanishing root at one size, shape (runs, sample ratios): those of one run share their samples."""

    dim: int
    alphas: Array
    values: Array

    def means(self) -> Array:
        """Mean over runs at each sample ratio."""
        return np.asarray(self.values.mean(axis=0))

    def errors(self) -> Array:
        """Standard error of each mean."""
        return np.asarray(self.values.std(axis=0, ddof=1) / len(self.values) ** 0.5)


@dataclass(frozen=True)
class Interval:
    """An estimate with the ends of its bootstrap interval."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of the distance of the ends."""
        return (self.high - self.low) / 2

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Crossing:
    """Crossings at each size, and the one extrapolated to infinite d, the bias of the fit subtracted from all.

    Intervals have probability INTERVAL_PROBABILITY, `judged` that at which all intervals of a study hold together.
    """

    by_size: dict[int, Interval]
    infinite: Interval
    judged: Interval
    fit_bias: float


def crossing_of(alphas: Array, roots: Array, weights: Array | float = 1.0) -> Array:
    """Alpha at which the root vanishes: the constant of a straight line in the root, by least squares along the last axis.

    `weights` are inverse errors of alpha. How the curves bend over the window is taken from the theory's own bend.
    """
    shares = np.broadcast_to(np.square(weights), roots.shape[-1:])
    root, alpha = (np.average(values, -1, shares)[..., None] for values in (roots, alphas))
    slope = np.sum(shares * (roots - root) * (alphas - alpha), -1) / np.sum(shares * (roots - root) ** 2, -1)
    return alpha[..., 0] - slope * root[..., 0]


def find_crossing(
    points: Sequence[SizePoints], theory: tuple[Array, Array], threshold: float, seed: int, intervals: int = 1
) -> Crossing:
    """Estimate the crossing from runs at two sizes or more; `theory` holds (alphas, roots) at infinite d.

    The intervals resample the runs at each size; `intervals` is the number of those that are judged together.
    """
    rng = np.random.default_rng(seed)
    fit_bias = float(crossing_of(*theory)) - threshold
    values = np.array([float(crossing_of(item.alphas, item.means())) for item in points]) - fit_bias
    drawn = np.stack([_drawn(item, rng) for item in points], axis=-1) - fit_bias
    runs = [len(item.values) for item in points]
    inverse, errors = np.array([1 / item.dim for item in points]), drawn.std(axis=0)

    def limit(level: float) -> Interval:
        wide = values + (drawn - values) * [_widening(count, level) for count in runs]
        return _interval(float(crossing_of(values, inverse, 1 / errors)), crossing_of(wide, inverse, 1 / errors), level)

    by_size = {
        item.dim: _interval(
            value, value + (column - value) * _widening(count, INTERVAL_PROBABILITY), INTERVAL_PROBABILITY
        )
        for item, value, column, count in zip(points, values, drawn.T, runs, strict=True)
    }
    together = 1 - (1 - INTERVAL_PROBABILITY) / intervals
    return Crossing(by_size, limit(INTERVAL_PROBABILITY), limit(together), fit_bias)


def pooled_ratio(ratios: Sequence[Interval], intervals: int = 1) -> Interval:
    """Mean of independent ratios with intervals of 95 %; its own is as wide as `intervals` such means judged together need it."""
    shares = np.array([ratio.half_width for ratio in ratios]) ** -2.0
    value = float(shares @ [ratio.value for ratio in ratios] / shares.sum())
    tails = (norm.ppf(1 - (1 - INTERVAL_PROBABILITY) / 2 / count) for count in (intervals, 1))
    half = float(shares.sum() ** -0.5 * next(tails) / next(tails))
    return Interval(value, value - half, value + half)


def _drawn(item: SizePoints, rng: np.random.Generator) -> Array:
    """Crossings of as many runs drawn from these with replacement, shape (RESAMPLES,)."""
    count = len(item.values)
    return crossing_of(item.alphas, item.values[rng.integers(count, size=(RESAMPLES, count))].mean(axis=1))


def _widening(runs: int, level: float) -> float:
    """What makes a bootstrap interval of so few runs as wide as Student's, which alone has its degree of freedom and heavy tails."""
    tail = (1 + level) / 2
    return math.sqrt(runs / (runs - 1)) * float(student.ppf(tail, runs - 1) / norm.ppf(tail))


def _interval(value: float, drawn: Array, level: float) -> Interval:
    """Of an estimate and of resampled ones."""
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high))
