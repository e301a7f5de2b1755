"""How far sums over a lattice are from the channel averages of two visible indices: a bound that is computed, not proven.

Where the integrand is analytic for imaginary parts up to a, the trapezoidal rule of step h errs by at most 2 N / (exp(2 pi a/h) - 1),
N the integral of its absolute value along the line at a (Trefethen and Weideman, The exponentially convergent trapezoidal rule,
SIAM Review 56, 2014, theorem 5.1, doi 10.1137/130932132). A rule over four directions errs by at most the sum of four such errors:
each direction is summed in turn, and N integrates over the others. N is a sum itself, of a coarse lattice; it needs one digit.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from attention_erm.runtime.errors import NoAnswer
from numeric.proven_saddle.smooth_pairs import Lattice, PairChannel, PairSums

Array = NDArray[np.float64]
COARSE = Lattice((0.5, 0.5, 0.8, 0.8), 5.0)  # for norms and slopes
FINER = 2.0  # along the direction of a strip, next to whose edge singularities are; in narrow strips half their width
WIDTHS = (  # tried: of the label's index and of the student's
    (1.6, 1.4, 1.25, 1.1, 1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2),
    (3.6, 3.2, 2.8, 2.5, 2.2, 1.9, 1.6, 1.3, 1.0, 0.7, 0.5, 0.3),
)
SAME = (
    0.05  # share of the norm by which integrals along two lines may differ, from the coarse lattice
)
MARGIN = 2.0  # of norms that have one digit
CUT = 0.1  # share of the error that the reach may have: it costs less than steps
TAIL = 4.0  # times the largest factor met and exp(-reach^2/2): two discs are cut, and factors grow slowly beyond what is met
# Of a sum in pairs, relative to that of absolute values: 64 units, for a term and the steps of adding them up.
ROUNDING = 2.0**-47


class Strip(NamedTuple):
    """Half the width of a strip in which the integrand is analytic, in the units of steps, and norms along its edge, shape (5,)."""

    width: float
    norms: Array


def strip(channel: PairChannel, direction: int) -> Strip:
    """The widest of `WIDTHS` along one of the four directions of a lattice.

    By Cauchy's theorem the integral along the edge is that along the real line, and it is not where a singularity lies between
    them; one that changes it by less than `SAME` is too weak to break the bound. Where the coarse lattice does not resolve the
    edge the integrals differ as well.

    Raises:
        NoAnswer: none of them.
    """
    coarse, real_sums = (
        COARSE.steps[direction] / FINER,
        cache(channel.sums),
    )  # wide strips have one lattice
    for width in WIDTHS[direction // 2]:
        fine = min(coarse, width / 2)
        lattice = COARSE._replace(
            steps=tuple(fine if k == direction else step for k, step in enumerate(COARSE.steps))
        )
        middle = real_sums(lattice)
        try:
            with np.errstate(all="ignore"):  # beyond a singularity nothing need be finite
                edge = channel.sums(lattice, [width * (k == direction) for k in range(4)])
        except NoAnswer:  # the centres of the lattice on this line are not found
            continue
        if np.all(np.abs(edge.averages - middle.averages) < SAME * middle.norms):
            return Strip(width, edge.norms)
    raise NoAnswer(
        "the integrand has singularities too close to bound its error: leave out --digits, or take smaller beta"
    )


@dataclass(frozen=True)
class ContourBound:
    """What bounds the errors of all lattices at one channel: the strips of four directions, and sums along the real lines."""

    strips: tuple[Strip, ...]
    real: PairSums

    @classmethod
    def of(cls, channel: PairChannel) -> Self:
        """By sums over coarse lattices."""
        return cls(tuple(strip(channel, direction) for direction in range(4)), channel.sums(COARSE))

    def lattice(self, share: float) -> Lattice:
        """With errors, but for rounding, below some such share of the sums of absolute values."""
        allowed = [
            np.min(share * self.real.norms / (2 * MARGIN * one.norms)) / len(self.strips)
            for one in self.strips
        ]
        pairs = zip(self.strips, allowed, strict=True)
        steps = tuple(2 * math.pi * one.width / math.log1p(1 / part) for one, part in pairs)
        largest = np.max(self.real.largest / self.real.norms)
        return Lattice(steps, math.sqrt(2 * math.log(TAIL * largest / (CUT * share))))

    def errors(self, lattice: Lattice, sums: PairSums) -> Array:
        """Bounds of the errors of the sums over a lattice, shape (5,)."""
        pairs = zip(self.strips, lattice.steps, strict=True)
        steps = sum(
            2 * MARGIN * one.norms / math.expm1(2 * math.pi * one.width / step)
            for one, step in pairs
        )
        return np.asarray(
            steps + TAIL * sums.largest * math.exp(-(sums.reach**2) / 2) + ROUNDING * sums.norms
        )
