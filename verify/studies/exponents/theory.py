"""The two exponents of the paper, and the local slope of the theory as the dimension grows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from numeric.engines.task import Task
from numeric.laws.power_law import power_law
from numeric.problem.problem import Problem
from numeric.studies.phase_diagram import phase_diagram
from numeric.studies.scaling import local_slope
from verify.core.pool import Steps

#: Regimes of the exponents -(1 - 1/(2 gamma)) and -(2 - 1/gamma); slopes are taken at their
#: centres.
REGIMES = ("spikes_and_slit.noise", "spikes.decay")
GAMMA = Fraction(3, 4)
#: blocks per octave of the target's tail; 16 times as many change slopes by less than 1e-3
_PER_OCTAVE = 64
_COST = 0.4  #: seconds of a slope per decade of the dimension
CLOSE = 0.01  #: distance at which the theory has reached the exponent


@dataclass(frozen=True)
class Approach:
    """One derived exponent of the samples, and the slope of the theory at growing d.

    Attributes:
        regime: name of the regime.
        exponent: derived exponent.
        slopes: (d, local slope of the theory, its error).
        left_out: derived size of the corrections at the largest d, up to a constant.
        settled: log10 of the d from which on `left_out` is below 0.1.
        near: log10 of the d from which on the slope is within 10 % of the exponent.
    """

    regime: str
    exponent: Fraction
    slopes: tuple[tuple[int, float, float], ...]
    left_out: float
    settled: float
    near: float

    @property
    def reached(self) -> bool:
        """Return whether the last slope is within CLOSE of the exponent."""
        _, slope, error = self.slopes[-1]
        return abs(slope - float(self.exponent)) + error < CLOSE

    @property
    def approached(self) -> bool:
        """Return whether the exponent is reached, or the last slope is the closest to it."""
        distances = [abs(slope - float(self.exponent)) for _, slope, _ in self.slopes]
        return self.reached or distances[-1] == min(distances)


def approaches(dims: Sequence[int], noise: float) -> Steps[tuple[Approach, ...]]:
    """Return how the local slope of the theory approaches both exponents at the gamma of the paper.

    Args:
        dims: dimensions d, increasing.
        noise: variance Delta of the label noise.

    Raises:
        NoAnswer: the theory has no answer.
    """
    plane = phase_diagram(GAMMA, None, noise, 0)
    regimes = [regime for regime in plane.regimes if regime.id in REGIMES]
    centres = [
        tuple(round(power, 2) for power in regime.centre(plane.samples, plane.vertical))
        for regime in regimes
    ]
    slopes = iter(
        (
            yield [
                Task(
                    _slope,
                    (dim, x, y, noise),
                    _COST * math.log10(dim),
                    f"local slope at dim {dim:.0e}",
                    "exponents",
                )
                for x, y in centres
                for dim in dims
            ]
        )
    )
    found = []
    for regime, (x, y) in zip(regimes, centres, strict=True):
        here = tuple(next(slopes) for _ in dims)
        powers = (x, y, 1.0)
        logs = [power * math.log(dims[-1]) for power in powers]
        near = regime.log10_dim_near_along(powers, [(dim, slope) for dim, slope, _ in here])
        ends = regime.correction(*logs), regime.log10_dim_below(*logs), near
        found.append(Approach(regime.name, regime.risk[0], here, *ends))
    return tuple(found)


def _slope(dim: int, x: float, y: float, noise: float) -> tuple[int, float, float]:
    problem = Problem(
        1.0, power_law(float(GAMMA), dim, per_octave=_PER_OCTAVE), float(dim) ** y, noise
    )
    point = local_slope(problem, float(dim) ** x)
    point.solution.unwrap()
    return dim, point.slope, point.slope_error
