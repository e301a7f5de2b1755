"""Unknowns for zero weight decay and sample ratios slightly above interpolation.

V diverges at the threshold and the conjugates vanish. To leading order the image of V is V itself;
different V differ by the sample ratio alpha(V) for which the image of Vh is Vh. The distance of
alpha(V) from the threshold decreases as a power of V: as V^(-1/2) for V from 10^2 to 10^4
(measured), up to 1/V for larger V. The iteration therefore shifts log V by the logarithm of the
ratio of this distance to the distance of the given sample ratio; this map contracts. The noise and
the gain of the threshold are a start for every sample ratio close to it.
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

FAR = 2.0  # in units of the threshold: above it, logarithms of the conjugates work from S = 0
LEAST_MOVE = 0.1  # least factor of V in a step: no V belongs to a sample ratio below the threshold


@dataclass(frozen=True)
class AboveInterpolation:
    """Logarithms of (v, V, c) for a trace penalty.

    Attributes:
        problem: the problem.
        threshold: sample ratio of the interpolation threshold.
        noise: noise variance v at the threshold (eigenvalue^2).
    """

    problem: Problem
    threshold: float
    noise: float

    @classmethod
    def of(cls, problem: Problem) -> Self | None:
        """Return the unknowns of a problem, None if they are not suitable."""
        if problem.lambda_ > 0 or problem.leading or problem.is_indefinite:
            return None
        least, most, noise = interpolation_bounds(problem)
        return cls(problem, least, noise) if most < problem.alpha < FAR * most else None

    def at_threshold(self) -> Vector:
        """Return the coordinates of the threshold, with V for a distance of 1/sqrt(V) from it."""
        gain = float(
            self.problem.generated.interpolating_gain(self.problem.beta, self.problem.beta0)
        )
        return np.log([self.noise, (self.problem.alpha - self.threshold) ** -2, gain])

    def coordinates(self, conjugates: Conjugates) -> Vector:
        """Return the coordinates y, shape (3,)."""
        at = estimator_of(self.problem).denoised(conjugates)
        return np.log([at.denoising.v, at.overlaps.V, at.denoising.c])

    def denoised(self, y: Vector) -> DenoisingSolution:
        """Solve the denoising problem at coordinates y, where all directions are free.

        The conjugates are multiples of those at unit decay and unit threshold.

        Raises:
            OutsideDomain: a coordinate is outside the range of double precision.
        """
        v, V, c = map(float, np.exp(y))
        if not (0 < v < np.inf and 0 < V < np.inf and 0 < c < np.inf):
            at_values = f"v = {v:g}, V = {V:g}, c = {c:g}"
            rule = "outside the range of double precision"
            raise OutsideDomain(f"no denoising problem at {at_values}: {rule}")
        decayed = replace(self.problem, lambda_=1.0)
        mh, qh, Vh = map(float, decayed.generated.unreduced_variables(v, 1.0, c, *decayed.penalty))
        at = estimator_of(self.problem).denoised(Conjugates(mh, qh, Vh))
        scale = at.overlaps.V / V  # of the conjugates; v, c, m and q do not depend on it
        there = Conjugates(scale * mh, scale**2 * qh, scale * Vh)
        return at._replace(conjugates=there, overlaps=at.overlaps._replace(V=V))

    def image(self, y: Vector, at: DenoisingSolution, moved: Vector) -> Vector:
        """Return the image of y, at the sample ratio for which V is a solution.

        Args:
            y: coordinates.
            at: denoising solution at y.
            moved: logarithms of the images of the conjugates.
        """
        there = Conjugates.unpack(moved, self.problem)
        back = reduced_variables(there, self.problem)
        alpha, threshold = self.problem.alpha, self.threshold
        ratio = at.conjugates.Vh / there.Vh  # alpha(V)/alpha: conjugates are proportional to alpha
        log_move = np.log(max((ratio * alpha - threshold) / (alpha - threshold), LEAST_MOVE))
        return np.array([np.log(back.v / ratio), y[1] + log_move, np.log(back.c)])
