"""Power-law targets of any dimension: leading eigenvalues one by one, the tail in blocks of known error.

s_k proportional to k^-gamma, k = 1..dim, scaled to second moment q0 (theory note, sections 1 and 8). Beyond the first EXACT a
block of consecutive eigenvalues stands as one, with their weight and their mean square: q0 is kept, and what is lost is the
variance within blocks, which `truncation` bounds.
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np

from numeric.laws.eigenvalue_list import Eigenvalues, with_either_sign
from numeric.laws.law import Array
from numeric.maths.domain import count, positive

EXACT = 4096  # eigenvalues that stand alone
PER_OCTAVE = 1024  #: blocks for each doubling of k beyond; a local slope needs few


class Blocks(NamedTuple):
    """Numbers k of the eigenvalues in each block, and their mean square times the unknown scale."""

    counts: Array
    squares: Array


@dataclass(frozen=True)
class PowerLaw(Eigenvalues):
    """`dim` eigenvalues proportional to k^-gamma, of second moment tr S0^2/d; beyond EXACT in blocks.

    As `singular` values of a general matrix each stands with either sign, half of its weight at each.

    Raises:
        InvalidParameter: as `power_law`.
    """

    eigenvalues: tuple[float, ...] = field(init=False, repr=False, compare=False)
    weights: tuple[float, ...] = field(init=False, repr=False, compare=False)
    gamma: float
    dim: int
    second_moment: float = 1.0
    per_octave: int = PER_OCTAVE
    singular: bool = False

    def __post_init__(self) -> None:
        own = _stated(self.gamma, self.dim, self.second_moment, self.per_octave)
        for name, value in zip(("gamma", "dim", "second_moment", "per_octave"), own, strict=True):
            object.__setattr__(self, name, value)
        blocks = _blocks(self.gamma, self.dim, self.per_octave)
        total = float(blocks.counts @ blocks.squares)
        values = np.sqrt(blocks.squares * (self.second_moment * self.dim / total))
        listed = tuple(values.tolist()), tuple((blocks.counts / self.dim).tolist())
        eigenvalues, weights = with_either_sign(*listed) if self.singular else listed
        object.__setattr__(self, "eigenvalues", eigenvalues)
        object.__setattr__(self, "weights", weights)
        super().__post_init__()

    def scaled(self, factor: float) -> Self:
        """Law of `factor` times the target."""
        return replace(self, second_moment=factor**2 * self.second_moment)


def power_law(
    gamma: Fraction | float, dim: int, q0: float = 1.0, per_octave: int = PER_OCTAVE, singular: bool = False
) -> PowerLaw:
    """`dim` eigenvalues, or `singular` values, proportional to k^-gamma, of second moment q0; the same ones are made once.

    Raises:
        InvalidParameter: gamma or q0 is no positive number, dim or per_octave no integer above zero.

    >>> from attention_erm import power_law
    >>> [round(value, 4) for value in power_law(1, dim=4).eigenvalues]
    [0.4191, 0.5587, 0.8381, 1.6762]
    """
    # Before the cache, to which 100.0 is 100 and True is 1.
    return _made_once(*_stated(gamma, dim, q0, per_octave), singular)


@lru_cache(maxsize=8)  # of 10^4 blocks, and the same at every sample size and weight decay
def _made_once(gamma: float, dim: int, second_moment: float, per_octave: int, singular: bool) -> PowerLaw:
    return PowerLaw(gamma, dim, second_moment, per_octave, singular)


def _stated(gamma: object, dim: object, q0: object, per_octave: object) -> tuple[float, int, float, int]:
    """Parameters of any kind of number as Python's own, by the names that `power_law` gives them."""
    return positive("gamma", gamma), count("dim", dim), positive("q0", q0), count("per_octave", per_octave)


def truncation(gamma: float, dim: int, per_octave: int = PER_OCTAVE) -> float:
    """Largest relative half-width of a block in the eigenvalue: below it no s_k differs from the one that stands for it."""
    if dim <= EXACT:
        return 0.0
    return float(2.0 ** (gamma / per_octave) - 1.0)


def _blocks(gamma: float, dim: int, per_octave: int) -> Blocks:
    first = np.arange(1, min(dim, EXACT) + 1, dtype=float)
    if dim <= EXACT:
        return Blocks(np.ones_like(first), first ** (-2 * gamma))
    number = int(np.ceil(per_octave * np.log2(dim / EXACT)))
    edges = np.unique(np.round(EXACT * (dim / EXACT) ** (np.arange(number + 1) / number)))
    # Sums over k by the midpoint rule: its relative error gamma (2 gamma + 1)/(12 k^2) is below 1e-7 here.
    power = 1 - 2 * gamma
    ends = (edges + 0.5) ** power / power if power else np.log(edges + 0.5)
    counts = np.diff(edges)
    return Blocks(
        np.concatenate([np.ones_like(first), counts]), np.concatenate([first ** (-2 * gamma), np.diff(ends) / counts])
    )
