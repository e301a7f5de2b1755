"""The two exponents of the paper: derived, and how close the full theory comes to them as the dimension grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from numeric.studies.regimes import regimes
from numeric.studies.scaling import ScalingProblem, local_slope

#: Name of the regime, and where in it slopes are taken: powers of d of the samples n and of the weight decay, about its middle.
PLACES = (
    ("bulk just open; limited by noise", 1.27, -1.23),  # -(1 - 1/(2 gamma))
    ("spikes above the bulk; limited by weight decay", 3.23, 1.36),  # -(2 - 1/gamma)
)
GAMMA = Fraction(3, 4)
PER_OCTAVE = 64  #: blocks of the target's tail: slopes change by less than 1e-3 from sixteen times as many
CLOSE = 0.01  #: from here on the theory is said to have reached the exponent


@dataclass(frozen=True)
class Approach:
    """One derived exponent of the samples, and (d, local slope of the theory, its error) at growing d."""

    regime: str
    exponent: Fraction
    slopes: tuple[tuple[int, float, float], ...]

    @property
    def reached(self) -> bool:
        """Whether the last slope is within CLOSE of the exponent."""
        _, slope, error = self.slopes[-1]
        return abs(slope - float(self.exponent)) + error < CLOSE


def approaches(dims: Sequence[int], noise: float) -> tuple[Approach, ...]:
    """Both exponents at the gamma of the paper."""
    derived = {regime.name: regime.risk[0] for regime in regimes(GAMMA)}
    return tuple(
        Approach(name, derived[name], tuple(_slope(dim, x, y, noise) for dim in dims)) for name, x, y in PLACES
    )


def _slope(dim: int, x: float, y: float, noise: float) -> tuple[int, float, float]:
    point = local_slope(
        ScalingProblem(float(GAMMA), dim, float(dim) ** y, noise, per_octave=PER_OCTAVE), float(dim) ** x
    )
    point.solution.unwrap()
    return dim, point.slope, point.slope_error
