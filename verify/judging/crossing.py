"""Where a quantity that vanishes at a threshold crosses zero: per size, with a bootstrap interval, extrapolated in d.

Near a threshold the square roots of the training loss (above interpolation) and of the estimation error (below recovery) vanish
linearly in the sample ratio. At each size alpha is fitted as a polynomial in that root, whose value at zero is the crossing; the
crossings at several d are extrapolated as a + c/d. The same fit applied to the theory's curve at the same sample ratios misses
the threshold by the bend of the curve over the window; that miss is subtracted, and reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from numeric.laws.law import Array

DEGREE = 1  #: of alpha in the vanishing root: what the curves bend over the window is taken from the theory's own bend
RESAMPLES = 2000
INTERVAL_PROBABILITY = 0.95


@dataclass(frozen=True)
class SizePoints:
    """Values of the vanishing root at one size: for each sample ratio one array over runs."""

    dim: int
    alphas: Array
    values: tuple[Array, ...]

    def means(self) -> Array:
        """Mean over runs at each sample ratio."""
        return np.array([value.mean() for value in self.values])

    def errors(self) -> Array:
        """Standard error of each mean."""
        return np.array([value.std(ddof=1) / len(value) ** 0.5 for value in self.values])


@dataclass(frozen=True)
class Interval:
    """An estimate with the ends of its bootstrap interval of probability INTERVAL_PROBABILITY."""

    value: float
    low: float
    high: float

    def shifted(self, by: float) -> Interval:
        """The interval moved by a constant."""
        return Interval(self.value + by, self.low + by, self.high + by)

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Crossing:
    """Crossings at each size, and the one extrapolated to infinite d, the bias of the fit subtracted from all."""

    by_size: dict[int, Interval]
    infinite: Interval
    fit_bias: float


def crossing_of(alphas: Array, roots: Array, weights: Array | None = None) -> float:
    """Alpha at which the root vanishes: the constant of a polynomial of degree DEGREE in the root."""
    return float(np.polynomial.polynomial.polyfit(roots, alphas, DEGREE, w=weights)[0])


def find_crossing(points: Sequence[SizePoints], theory: tuple[Array, Array], threshold: float, seed: int) -> Crossing:
    """Estimate the crossing from runs at two sizes or more; `theory` holds (alphas, roots) at infinite d.

    The interval resamples the runs at each size and sample ratio.
    """
    rng = np.random.default_rng(seed)
    fit_bias = crossing_of(*theory) - threshold
    weights = [1 / np.maximum(item.errors(), item.means() * 1e-3) for item in points]
    estimate = [crossing_of(item.alphas, item.means(), weight) for item, weight in zip(points, weights, strict=True)]
    resampled = np.empty((RESAMPLES, len(points)))
    for row in resampled:
        for k, (item, weight) in enumerate(zip(points, weights, strict=True)):
            means = np.array([rng.choice(value, len(value)).mean() for value in item.values])
            row[k] = crossing_of(item.alphas, means, weight)
    spread = resampled.std(axis=0)
    inverse = np.array([1 / item.dim for item in points])

    def at_infinity(crossings: Array) -> float:
        return float(np.polynomial.polynomial.polyfit(inverse, crossings, 1, w=1 / spread)[0])

    infinite = _interval(at_infinity(np.array(estimate)), np.array([at_infinity(row) for row in resampled]))
    by_size = {
        item.dim: _interval(value, column).shifted(-fit_bias)
        for item, value, column in zip(points, estimate, resampled.T, strict=True)
    }
    return Crossing(by_size, infinite.shifted(-fit_bias), fit_bias)


def _interval(value: float, resampled: Array) -> Interval:
    tail = (1 - INTERVAL_PROBABILITY) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail])
    return Interval(value, float(low), float(high))
