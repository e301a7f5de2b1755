"""Test errors with exact leading features: averages over the true law of the indices of sequences.

Source: theory note, section 10. All maps use the same points: differences of test errors scatter
far less than the errors.
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

SAMPLING = Sampling(1 << 15)  # excess errors near 0.1 have a relative scatter of 2e-3


@dataclass(frozen=True)
class LeadingPrediction:
    """Predictions of a problem with exact leading features (see Prediction).

    Weight decay and sample ratio do not matter.
    """

    problem: Problem

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return the predictions of a problem, equal for equal labels."""
        return cls(replace(problem, alpha=1.0, lambda_=1.0))

    def fitted_error(self) -> Estimate:
        """Return zero: the loss is square."""
        return Estimate(0.0, 0.0)

    def test_error(self, overlaps: Overlaps) -> Estimate:
        """Return the mean loss; its error is from the scatter of replicates."""
        errors = self.errors(overlaps)
        return Estimate(float(errors.mean()), float(half_width(errors)))

    def best_multiple(self) -> BestMultiple:
        """Return the multiple at the sampled minimum."""
        return BestMultiple(_best_factor(self), float(_best_errors(self).mean()))

    def excess_error(self, solution: Solution, overlaps: Overlaps) -> Estimate:
        """Return the excess; its error adds the scatter and the error of the overlaps.

        The excess is proportional to the estimation error.

        Args:
            solution: solution of the saddle-point equations.
            overlaps: its order parameters.
        """
        differences = self.errors(overlaps) - _best_errors(self)
        excess = float(differences.mean())
        of_overlaps = solution.errors["estimation_error"] / solution.estimation_error
        return Estimate(excess, abs(excess) * of_overlaps + float(half_width(differences)))

    def errors(self, overlaps: Overlaps) -> Array:
        """Return test errors, shape (replicates,), from points with both signs of gamma2."""
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
        """Return the overlaps of c S0."""
        m, q = generated.multiple_overlaps(c, self.problem.q0)
        return Overlaps(m, q, 0.0, learned=tuple(c * self.problem.features[0]))


@lru_cache(maxsize=16)
def _best_errors(prediction: LeadingPrediction) -> Array:
    return prediction.errors(prediction.multiple(_best_factor(prediction)))


@lru_cache(maxsize=16)
def _best_factor(prediction: LeadingPrediction) -> float:
    problem = prediction.problem
    return minimise_sampled_error(
        lambda c: float(prediction.errors(prediction.multiple(c)).mean()),
        problem.beta,
        problem.beta0,
    )


def _indices(fields: Fields, index: TokenIndex) -> tuple[list[Array], Array]:
    """Return student indices for both signs of gamma2, and target indices.

    Each has shape (points, T, T).
    """
    even, features, tokens = index.visible_symmetric, len(fields.target_features), len(index.scale)
    points = gaussians(2 * even + features * tokens, SAMPLING)
    gamma1, gamma2 = (points[:, k * even : (k + 1) * even] @ index.visible.T for k in (0, 1))
    z = points[:, 2 * even :].reshape(len(points), features, tokens)
    one, other = np.triu_indices(tokens)  # the order of components
    of_student, of_target = np.zeros((2, len(points), len(one)))
    shares = zip(fields.student_features, fields.target_features, strict=True)
    for k, (student, target) in enumerate(shares):
        same = np.where(one == other, 1.0, 0.0)
        product = generated.feature_index(z[:, k, one], z[:, k, other], same)
        of_student += student * product
        of_target += target * product

    def at(gaussian: Array, leading: Array) -> Array:
        return index.scale * gaussian[:, index.component] + leading[:, index.component]

    seen, unseen = fields.teacher * gamma1, fields.independent * gamma2
    students = [at(seen + sign * unseen, of_student) for sign in (1, -1)]
    return students, at(fields.target * gamma1, of_target)
