"""The saddle-point equations as a map of the conjugates (theory note, section 3)."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from numeric.channel.rules import Averages, ChannelRule
from numeric.maths.fixed_point import Vector
from numeric.model import float64 as generated
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from numeric.saddle.estimator import Denoised, prior_of


@lru_cache(maxsize=4)  # where an iteration ends its quantities are asked for next
def _average(rule: ChannelRule, overlaps: Overlaps, problem: Problem) -> Averages:
    return rule.average(overlaps, problem)


@dataclass(frozen=True)
class SaddleMap:
    """F(log conjugates) = log conjugates, with one channel rule."""

    problem: Problem
    rule: ChannelRule

    def averages(self, at: Denoised) -> Averages:
        """Channel averages at the overlaps of the student there; those of S = 0 where nothing is learned."""
        if at.overlaps.q == 0:
            return self.rule.unlearned(self.problem)
        return _average(self.rule, at.overlaps, self.problem)

    def conjugates(self, averages: Averages) -> Vector:
        """Logarithms of the conjugates, shape (replicates, unknowns); not finite where a sign is wrong."""
        alpha, general = self.problem.alpha, np.any(averages.dM_dq_odd != 0)
        even = generated.conjugates(alpha, averages.dM_dm, averages.dM_dq, averages.dM_dV)
        odd = generated.conjugates(alpha, 0.0, averages.dM_dq_odd, averages.dM_dV_odd)
        values = np.stack([*even, *(odd[1:] if general else ()), *averages.strengths.T], axis=-1)
        return np.log(np.where(values > 0, values, np.nan))

    def unlearned(self) -> Vector:
        """Logarithms of the conjugates at S = 0."""
        return self.conjugates(self.rule.unlearned(self.problem).mean())[0]

    def image(self, at: Denoised) -> Vector:
        """Logarithms of the conjugates that the channel gives back."""
        return self.conjugates(self.averages(at).mean())[0]

    def __call__(self, x: Vector) -> Vector:
        """One application; not a number where the channel average does not exist or cannot be resolved."""
        try:
            return self.image(prior_of(self.problem).denoised(x))
        except (ArithmeticError, ValueError):
            return np.full_like(x, np.nan)

    def quantities(self, at: Denoised, averages: Averages) -> Vector:
        """Values of QUANTITIES there, shape (replicates, quantities)."""
        problem, prior = self.problem, prior_of(self.problem)
        x, denoising, overlaps = at
        fixed = (*overlaps[:3], *np.exp(x[:3]), np.sqrt(denoising.v), np.nan if denoising.b is None else denoising.b)
        m, q, c = overlaps.m, overlaps.q + overlaps.q_odd, denoising.c
        estimation = generated.estimation_error(problem.q0, m, q)
        unit_gain = prior.risk(at).value
        rows = (
            (*fixed, c, train, test, estimation, unit_gain, prior.free_entropy(at, M))
            for M, train, test in zip(averages.M, averages.train_error, averages.test_error, strict=True)
        )
        return np.array([list(row) for row in rows], dtype=float)
