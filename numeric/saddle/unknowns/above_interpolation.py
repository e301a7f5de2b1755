"""Unknowns at no weight decay and hardly more samples than can be interpolated.

There V diverges and the conjugates vanish. The image of V is V itself, to leading order; what tells one V from another is the sample
ratio alpha(V) that it would solve, at which the image of V_hat is V_hat. Its distance from the threshold falls like a power of V, the
inverse square root (measured for V of 10^2 to 10^4) to the inverse beyond, so that moving log V by the logarithm of its ratio to that
of the sample ratio asked for contracts, and the noise and gain of the threshold are a start for any sample ratio close to it.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from numeric.maths.domain import OutsideDomain
from numeric.maths.fixed_point import Vector
from numeric.problem.conjugates import Conjugates
from numeric.problem.problem import Problem
from numeric.saddle.estimator import DenoisingSolution, estimator_of, reduced_variables
from numeric.saddle.zero_decay import interpolation_bounds

FAR = 2.0  # times the threshold: from there on S = 0 is a start, and the logarithms of the conjugates are good unknowns
LEAST_MOVE = 0.1  # of V in one step: a sample ratio below the threshold, that of a wrong noise, belongs to no V


@dataclass(frozen=True)
class AboveInterpolation:
    """Logarithms of (v, V, c) for a trace penalty; `threshold` and `noise` are the sample ratio and the v of interpolation."""

    problem: Problem
    threshold: float
    noise: float

    @classmethod
    def of(cls, problem: Problem) -> Self | None:
        """Those of a problem, none where they do not suit it."""
        if problem.lambda_ > 0 or problem.leading or problem.is_indefinite:
            return None
        least, most, noise = interpolation_bounds(problem)
        return cls(problem, least, noise) if most < problem.alpha < FAR * most else None

    def at_threshold(self) -> Vector:
        """Coordinates of the threshold, with the V of a distance from it like 1/sqrt(V)."""
        gain = float(
            self.problem.generated.interpolating_gain(self.problem.beta, self.problem.beta0)
        )
        return np.log([self.noise, (self.problem.alpha - self.threshold) ** -2, gain])

    def coordinates(self, conjugates: Conjugates) -> Vector:
        """Coordinates y."""
        at = estimator_of(self.problem).denoised(conjugates)
        return np.log([at.denoising.v, at.overlaps.V, at.denoising.c])

    def denoised(self, y: Vector) -> DenoisingSolution:
        """At the conjugates that leave all directions free and give this V: multiples of those at unit decay and threshold."""
        v, V, c = map(float, np.exp(y))
        if not (0 < v < np.inf and 0 < V < np.inf and 0 < c < np.inf):
            raise OutsideDomain(
                f"no denoising problem at v = {v:g}, V = {V:g}, c = {c:g}: beyond double precision"
            )
        decayed = replace(self.problem, lambda_=1.0)
        mh, qh, Vh = map(float, decayed.generated.unreduced_variables(v, 1.0, c, *decayed.penalty))
        at = estimator_of(self.problem).denoised(Conjugates(mh, qh, Vh))
        scale = at.overlaps.V / V  # of the conjugates, on which v, c, m and q do not depend
        there = Conjugates(scale * mh, scale**2 * qh, scale * Vh)
        return at._replace(conjugates=there, overlaps=at.overlaps._replace(V=V))

    def image(self, y: Vector, at: DenoisingSolution, moved: Vector) -> Vector:
        """(v, c) of the conjugates at the sample ratio that V solves, and V moved by how far that is from the threshold."""
        there = Conjugates.unpack(moved, self.problem)
        back = reduced_variables(there, self.problem)
        ratio = (
            at.conjugates.Vh / there.Vh
        )  # of the sample ratio that V solves to that given: conjugates grow with it
        reached = (ratio * self.problem.alpha - self.threshold) / (
            self.problem.alpha - self.threshold
        )
        return np.array(
            [np.log(back.v / ratio), y[1] + np.log(max(reached, LEAST_MOVE)), np.log(back.c)]
        )
