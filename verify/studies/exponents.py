"""The two exponents of the paper: derived, and how close the full theory comes to them as the dimension grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from numeric.laws.power_law import power_law
from numeric.problem.problem import Problem
from numeric.studies.phase_diagram import PhaseDiagram, phase_diagram
from numeric.studies.regimes import Regime
from numeric.studies.scaling import local_slope

#: Regimes of the two exponents, -(1 - 1/(2 gamma)) and -(2 - 1/gamma); slopes are taken about their centres.
REGIMES = ("spikes_and_slit.noise", "spikes.decay")
GAMMA = Fraction(3, 4)
_PER_OCTAVE = 64  #: blocks of the target's tail: slopes change by less than 1e-3 from sixteen times as many
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
    plane = phase_diagram(GAMMA, None, noise, 0)
    return tuple(_approach(regime, plane, dims, noise) for regime in plane.regimes if regime.id in REGIMES)


def _approach(regime: Regime, plane: PhaseDiagram, dims: Sequence[int], noise: float) -> Approach:
    x, y = (round(power, 2) for power in regime.centre(plane.samples, plane.decays))
    return Approach(regime.name, regime.risk[0], tuple(_slope(dim, x, y, noise) for dim in dims))


def _slope(dim: int, x: float, y: float, noise: float) -> tuple[int, float, float]:
    problem = Problem(1.0, power_law(float(GAMMA), dim, per_octave=_PER_OCTAVE), float(dim) ** y, noise)
    point = local_slope(problem, float(dim) ** x)
    point.solution.unwrap()
    return dim, point.slope, point.slope_error
