"""Test errors where leading features are kept exactly: averages over sequences' own law of their indices (theory note, section 10).

Every map is judged on the same points, so that differences of test errors scatter far less than the errors themselves.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np
import scipy

from numeric.channel.best_multiple import BestMultiple, minimise_sampled_error
from numeric.channel.softmax.whitened_index import TokenIndex, token_index
from numeric.laws.law import Array
from numeric.maths.replicates import Estimate, half_width
from numeric.maths.sobol import Sampling, gaussians
from numeric.model import float64 as generated
from numeric.problem.fields import Fields, split
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution

SAMPLING = Sampling(1 << 15)  # excess errors of order .1 then scatter by 2e-3 of them


@dataclass(frozen=True)
class LeadingPrediction:
    """Predictions of a problem whose leading features keep their own law (see Prediction); decay and samples do not enter."""

    problem: Problem

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """The same for equal labels."""
        return cls(replace(problem, alpha=1.0, lambda_=1.0))

    def fitted_error(self) -> Estimate:
        """Square loss."""
        return Estimate(0.0, 0.0)

    def test_error(self, overlaps: Overlaps) -> Estimate:
        """With the scatter of replicates."""
        errors = self.errors(overlaps)
        return Estimate(float(errors.mean()), float(half_width(errors)))

    def best_multiple(self) -> BestMultiple:
        """By minimisation: the error has a scatter, its differences have less."""
        return BestMultiple(_best_factor(self), float(self._errors_at_best().mean()))

    def excess_error(self, solution: Solution, overlaps: Overlaps) -> Estimate:
        """With the scatter of the difference, and the error of the overlaps: an excess is in proportion to the estimation error."""
        differences = self.errors(overlaps) - self._errors_at_best()
        excess = float(differences.mean())
        of_overlaps = solution.errors["estimation_error"] / solution.estimation_error
        return Estimate(excess, abs(excess) * of_overlaps + float(half_width(differences)))

    def errors(self, overlaps: Overlaps) -> Array:
        """Test errors by replicates, shape (replicates,); each point is taken with both signs of what only the student sees."""
        problem = self.problem
        students, target = _indices(split(overlaps, problem).fields(), token_index(problem.tokens))
        labels = scipy.special.softmax(problem.beta0 * target, axis=-1)
        residuals = [
            generated.residual(scipy.special.softmax(problem.beta * one, axis=-1), labels)
            for one in students
        ]
        losses = [np.sum(generated.entry_loss(residual), axis=(1, 2)) for residual in residuals]
        return np.asarray(np.mean(losses, axis=0).reshape(SAMPLING.replicates, -1).mean(axis=1))

    def multiple(self, c: float) -> Overlaps:
        """Overlaps of c S0."""
        m, q = generated.multiple_overlaps(c, self.problem.q0)
        return Overlaps(m, q, 0.0, learned=tuple(c * self.problem.features[0]))

    def _errors_at_best(self) -> Array:
        return _errors(self, _best_factor(self))


@lru_cache(maxsize=16)
def _errors(prediction: LeadingPrediction, c: float) -> Array:
    return prediction.errors(prediction.multiple(c))


@lru_cache(maxsize=16)
def _best_factor(prediction: LeadingPrediction) -> float:
    problem = prediction.problem
    return minimise_sampled_error(
        lambda c: float(prediction.errors(prediction.multiple(c)).mean()),
        problem.beta,
        problem.beta0,
    )


def _indices(fields: Fields, index: TokenIndex) -> tuple[list[Array], Array]:
    """Indices of the student with either sign of gamma2, and of the target, at every point, each of shape (points, T, T)."""
    even, features, tokens = index.visible_symmetric, len(fields.target_features), len(index.scale)
    points = gaussians(2 * even + features * tokens, SAMPLING)
    gamma1, gamma2 = (points[:, k * even : (k + 1) * even] @ index.visible.T for k in (0, 1))
    z = points[:, 2 * even :].reshape(len(points), features, tokens)
    one, other = np.triu_indices(tokens)  # the order of components
    of_student, of_target = np.zeros((2, len(points), len(one)))
    for k, (student, target) in enumerate(
        zip(fields.student_features, fields.target_features, strict=True)
    ):
        product = generated.feature_index(
            z[:, k, one], z[:, k, other], np.where(one == other, 1.0, 0.0)
        )
        of_student += student * product
        of_target += target * product

    def at(gaussian: Array, leading: Array) -> Array:
        return index.scale * gaussian[:, index.component] + leading[:, index.component]

    seen, unseen = fields.teacher * gamma1, fields.independent * gamma2
    students = [at(seen + sign * unseen, of_student) for sign in (1, -1)]
    return students, at(fields.target * gamma1, of_target)
