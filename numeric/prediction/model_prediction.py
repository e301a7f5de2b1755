"""How students of any model predict fresh labels: average losses over its blocks, or in closed form (theory note, section 7)."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np

from numeric.channel.block_average import Nodes, fitted_loss_mean, fresh_loss_mean, index_strip, least_loss_mean
from numeric.channel.blocks import samples
from numeric.channel.closed import closed_envelope
from numeric.channel.noisy_blocks import fresh_losses
from numeric.maths.domain import InvalidParameter
from numeric.maths.replicates import half_width
from numeric.maths.sobol import Sampling
from numeric.model import float64 as generated
from numeric.prediction.best_multiple import BestMultiple, root_of_slope
from numeric.prediction.label_parameters import Estimate, fields_at
from numeric.problem.fields import Fields
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution

SINGLE, SEVERAL = 60, 18  # nodes along each direction of blocks of one visible index, and of more
STEP = 1e-4  # relative, of a central difference: its error and that of rounding are both below 1e-7 of the slope
LABEL_SAMPLING = Sampling(4096)  # with noise on the labels, which samples have more numbers for than a grid would hold
CHECK = 2 / 3  # of the nodes, for an error estimate


@dataclass(frozen=True)
class ModelPrediction:
    """Predictions of a model at its target, noise and temperatures (see Prediction); `problem` states no more than these."""

    problem: Problem

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """The same for all sample ratios, decays and widths."""
        return cls(replace(problem, alpha=1.0, lambda_=1.0, width=1.0))

    def test_error(self, overlaps: Overlaps) -> Estimate:
        """Mean loss of fresh samples at these overlaps."""
        return self.error_at(overlaps.m, overlaps.q)

    def error_at(self, m: float, q: float) -> Estimate:
        """The same by m and q (eigenvalue^2).

        Raises:
            OutsideDomain: m^2 > q rho, beyond rounding.
        """
        if self.problem.channel == "closed":
            *_, value = closed_envelope(self.problem, m, q, 0.0)
            return Estimate(float(value), 0.0)
        if self.problem.channel == "noisy blocks":
            return self._sampled_error(m, q)
        fine, coarse = (self._mean_loss(m, q, share) for share in (1.0, CHECK))
        return Estimate(fine, abs(fine - coarse))

    def _mean_loss(self, m: float, q: float, share: float) -> float:
        fields = fields_at(m, q, self.problem.rho)
        return float(sum(fresh_loss_mean(one, fields, _nodes(one, fields, share)) for one in samples(self.problem)))

    def _sampled_error(self, m: float, q: float) -> Estimate:
        """With noise on the labels, which the mean loss holds."""
        fields = fields_at(m, q, self.problem.rho)
        losses = np.sum([fresh_losses(one, fields, LABEL_SAMPLING) for one in samples(self.problem)], axis=0)
        return Estimate(float(np.mean(losses)), float(half_width(losses)))

    def fitted_error(self) -> Estimate:
        """By the label's own index."""
        q = self.problem.rho
        if self.problem.channel == "closed":
            return self.error_at(q, q)
        blocks, fields = samples(self.problem), fields_at(0.0, q, q)
        fine, coarse = (
            float(sum(fitted_loss_mean(one, q, _nodes(one, fields, share)) for one in blocks)) for share in (1.0, CHECK)
        )
        return Estimate(fine, abs(fine - coarse))

    def best_multiple(self) -> BestMultiple:
        """By the root of the slope."""
        return _best_multiple(self)

    def multiple_slope(self, c: float) -> float:
        """Derivative in c of the test error of c S0, by a central difference on the same nodes."""
        high, low = (self.error_at(*_of_multiple(c * (1 + side * STEP), self.problem)).value for side in (1, -1))
        return (high - low) / (2 * STEP * c)

    def excess_error(self, solution: Solution, overlaps: Overlaps) -> Estimate:
        """With the errors of the solution and of the average."""
        value, averaging = self.test_error(overlaps)
        return Estimate(value - self.best_multiple().test_error, solution.errors["test_error"] + averaging)

    def least_test_error(self) -> float:
        """Mean loss of the best function of a sample that the output can be: what the label noise leaves to any student.

        Raises:
            InvalidParameter: noise on the label, which is sampled.
        """
        if self.problem.channel == "closed":  # the mean of the label is linear in the target's index
            return self.best_multiple().test_error
        q0, rho = self.problem.q0, self.problem.rho
        if self.problem.channel == "noisy blocks":
            rule = "samples the noise on its labels, and what is left to the best prediction is below that error"
            raise InvalidParameter("model", self.problem.model, rule, "use one with noise inside")
        parts = (
            least_loss_mean(one, q0, rho, _nodes(one, fields_at(q0, q0, rho), 1.0)) for one in samples(self.problem)
        )
        return float(sum(parts))

    def mismatch(self, c: float) -> float:
        """The test error of c S0 beyond the least one."""
        return self.error_at(*_of_multiple(c, self.problem)).value - self.least_test_error()


def _of_multiple(c: float, problem: Problem) -> tuple[float, float]:
    m, q = generated.multiple_overlaps(c, problem.q0)
    return float(m), float(q)


def _nodes(sample, fields: Fields, share: float) -> Nodes:  # type: ignore[no-untyped-def]
    return Nodes(int(share * (SINGLE if sample.indices == 1 else SEVERAL)), index_strip(sample, fields))


@lru_cache(maxsize=64)
def _best_multiple(prediction: ModelPrediction) -> BestMultiple:
    problem = prediction.problem
    c = root_of_slope(prediction.multiple_slope, problem.beta, problem.beta0)
    return BestMultiple(c, prediction.error_at(*_of_multiple(c, problem)).value)
