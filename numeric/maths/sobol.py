"""Randomised quasi-Monte Carlo points, and sums over blocks of them.

Points are scrambled Sobol sets, with one scrambling per replicate. The scramblings are seeded and
the order of sums is fixed, so that results are reproducible to the last bit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import NDArray

from numeric.maths.disk_cache import disk_cached
from numeric.maths.kernels import over_blocks

Array = NDArray[np.float64]
BLOCK = 64  # points that a thread sums in order
EXTRA_VARIANCE = 4.0  # in units of the variance of one deviate
# Maximum size of arrays cached on disk, which avoids 0.4 s to load the generator of SciPy.
MAX_CACHED = 2**15


@dataclass(frozen=True)
class Sampling:
    """Number of points per replicate (a power of two, for Sobol sets) and of replicates."""

    points: int
    replicates: int = 8

    def __post_init__(self) -> None:
        if self.points < 2 or self.points & (self.points - 1):
            nearest = 1 << max(1, self.points.bit_length())
            raise ValueError(f"points = {self.points}: must be a power of two; use {nearest}")
        if self.replicates < 4:
            raise ValueError(f"replicates = {self.replicates}: must be 4 or more; use 8")

    def refined(self) -> "Sampling":
        """Return a sampling with four times the points."""
        return Sampling(4 * self.points, self.replicates)


@lru_cache(maxsize=4)
def gaussians(dimensions: int, sampling: Sampling, stream: int = 0) -> Array:
    """Return normal deviates, shape (replicates * points, dimensions).

    Args:
        dimensions: number of dimensions.
        sampling: numbers of points and replicates.
        stream: seed; different streams are independent.
    """
    if dimensions * sampling.points * sampling.replicates <= MAX_CACHED:
        return disk_cached(_gaussians, dimensions, sampling, stream)
    return _gaussians(dimensions, sampling, stream)


def rare_gaussians(dimensions: int, sampling: Sampling) -> tuple[Array, Array]:
    """Return importance-sampling points of rare events, and their weights.

    The points have a wider law than normal deviates: their mean square distance is larger by
    EXTRA_VARIANCE, so that events of probability 1e-4 occur about ten times as often. Weighted
    means of functions of the points are means over normal deviates.

    Args:
        dimensions: number of dimensions.
        sampling: numbers of points and replicates.

    Returns:
        Points, shape (replicates * points, dimensions), and weights, shape (replicates * points,).
    """
    width = np.sqrt(1 + EXTRA_VARIANCE / dimensions)
    points = width * gaussians(dimensions, sampling)
    return points, width**dimensions * np.exp(-np.sum(points**2, axis=1) * (1 - width**-2) / 2)


def _gaussians(dimensions: int, sampling: Sampling, stream: int) -> Array:
    seeds = np.random.SeedSequence((dimensions, stream)).spawn(sampling.replicates)
    sets = [scipy.stats.qmc.Sobol(dimensions, rng=np.random.default_rng(seed)) for seed in seeds]
    return scipy.special.ndtri(np.concatenate([one.random(sampling.points) for one in sets]))


def block_sums(
    kernel: Callable[[Array, Array], None], points: Array, columns: int, block: int, group: int
) -> Array:
    """Return sums over groups of points, shape (len(points) / group, columns).

    Args:
        kernel: function that adds the terms of blocks of points to sums, shape (groups, columns).
        points: points, shape (points, dimensions).
        columns: number of sums.
        block: number of points in a block.
        group: number of points in a group.
    """
    sums = np.zeros((len(points) // group, columns))

    def work(first: int, last: int) -> None:
        low, high = first * block, last * block
        kernel(points[low:high], sums[low // group : high // group])

    over_blocks(work, len(points) // block)
    return sums
