"""Unknowns where the labels leave the student free.

With few samples and weak decay the threshold b lies just inside the noise: a small change of the conjugates then decides between
learning nothing and everything, their map repels, and their residual is a large multiple of any rounding. The share F = J_v(v, b) of
directions left free is fixed by counting labels instead, hardly depends on anything else, and b follows from it. In the logarithms of
(v, F, c) the map contracts: its residuals are those of v, of the conjugate of m, and of c.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from numeric.laws.law import Energy
from numeric.maths.domain import OutsideDomain
from numeric.maths.fixed_point import Vector
from numeric.problem.conjugates import Conjugates
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from numeric.saddle.estimator import (
    DenoisingProblem,
    DenoisingSolution,
    fitted_ratio,
    reduced_variables,
    spectral_energy,
    upper_edge,
)

LEAST, STRIDE = (
    float(np.log(40.0)),
    4.0,
)  # of log log(edge/b): a threshold so low is none, and its bracket
SOLVED = 1e-3  # of log F: a root next to an edge is known to the rounding of its distance
NOTHING = (
    -1e3
)  # stands for the logarithm of no free direction at all, beyond the edge: a bracket needs a number
HALF = 0.5  # of the directions that the labels would take with no decay: any share of order one will do as a start


@dataclass(frozen=True)
class FreeDirections:
    """Logarithms of (v, F, c), for a trace penalty."""

    problem: Problem

    def coordinates(self, conjugates: Conjugates) -> Vector:
        """Coordinates y; where no solution has their F, it is a share of what the labels would take."""
        v, b, c = reduced_variables(conjugates, self.problem)
        free, taken = self._energy(v, b).J_v, self._taken(v)
        return np.log([v, free if 0 < free < taken else HALF * taken, c])

    def denoised(self, y: Vector) -> DenoisingSolution:
        """At the threshold that leaves so many directions free; found as a distance from the edge, which may be small.

        Raises:
            OutsideDomain: no threshold does.
        """
        v, free, c = map(float, np.exp(y))
        top = upper_edge(self.problem, v)

        def excess_of(left: float) -> float:
            return float(np.log(left / free)) if left > 0 else NOTHING

        def excess(log_ratio: float) -> float:
            try:
                return excess_of(self._energy(v, _below(top, log_ratio)).J_v)
            except (
                OutsideDomain
            ):  # so close to an edge that the law is not resolved: beyond it, little is free
                return NOTHING

        near = LEAST
        while excess(near) > 0:
            near -= STRIDE
        if near == LEAST:
            raise OutsideDomain(f"no threshold leaves {free:g} of all directions free")
        b = _below(
            top, float(scipy.optimize.brentq(excess, near, near + STRIDE, xtol=1e-14, rtol=1e-14))
        )
        energy = self._energy(v, b)
        if abs(excess_of(energy.J_v)) > SOLVED:
            raise OutsideDomain(
                f"the threshold that leaves {free:g} of all directions free is not resolved"
            )
        generated = self.problem.generated
        mh, qh, Vh = map(float, generated.unreduced_variables(v, b, c, *self.problem.penalty))
        conjugates = Conjugates(mh, qh, Vh)
        m, q, V = map(
            float,
            generated.overlaps(
                energy.J, energy.J_v, energy.J_b, v, b, c, Vh, *self.problem.frobenius
            ),
        )
        return DenoisingSolution(
            conjugates, DenoisingProblem(v, b, c, energy, self.problem.target), Overlaps(m, q, V)
        )

    def image(self, y: Vector, at: DenoisingSolution, moved: Vector) -> Vector:
        """(v, c) of the conjugates, and F moved as the conjugate of m is."""
        (log_v, log_F, _), there = y, Conjugates.unpack(moved, self.problem)
        back = reduced_variables(there, self.problem)
        halfway = (
            log_F + np.log(self._energy(float(np.exp(log_v)), 0.0).J_v)
        ) / 2  # to the whole: no step may pass it
        return np.array(
            [
                np.log(back.v),
                min(log_F + np.log(there.mh / at.conjugates.mh), halfway),
                np.log(back.c),
            ]
        )

    def suit(self, conjugates: Conjugates) -> bool:
        """Whether labels could be fitted by the directions free at the noise of these conjugates, without weight decay."""
        problem = self.problem
        if (
            problem.lambda_ == 0
            or problem.leading
            or not problem.trains_factors
            or not problem.has_threshold("interpolation")
        ):
            return False
        return self._labels_over_numbers(reduced_variables(conjugates, problem).v) < 1

    def hold(self, conjugates: Conjugates) -> bool:
        """Whether these conjugates leave directions free, and fewer than the labels would without decay, as a solution does."""
        at = reduced_variables(conjugates, self.problem)
        return 0 < self._energy(at.v, at.b).J_v < self._taken(at.v)

    def _taken(self, v: float) -> float:
        return self._labels_over_numbers(v) * self._energy(v, 0.0).J_v

    def _labels_over_numbers(self, v: float) -> float:
        """Sample ratio over the greatest that the directions free at noise v can fit."""
        return self.problem.alpha / fitted_ratio(self.problem, v, 0.0)

    def _energy(self, v: float, b: float) -> Energy:
        return spectral_energy(self.problem, v, b)


def _below(top: float, log_ratio: float) -> float:
    """The threshold b with log log(top/b) = log_ratio: near the edge the logarithm of their distance, far from it that of log b."""
    return top + top * float(np.expm1(-np.exp(log_ratio)))
