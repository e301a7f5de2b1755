"""Location of a threshold: per size with a bootstrap interval, and extrapolated in d.

Near a threshold the square roots of the training loss (above interpolation) and of the estimation
error (below recovery) vanish linearly in the sample ratio. At each size alpha is fitted as a
straight line in that root; its value at root zero is the crossing. Crossings at several d are
extrapolated as a + c/d. The same fit to the theory's curve at the same sample ratios misses the
threshold, because the curve bends over the window; this bias is subtracted and reported.
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
    """Roots measured at one size.

    Attributes:
        dim: size d.
        alphas: sample ratios.
        values: roots, shape (runs, sample ratios); the values of one run share their samples.
    """

    dim: int
    alphas: Array
    values: Array

    def means(self) -> Array:
        """Return the mean over runs at each sample ratio."""
        return np.asarray(self.values.mean(axis=0))

    def errors(self) -> Array:
        """Return the standard error of each mean."""
        return np.asarray(self.values.std(axis=0, ddof=1) / len(self.values) ** 0.5)


class TheoryCurve(NamedTuple):
    """Roots of the theory at infinite d, with error bars, along the sample ratio."""

    alphas: Array
    roots: Array
    errors: Array


@dataclass(frozen=True)
class Crossing:
    """Crossings with the bias of the fit subtracted.

    Intervals at infinite d include the error bars of the theory.

    Attributes:
        by_size: crossing at each size d, with probability INTERVAL_PROBABILITY.
        infinite: crossing extrapolated to infinite d, with probability INTERVAL_PROBABILITY.
        judged: the same at the level at which all intervals of a study hold together.
        level: root farthest from the threshold over the theory's, extrapolated, at that joint
            level.
        fit_bias: crossing of the same fit to the theory's curve, minus the threshold.
    """

    by_size: dict[int, Interval]
    infinite: Interval
    judged: Interval
    level: Interval
    fit_bias: float


def crossing_of(alphas: Array, roots: Array, weights: Array | float = 1.0) -> Array:
    """Return alpha at root zero: the constant of a weighted linear fit along the last axis.

    Args:
        alphas: sample ratios, shape (points,) or (..., points).
        roots: vanishing roots, broadcast with `alphas`.
        weights: inverse errors of alpha.
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
    """Estimate the crossing; intervals come from resampled runs at each size.

    Args:
        points: measured roots, at two sizes or more.
        theory: curve of the theory at the same sample ratios.
        threshold: proven value, which determines the bias of the fit.
        seed: seed of the resampling.
        intervals: number of thresholds judged together, each by two intervals.
    """
    rng = np.random.default_rng(seed)
    fitted, farthest = float(crossing_of(theory.alphas, theory.roots)), int(theory.roots.argmax())
    # per size: means over runs, then means of resampled runs, shape (1 + DRAWS, sample ratios)
    drawn = [np.vstack([item.means(), bootstrap_means(item.values, rng)]) for item in points]
    crossings = [
        crossing_of(item.alphas, means) - (fitted - threshold)
        for item, means in zip(points, drawn, strict=True)
    ]
    levels = [means[:, farthest] / theory.roots[farthest] for means in drawn]
    runs, dims = [len(item.values) for item in points], [item.dim for item in points]
    # effect of the theory's error bars on its crossing, absolute values added
    moved = crossing_of(theory.alphas, theory.roots + np.diag(theory.errors))
    theory_error = float(np.abs(moved - fitted).sum())
    joint = 1 - (1 - INTERVAL_PROBABILITY) / (2 * intervals)
    return Crossing(
        by_size={
            dim: student_interval(float(column[0]), column[1:], count, INTERVAL_PROBABILITY)
            for dim, count, column in zip(dims, runs, crossings, strict=True)
        },
        infinite=_limit(crossings, dims, runs, INTERVAL_PROBABILITY).widened(theory_error),
        judged=_limit(crossings, dims, runs, joint).widened(theory_error),
        level=_limit(levels, dims, runs, joint).widened(
            theory.errors[farthest] / theory.roots[farthest]
        ),
        fit_bias=fitted - threshold,
    )


def pooled_ratio(ratios: Sequence[Interval], intervals: int = 1) -> Interval:
    """Return the mean of independent ratios with an interval at the joint level.

    Args:
        ratios: estimates with intervals of 95 %.
        intervals: number of such means that are judged together.
    """
    mean = pooled(ratios)
    tails = (
        scipy.stats.norm.ppf(1 - (1 - INTERVAL_PROBABILITY) / 2 / count) for count in (intervals, 1)
    )
    return mean.widened(mean.half_width * float(next(tails) / next(tails) - 1))


def _limit(
    columns: Sequence[Array], dims: Sequence[int], runs: Sequence[int], level: float
) -> Interval:
    """Extrapolate estimates a + c/d to infinite d; each column is the estimate, then resampled
    ones.
    """
    inverse = np.array([1 / dim for dim in dims])
    errors = np.array([column[1:].std() for column in columns])
    wide = [
        column[0] + student_factor(count, level) * (column - column[0])
        for column, count in zip(columns, runs, strict=True)
    ]
    limits = crossing_of(np.stack(wide, axis=-1), inverse, 1 / errors)
    return Interval(float(limits[0]), *quantile_interval(limits[1:], level))
