"""The two exponents of the paper: derived, and how close the full theory comes to them as the dimension grows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from numeric.laws.power_law import power_law
from numeric.problem.problem import Problem
from numeric.studies.phase_diagram import phase_diagram
from numeric.studies.regimes import Regime
from numeric.studies.scaling import local_slope
from verify.core.pool import Job, Steps

#: Regimes of the two exponents, -(1 - 1/(2 gamma)) and -(2 - 1/gamma); slopes are taken about their centres.
REGIMES = ("spikes_and_slit.noise", "spikes.decay")
GAMMA = Fraction(3, 4)
#: blocks of the target's tail: slopes change by less than 1e-3 from sixteen times as many
_PER_OCTAVE = 64
_COST = 0.4  #: seconds of a slope, for each decade of the dimension
CLOSE = 0.01  #: from here on the theory is said to have reached the exponent


@dataclass(frozen=True)
class Approach:
    """One derived exponent of the samples, and (d, local slope of the theory, its error) at growing d.

    `left_out`: size of what the exponent leaves out at the largest d, up to a constant, as derived; `settled`: log10 of the d from
    which on that is below a tenth. `near`: log10 of the d from which on the slope is within a tenth of the exponent, as
    `Regime.log10_dim_near_along`.
    """

    regime: str
    exponent: Fraction
    slopes: tuple[tuple[int, float, float], ...]
    left_out: float
    settled: float
    near: float

    @property
    def reached(self) -> bool:
        """Whether the last slope is within CLOSE of the exponent."""
        _, slope, error = self.slopes[-1]
        return abs(slope - float(self.exponent)) + error < CLOSE

    @property
    def approached(self) -> bool:
        """Whether the exponent is reached, or the last slope is the closest to it: what a short list of dimensions can show."""
        distances = [abs(slope - float(self.exponent)) for _, slope, _ in self.slopes]
        return self.reached or distances[-1] == min(distances)


def approaches(dims: Sequence[int], noise: float) -> Steps[tuple[Approach, ...]]:
    """Return how the local slope of the theory approaches both exponents at the gamma of the paper.

    Args:
        dims: dimensions d, increasing.
        noise: variance Delta of the label noise.

    Raises NoAnswer if the theory has none.
    """
    asked = list(_slopes_asked_for(dims, noise))
    slopes = iter((yield [job for *_, jobs in asked for job in jobs]))
    found = []
    for regime, powers, jobs in asked:
        here = tuple(next(slopes) for _ in jobs)
        logs = [power * math.log(dims[-1]) for power in powers]
        near = regime.log10_dim_near_along(powers, [(dim, slope) for dim, slope, _ in here])
        ends = regime.correction(*logs), regime.log10_dim_below(*logs), near
        found.append(Approach(regime.name, regime.risk[0], here, *ends))
    return tuple(found)


def _slopes_asked_for(
    dims: Sequence[int], noise: float
) -> Iterator[tuple[Regime, tuple[float, float, float], list[Job]]]:
    """At growing dimension in the middle of each regime: powers of d of the regime's parameters, and a job for each dimension."""
    plane = phase_diagram(GAMMA, None, noise, 0)
    for regime in plane.regimes:
        if regime.id in REGIMES:
            x, y = (round(power, 2) for power in regime.centre(plane.samples, plane.vertical))
            yield regime, (x, y, 1.0), [_slope_job(dim, x, y, noise) for dim in dims]


def _slope_job(dim: int, x: float, y: float, noise: float) -> Job:
    return Job(
        _slope,
        (dim, x, y, noise),
        "exponents",
        _COST * math.log10(dim),
        f"local slope at dim {dim:.0e}",
    )


def _slope(dim: int, x: float, y: float, noise: float) -> tuple[int, float, float]:
    problem = Problem(
        1.0, power_law(float(GAMMA), dim, per_octave=_PER_OCTAVE), float(dim) ** y, noise
    )
    point = local_slope(problem, float(dim) ** x)
    point.solution.unwrap()
    return dim, point.slope, point.slope_error
