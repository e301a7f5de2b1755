"""What the averages at any number of tokens share: points, the fields at a point, and the way blocks of points are summed.

Points are scrambled Sobol sets, one scrambling per replicate. Scramblings are seeded, and sums run in a fixed order: equal input
gives equal bits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import qmc

from numeric.maths.kernels import over_blocks
from numeric.model import float64 as physics

Array = NDArray[np.float64]
NOTHING = np.zeros(0)
BLOCK = 64  # points that one thread takes at a time and adds up in order


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
            raise ValueError(f"replicates = {self.replicates}: the scatter of fewer than 4 says nothing; use 8")

    def refined(self) -> "Sampling":
        """Four times the points."""
        return Sampling(4 * self.points, self.replicates)


class Fields(NamedTuple):
    """Student field teacher gamma1 + independent gamma2, target field target gamma1, antisymmetric field odd gamma_odd.

    To these a leading feature kept exactly adds its products z_a z_b - delta_ab of one Gaussian per token, times its share in the
    student and in the target, each of shape (features,).
    """

    teacher: float
    independent: float
    target: float
    odd: float
    student_features: Array = NOTHING
    target_features: Array = NOTHING

    @classmethod
    def of(cls, m: float, q: float, rho: float, q_odd: float = 0.0) -> Self:
        """Fields of these overlaps; rho is the second moment of the target with its label noise."""
        teacher, independent, target = map(float, physics.field_coefficients(m, q, rho))
        return cls(teacher, independent, target, float(np.sqrt(q_odd)))


@lru_cache(maxsize=4)
def gaussians(dimensions: int, sampling: Sampling, stream: int = 0) -> Array:
    """Normal deviates, shape (replicates * points, dimensions); those of another stream are independent."""
    seeds = np.random.SeedSequence((dimensions, stream)).spawn(sampling.replicates)
    sets = (qmc.Sobol(dimensions, rng=np.random.default_rng(seed)).random(sampling.points) for seed in seeds)
    return ndtri(np.concatenate(list(sets)))


def block_sums(kernel: Callable[[Array, Array], None], points: Array, columns: int, block: int, group: int) -> Array:
    """Sums over groups of points, shape (len(points) / group, columns).

    kernel: adds to its second argument, (block / group, columns), the terms of its first, a block of points
    """
    sums = np.zeros((len(points) // group, columns))

    def work(first: int, last: int) -> None:
        for k in range(first, last):
            rows = slice(k * block // group, (k + 1) * block // group)
            kernel(points[k * block : (k + 1) * block], sums[rows])

    over_blocks(work, len(points) // block)
    return sums
