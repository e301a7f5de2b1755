"""Where a quantity that vanishes at a threshold crosses zero: per size, with a bootstrap interval, extrapolated in d.

Near a threshold the square roots of the training loss (above interpolation) and of the estimation error (below recovery) vanish
linearly in the sample ratio. At each size alpha is fitted as a straight line in that root, whose value at zero is the crossing; the
crossings at several d are extrapolated as a + c/d. The same fit applied to the theory's curve at the same sample ratios misses
the threshold by the bend of the curve over the window; that miss is subtracted, and reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from numeric.laws.law import Array

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


def crossing_of(alphas: Array, roots: Array, weights: Array | float = 1.0) -> Array:
    """Alpha at which the root vanishes: the constant of a straight line in the root, by least squares along the last axis.

    `weights` are inverse errors of alpha. How the curves bend over the window is taken from the theory's own bend.
    """
    shares = np.broadcast_to(np.square(weights), roots.shape[-1:])
    root, alpha = (np.average(values, -1, shares)[..., None] for values in (roots, alphas))
    slope = np.sum(shares * (roots - root) * (alphas - alpha), -1) / np.sum(shares * (roots - root) ** 2, -1)
    return alpha[..., 0] - slope * root[..., 0]


def find_crossing(points: Sequence[SizePoints], theory: tuple[Array, Array], threshold: float, seed: int) -> Crossing:
    """Estimate the crossing from runs at two sizes or more; `theory` holds (alphas, roots) at infinite d.

    The interval resamples the runs at each size and sample ratio.
    """
    rng = np.random.default_rng(seed)
    fit_bias = float(crossing_of(*theory)) - threshold
    crossings = np.stack([_crossings(item, rng) for item in points], axis=-1)
    inverse = np.array([1 / item.dim for item in points])
    infinite = crossing_of(crossings, inverse, 1 / crossings[1:].std(axis=0))
    by_size = {item.dim: _interval(column).shifted(-fit_bias) for item, column in zip(points, crossings.T, strict=True)}
    return Crossing(by_size, _interval(infinite).shifted(-fit_bias), fit_bias)


def _crossings(item: SizePoints, rng: np.random.Generator) -> Array:
    """The estimate at one size, then those of runs drawn from these again, shape (1 + RESAMPLES,)."""
    means, least = item.means(), item.means() * 1e-3
    drawn = [rng.choice(values, (RESAMPLES, len(values))).mean(axis=1) for values in item.values]
    return crossing_of(item.alphas, np.vstack([means, np.stack(drawn, axis=1)]), 1 / np.maximum(item.errors(), least))


def _interval(found: Array) -> Interval:
    """Of an estimate followed by resampled ones."""
    tail = (1 - INTERVAL_PROBABILITY) / 2
    low, high = np.quantile(found[1:], [tail, 1 - tail])
    return Interval(float(found[0]), float(low), float(high))
