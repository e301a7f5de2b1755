"""Power-law targets of any dimension: leading eigenvalues one by one, the tail in blocks with a
known error.

The eigenvalues are s_k proportional to k^-gamma, k = 1..dim, scaled to second moment q0 (theory
note, sections 1 and 8). Beyond the first EXACT eigenvalues, a block of consecutive eigenvalues is
represented by one eigenvalue with their total weight and their mean square. This keeps q0 exact;
the variance within blocks is lost, and `truncation` bounds it.
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np

from numeric.laws.eigenvalue_list import Eigenvalues, with_either_sign
from numeric.laws.law import Array
from numeric.maths.domain import count, positive

EXACT = 4096  # number of leading eigenvalues that are not in blocks
PER_OCTAVE = 1024  #: blocks for each factor 2 in k; a local slope needs few


class Blocks(NamedTuple):
    """Number of eigenvalues in each block, and their mean square up to a common factor."""

    counts: Array
    squares: Array


@dataclass(frozen=True)
class PowerLaw(Eigenvalues):
    """Law of `dim` eigenvalues proportional to k^-gamma with second moment tr S0^2/d; in blocks
    beyond EXACT.

    With `singular`, the values are singular values of a general matrix: each has both signs, with
    half of its weight.

    Raises:
        InvalidParameter: an argument is outside its domain (see `power_law`).
    """

    eigenvalues: tuple[float, ...] = field(init=False, repr=False, compare=False)
    weights: tuple[float, ...] = field(init=False, repr=False, compare=False)
    gamma: float
    dim: int
    second_moment: float = 1.0
    per_octave: int = PER_OCTAVE
    singular: bool = False

    def __post_init__(self) -> None:
        given = _validated(self.gamma, self.dim, self.second_moment, self.per_octave)
        for name, value in zip(("gamma", "dim", "second_moment", "per_octave"), given, strict=True):
            object.__setattr__(self, name, value)
        counts, squares = blocks(self.gamma, self.dim, self.per_octave)
        total = float(counts @ squares)
        values = np.sqrt(squares * (self.second_moment * self.dim / total))
        listed = tuple(values.tolist()), tuple((counts / self.dim).tolist())
        eigenvalues, weights = with_either_sign(*listed) if self.singular else listed
        object.__setattr__(self, "eigenvalues", eigenvalues)
        object.__setattr__(self, "weights", weights)
        super().__post_init__()

    def scaled(self, factor: float) -> Self:
        """Return the law of `factor` times the target."""
        return replace(self, second_moment=factor**2 * self.second_moment)


def power_law(
    gamma: Fraction | float,
    dim: int,
    q0: float = 1.0,
    per_octave: int = PER_OCTAVE,
    singular: bool = False,
) -> PowerLaw:
    """Return the law of eigenvalues proportional to k^-gamma, k = 1..dim. Results are cached.

    Args:
        gamma: exponent, positive.
        dim: number d of eigenvalues.
        q0: second moment tr S0^2/d, eigenvalue^2.
        per_octave: number of blocks for each factor 2 in k, beyond the leading eigenvalues.
        singular: whether the values are singular values of a general matrix.

    Raises:
        InvalidParameter: gamma or q0 is not a positive number, or dim or per_octave is not a
            positive integer.

    >>> from attention_erm import power_law
    >>> [round(value, 4) for value in power_law(1, dim=4).eigenvalues]
    [0.4191, 0.5587, 0.8381, 1.6762]
    """
    # Checked before the cache, which does not distinguish 100.0 from 100, or True from 1.
    return _cached_power_law(*_validated(gamma, dim, q0, per_octave), singular)


# Few laws of 10^4 blocks, which are used at all sample sizes and weight decays.
_cached_power_law = lru_cache(maxsize=8)(PowerLaw)


def _validated(
    gamma: object, dim: object, q0: object, per_octave: object
) -> tuple[float, int, float, int]:
    """Check the parameters, and convert them to Python numbers."""
    numbers = positive("gamma", gamma), count("dim", dim), positive("q0", q0)
    return *numbers, count("per_octave", per_octave)


def truncation(gamma: float, dim: int, per_octave: int = PER_OCTAVE) -> float:
    """Return the largest relative half-width of a block in the eigenvalue.

    No s_k differs by more than this from the eigenvalue that represents it.

    Args:
        gamma: exponent.
        dim: number of eigenvalues.
        per_octave: number of blocks for each factor 2 in k.
    """
    return 0.0 if dim <= EXACT else float(2.0 ** (gamma / per_octave) - 1.0)


def blocks(gamma: float, dim: int, per_octave: int) -> Blocks:
    """Return the number of eigenvalues in each block and the mean of k^(-2 gamma) over it.

    Args:
        gamma: exponent.
        dim: number of eigenvalues.
        per_octave: number of blocks for each factor 2 in k, beyond the first EXACT.
    """
    first = np.arange(1, min(dim, EXACT) + 1, dtype=float)
    if dim <= EXACT:
        return Blocks(np.ones_like(first), first ** (-2 * gamma))
    number = int(np.ceil(per_octave * np.log2(dim / EXACT)))
    edges = np.unique(np.round(EXACT * (dim / EXACT) ** (np.arange(number + 1) / number)))
    # Midpoint rule for sums over k; its relative error gamma (2 gamma + 1)/(12 k^2) is below 1e-7.
    power = 1 - 2 * gamma
    ends = (edges + 0.5) ** power / power if power else np.log(edges + 0.5)
    counts = np.diff(edges)
    return Blocks(
        np.concatenate([np.ones_like(first), counts]),
        np.concatenate([first ** (-2 * gamma), np.diff(ends) / counts]),
    )
