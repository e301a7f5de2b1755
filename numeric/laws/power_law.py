"""Power-law targets of any dimension: leading eigenvalues one by one, the tail in blocks of known error.

s_k proportional to k^-gamma, k = 1..dim, scaled to second moment q0 (theory note, sections 1 and 8). Beyond the first EXACT a
block of consecutive eigenvalues stands as one, with their weight and their mean square: q0 is kept, and what is lost is the
variance within blocks, which `truncation` bounds.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.law import Array

EXACT = 4096  # eigenvalues that stand alone
PER_OCTAVE = 1024  #: blocks for each doubling of k beyond; a local slope needs few


class Blocks(NamedTuple):
    """Numbers k of the eigenvalues in each block, and their mean square times the unknown scale."""

    counts: Array
    squares: Array


@lru_cache(maxsize=8)  # of 10^4 blocks, and the same at every sample size and weight decay
def power_law(gamma: float, dim: int, q0: float = 1.0, per_octave: int = PER_OCTAVE) -> Eigenvalues:
    """`dim` eigenvalues proportional to k^-gamma; beyond EXACT in blocks, so many for each doubling of k."""
    blocks = _blocks(gamma, dim, per_octave)
    total = float(blocks.counts @ blocks.squares)
    values = np.sqrt(blocks.squares * (q0 * dim / total))
    return Eigenvalues(tuple(values.tolist()), tuple((blocks.counts / dim).tolist()))


def truncation(gamma: float, dim: int, per_octave: int = PER_OCTAVE) -> float:
    """Largest relative half-width of a block in the eigenvalue: below it no s_k differs from the one that stands for it."""
    if dim <= EXACT:
        return 0.0
    return float(2.0 ** (gamma / per_octave) - 1.0)


def _blocks(gamma: float, dim: int, per_octave: int) -> Blocks:
    first = np.arange(1, min(dim, EXACT) + 1, dtype=float)
    if dim <= EXACT:
        return Blocks(np.ones_like(first), first ** (-2 * gamma))
    count = int(np.ceil(per_octave * np.log2(dim / EXACT)))
    edges = np.unique(np.round(EXACT * (dim / EXACT) ** (np.arange(count + 1) / count)))
    # Sums over k by the midpoint rule: its relative error gamma (2 gamma + 1)/(12 k^2) is below 1e-7 here.
    power = 1 - 2 * gamma
    ends = (edges + 0.5) ** power / power if power else np.log(edges + 0.5)
    counts = np.diff(edges)
    return Blocks(
        np.concatenate([np.ones_like(first), counts]), np.concatenate([first ** (-2 * gamma), np.diff(ends) / counts])
    )
