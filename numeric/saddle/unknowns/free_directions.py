"""Unknowns for few samples and weak decay, where the labels leave the student free.

The threshold b then lies just inside the noise: a small change of the conjugates decides between
learning nothing and everything. The map of the conjugates repels, and its residual is a large
multiple of the rounding error. The fraction F = J_v(v, b) of free directions, in contrast, is fixed
by the number of labels and depends little on other parameters; b follows from it. The map contracts
in the logarithms of (v, F, c). Its residuals come from v, from the conjugate of m, and from c.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from numeric.laws.law import Energy
from numeric.maths.domain import OutsideDomain
from numeric.maths.fixed_point import Vector
from numeric.problem.conjugates import Conjugates
from numeric.problem.problem import Problem
from numeric.saddle.estimator import (
    DenoisingSolution,
    ReducedVariables,
    fitted_ratio,
    reduced_variables,
    spectral_energy,
    thresholded_solution,
    upper_edge,
)

# Largest log log(edge/b), at which the threshold is negligible, and the width of a bracket.
LEAST, STRIDE = float(np.log(40.0)), 4.0
SOLVED = 1e-3  # tolerance of log F; rounding of the distance limits it next to an edge
NO_DIRECTION = -1e3  # replaces log(0) beyond the edge: a bracket needs a finite number
HALF = 0.5  # start, as a fraction of the directions that the labels fix without decay


@dataclass(frozen=True)
class FreeDirections:
    """Logarithms of (v, F, c) for a trace penalty."""

    problem: Problem

    def coordinates(self, conjugates: Conjugates) -> Vector:
        """Return the coordinates y; F is replaced if no solution has this value."""
        v, b, c, _ = reduced_variables(conjugates, self.problem)
        free, taken = self._energy(v, b).J_v, self._taken(v)
        return np.log([v, free if 0 < free < taken else HALF * taken, c])

    def denoised(self, y: Vector) -> DenoisingSolution:
        """Solve the denoising problem at coordinates y.

        The threshold is found by its distance from the edge, which may be small.

        Raises:
            OutsideDomain: no threshold leaves this fraction of directions free.
        """
        v, free, c = map(float, np.exp(y))
        top = upper_edge(self.problem, v)

        def excess_of(left: float) -> float:
            return float(np.log(left / free)) if left > 0 else NO_DIRECTION

        def excess(log_ratio: float) -> float:
            try:
                return excess_of(self._energy(v, _below(top, log_ratio)).J_v)
            except OutsideDomain:  # the law is not resolved close to an edge
                return NO_DIRECTION

        near = LEAST
        while excess(near) > 0:
            near -= STRIDE
        if near == LEAST:
            raise OutsideDomain(f"no threshold leaves {free:g} of all directions free")
        root = scipy.optimize.brentq(excess, near, near + STRIDE, xtol=1e-14, rtol=1e-14)
        at = ReducedVariables(v, _below(top, float(root)), c)
        energy = self._energy(v, at.b)
        if abs(excess_of(energy.J_v)) > SOLVED:
            rule = f"the threshold that leaves {free:g} of all directions free is not resolved"
            raise OutsideDomain(rule)
        unreduced = self.problem.generated.unreduced_variables(
            at.v, at.b, at.c, *self.problem.penalty
        )
        mh, qh, Vh = map(float, unreduced)
        return thresholded_solution(self.problem, Conjugates(mh, qh, Vh), at, energy)

    def image(self, y: Vector, at: DenoisingSolution, moved: Vector) -> Vector:
        """Return the image of y, in which F changes like the conjugate of m.

        Args:
            y: coordinates.
            at: denoising solution at y.
            moved: logarithms of the new conjugates.
        """
        (log_v, log_F, _), there = y, Conjugates.unpack(moved, self.problem)
        back = reduced_variables(there, self.problem)
        whole = np.log(self._energy(float(np.exp(log_v)), 0.0).J_v)
        halfway = (log_F + whole) / 2  # a step must not pass the whole
        new_log_F = min(log_F + np.log(there.mh / at.conjugates.mh), halfway)
        return np.array([np.log(back.v), new_log_F, np.log(back.c)])

    def are_suitable(self, conjugates: Conjugates) -> bool:
        """Return whether the free directions could fit the labels without weight decay."""
        problem = self.problem
        if (
            problem.lambda_ == 0
            or problem.leading
            or problem.has_norms
            or problem.has_vocabulary
            or not problem.trains_factors
            or not problem.has_threshold("interpolation")
        ):
            return False
        return self._labels_over_numbers(reduced_variables(conjugates, problem).v) < 1

    def contain(self, conjugates: Conjugates) -> bool:
        """Return whether F is positive and below its value without decay, as at a solution."""
        at = reduced_variables(conjugates, self.problem)
        return 0 < self._energy(at.v, at.b).J_v < self._taken(at.v)

    def _taken(self, v: float) -> float:
        return self._labels_over_numbers(v) * self._energy(v, 0.0).J_v

    def _labels_over_numbers(self, v: float) -> float:
        """Return the sample ratio divided by the largest that the free directions can fit."""
        return self.problem.alpha / fitted_ratio(self.problem, v, 0.0)

    def _energy(self, v: float, b: float) -> Energy:
        return spectral_energy(self.problem, v, b)


def _below(top: float, log_ratio: float) -> float:
    """Return the threshold b with log log(top/b) = log_ratio."""
    return top + top * float(np.expm1(-np.exp(log_ratio)))
