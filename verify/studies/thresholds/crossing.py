"""Where a quantity that vanishes at a threshold crosses zero: per size, with a bootstrap interval, extrapolated in d.

Near a threshold the square roots of the training loss (above interpolation) and of the estimation error (below recovery) vanish
linearly in the sample ratio. At each size alpha is fitted as a straight line in that root, whose value at zero is the crossing; the
crossings at several d are extrapolated as a + c/d. The same fit applied to the theory's curve at the same sample ratios misses
the threshold by the bend of the curve over the window; that miss is subtracted, and reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from numeric.laws.law import Array
from verify.core.intervals import (
    INTERVAL_PROBABILITY,
    Interval,
    bootstrap_means,
    pooled,
    quantile_interval,
    student_factor,
    student_interval,
)


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


class TheoryCurve(NamedTuple):
    """Sample ratios, the vanishing root of the theory there at infinite d, and error bars of it."""

    alphas: Array
    roots: Array
    errors: Array


@dataclass(frozen=True)
class Crossing:
    """Crossings at each size, and the one extrapolated to infinite d, the bias of the fit subtracted from all.

    `level`: the root farthest from the threshold over the theory's, extrapolated likewise. Intervals have probability
    INTERVAL_PROBABILITY, `judged` and `level` that at which all intervals of a study hold together; those at infinite d are widened by
    what the theory's error bars do.
    """

    by_size: dict[int, Interval]
    infinite: Interval
    judged: Interval
    level: Interval
    fit_bias: float


def crossing_of(alphas: Array, roots: Array, weights: Array | float = 1.0) -> Array:
    """Alpha at which the root vanishes: the constant of a straight line in the root, by least squares along the last axis.

    `weights` are inverse errors of alpha. How the curves bend over the window is taken from the theory's own bend.
    """
    shares = np.broadcast_to(np.square(weights), roots.shape[-1:])
    root, alpha = (np.average(values, -1, shares)[..., None] for values in (roots, alphas))
    slope = np.sum(shares * (roots - root) * (alphas - alpha), -1) / np.sum(
        shares * (roots - root) ** 2, -1
    )
    return alpha[..., 0] - slope * root[..., 0]


def find_crossing(
    points: Sequence[SizePoints],
    theory: TheoryCurve,
    threshold: float,
    seed: int,
    intervals: int = 1,
) -> Crossing:
    """Estimate the crossing from runs at two sizes or more.

    The intervals resample the runs at each size; `intervals` is the number of thresholds that are judged together, each by two.
    """
    rng = np.random.default_rng(seed)
    fitted, farthest = float(crossing_of(theory.alphas, theory.roots)), int(theory.roots.argmax())
    drawn = [_means_first(item, rng) for item in points]
    crossings = [
        crossing_of(item.alphas, means) - (fitted - threshold)
        for item, means in zip(points, drawn, strict=True)
    ]
    levels = [means[:, farthest] / theory.roots[farthest] for means in drawn]
    runs, dims = [len(item.values) for item in points], [item.dim for item in points]
    unsure = _effect_of_errors(theory, fitted)
    together = 1 - (1 - INTERVAL_PROBABILITY) / (2 * intervals)
    return Crossing(
        by_size={
            dim: student_interval(float(column[0]), column[1:], count, INTERVAL_PROBABILITY)
            for dim, count, column in zip(dims, runs, crossings, strict=True)
        },
        infinite=_limit(crossings, dims, runs, INTERVAL_PROBABILITY).widened(unsure),
        judged=_limit(crossings, dims, runs, together).widened(unsure),
        level=_limit(levels, dims, runs, together).widened(
            theory.errors[farthest] / theory.roots[farthest]
        ),
        fit_bias=fitted - threshold,
    )


def _effect_of_errors(theory: TheoryCurve, fitted: float) -> float:
    """How far the error bars of the theory move its crossing, effects added without their signs."""
    moved = crossing_of(theory.alphas, theory.roots + np.diag(theory.errors))
    return float(np.abs(moved - fitted).sum())


def pooled_ratio(ratios: Sequence[Interval], intervals: int = 1) -> Interval:
    """Mean of independent ratios with intervals of 95 %; its own is as wide as `intervals` such means judged together need it."""
    mean = pooled(ratios)
    tails = (
        scipy.stats.norm.ppf(1 - (1 - INTERVAL_PROBABILITY) / 2 / count) for count in (intervals, 1)
    )
    return mean.widened(mean.half_width * float(next(tails) / next(tails) - 1))


def _means_first(item: SizePoints, rng: np.random.Generator) -> Array:
    """Means over runs, and then those of as many runs drawn from these, shape (1 + DRAWS, sample ratios)."""
    return np.vstack([item.means(), bootstrap_means(item.values, rng)])


def _limit(
    columns: Sequence[Array], dims: Sequence[int], runs: Sequence[int], level: float
) -> Interval:
    """Of an estimate at each size, followed by resampled ones, extrapolated as a + c/d."""
    inverse, errors = (
        np.array([1 / dim for dim in dims]),
        np.array([column[1:].std() for column in columns]),
    )
    wide = [
        column[0] + student_factor(count, level) * (column - column[0])
        for column, count in zip(columns, runs, strict=True)
    ]
    limits = crossing_of(np.stack(wide, axis=-1), inverse, 1 / errors)
    return Interval(float(limits[0]), *quantile_interval(limits[1:], level))
