"""Computed (not proven) error bound of lattice sums for channel averages of two visible indices.

If the integrand is analytic for imaginary parts up to a, the error of the trapezoidal rule of step
h is at most 2 N / (exp(2 pi a/h) - 1), with N the integral of its absolute value along the line at
a (Trefethen and Weideman, The exponentially convergent trapezoidal rule, SIAM Review 56, 2014,
theorem 5.1, doi 10.1137/130932132). The error of a rule over four directions is at most the sum of
four such errors: the directions are summed in turn, and N integrates over the others. N is computed
on a coarse lattice; one digit is sufficient.
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
# Refinement along the direction of a strip, with singularities near its edge.
FINER = 2.0
WIDTHS = (  # half widths of strips tried, for the index of the label and of the student
    (1.6, 1.4, 1.25, 1.1, 1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2),
    (3.6, 3.2, 2.8, 2.5, 2.2, 1.9, 1.6, 1.3, 1.0, 0.7, 0.5, 0.3),
)
SAME = 0.05  # maximum difference of integrals along two lines, relative to the norm
MARGIN = 2.0  # safety factor of norms, which have one digit
CUT = 0.1  # fraction of the error due to the reach, which costs less than steps
# Safety factor of the tail, times the largest factor observed and exp(-reach^2/2).
TAIL = 4.0
# Rounding error of a sum in pairs, relative to the sum of absolute values.
ROUNDING = 2.0**-47


class Strip(NamedTuple):
    """Strip in which the integrand is analytic.

    Attributes:
        width: half the width, in the units of steps.
        norms: norms of the five integrands along its edge, shape (5,).
    """

    width: float
    norms: Array


def strip(channel: PairChannel, direction: int) -> Strip:
    """Return the widest strip of `WIDTHS` along one of the four directions of a lattice.

    By Cauchy's theorem, the integrals along the edge and along the real line are equal unless a
    singularity lies between them. A singularity that changes the integral by less than `SAME` is
    too weak to violate the bound. The integrals also differ if the coarse lattice does not resolve
    the edge.

    Args:
        channel: channel at given overlaps.
        direction: 0 or 1 for the index of the label, 2 or 3 for the index of the student.

    Raises:
        NoAnswer: no strip is found.
    """
    coarse = COARSE.steps[direction] / FINER
    real_sums = cache(channel.sums)  # wide strips share one lattice
    for width in WIDTHS[direction // 2]:
        fine = min(coarse, width / 2)
        steps = tuple(fine if k == direction else step for k, step in enumerate(COARSE.steps))
        lattice = COARSE._replace(steps=steps)
        middle = real_sums(lattice)
        try:
            with np.errstate(all="ignore"):  # values beyond a singularity may be infinite
                edge = channel.sums(lattice, [width * (k == direction) for k in range(4)])
        except NoAnswer:  # no centres of the lattice are found on this line
            continue
        if np.all(np.abs(edge.averages - middle.averages) < SAME * middle.norms):
            return Strip(width, edge.norms)
    rule = "the integrand has singularities too close to bound its error"
    raise NoAnswer(f"{rule}: omit --digits, or decrease beta")


@dataclass(frozen=True)
class ContourBound:
    """Error bound for all lattices at one channel.

    Attributes:
        strips: strips along the four directions.
        real: sums along the real lines.
    """

    strips: tuple[Strip, ...]
    real: PairSums

    @classmethod
    def of(cls, channel: PairChannel) -> Self:
        """Return the bound of a channel from sums over coarse lattices."""
        return cls(tuple(strip(channel, direction) for direction in range(4)), channel.sums(COARSE))

    def lattice(self, share: float) -> Lattice:
        """Return a lattice with errors below a fraction of the sums of absolute values.

        Rounding errors are not included.
        """
        allowed = [
            np.min(share * self.real.norms / (2 * MARGIN * one.norms)) / len(self.strips)
            for one in self.strips
        ]
        pairs = zip(self.strips, allowed, strict=True)
        steps = tuple(2 * math.pi * one.width / math.log1p(1 / part) for one, part in pairs)
        largest = np.max(self.real.largest / self.real.norms)
        return Lattice(steps, math.sqrt(2 * math.log(TAIL * largest / (CUT * share))))

    def errors(self, lattice: Lattice, sums: PairSums) -> Array:
        """Return error bounds of the sums over a lattice, shape (5,).

        Args:
            lattice: the lattice.
            sums: the sums over it.
        """
        pairs = zip(self.strips, lattice.steps, strict=True)
        steps = sum(
            2 * MARGIN * one.norms / math.expm1(2 * math.pi * one.width / step)
            for one, step in pairs
        )
        tail = TAIL * sums.largest * math.exp(-(sums.reach**2) / 2)
        return np.asarray(steps + tail + ROUNDING * sums.norms)
