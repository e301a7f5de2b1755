"""Randomised quasi-Monte Carlo: points, and the way blocks of them are summed.

Points are scrambled Sobol sets, one scrambling per replicate. Scramblings are seeded, and sums run in a fixed order: equal input
gives equal bits.
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
BLOCK = 64  # points that one thread takes at a time and adds up in order
EXTRA_VARIANCE = 4.0  # in units of the square of one deviation
MAX_CACHED = (
    2**15
)  # numbers: so many are kept on disk, as the part of SciPy that draws them takes .4 s to load


@dataclass(frozen=True)
class Sampling:
    """Points per replicate (a power of two, for Sobol sets) and replicates."""

    points: int
    replicates: int = 8

    def __post_init__(self) -> None:
        if self.points < 2 or self.points & (self.points - 1):
            raise ValueError(
                f"points = {self.points}: must be a power of two; use {1 << max(1, self.points.bit_length())}"
            )
        if self.replicates < 4:
            raise ValueError(
                f"replicates = {self.replicates}: the scatter of fewer than 4 says nothing; use 8"
            )

    def refined(self) -> "Sampling":
        """Four times the points."""
        return Sampling(4 * self.points, self.replicates)


@lru_cache(maxsize=4)
def gaussians(dimensions: int, sampling: Sampling, stream: int = 0) -> Array:
    """Normal deviates, shape (replicates * points, dimensions); those of another stream are independent."""
    few = dimensions * sampling.points * sampling.replicates <= MAX_CACHED
    return (
        disk_cached(_gaussians, dimensions, sampling, stream)
        if few
        else _gaussians(dimensions, sampling, stream)
    )


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
    """Sums over groups of points, shape (len(points) / group, columns).

    kernel: adds to its second argument, (groups, columns), the terms of its first, some blocks of points
    """
    sums = np.zeros((len(points) // group, columns))

    def work(first: int, last: int) -> None:
        kernel(
            points[first * block : last * block],
            sums[first * block // group : last * block // group],
        )

    over_blocks(work, len(points) // block)
    return sums
