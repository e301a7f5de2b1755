"""Mean losses of fresh labels of any model, averaged over its blocks or in closed form.

Source: theory note, section 7.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from attention_erm.runtime.errors import InvalidParameter
from numeric.channel.best_multiple import best_multiple
from numeric.channel.block_average import (
    Nodes,
    fitted_loss_mean,
    fresh_loss_mean,
    index_strip,
    least_loss_mean,
)
from numeric.channel.block_sample import BlockSample
from numeric.channel.blocks import samples
from numeric.channel.closed import closed_envelope
from numeric.channel.sampled_blocks import fresh_losses
from numeric.maths.replicates import Estimate, half_width
from numeric.maths.sobol import Sampling
from numeric.model import float64 as generated
from numeric.model import structure
from numeric.problem.fields import Fields
from numeric.problem.labels import Labels, fields_at
from numeric.problem.problem import Problem

SINGLE, SEVERAL = 60, 18  # nodes per direction in blocks of one visible index, and of several
# Relative step of a central difference: truncation and rounding errors are below 1e-7.
STEP = 1e-4
# Labels with added noise are sampled: they have too many dimensions for a grid.
LABEL_SAMPLING = Sampling(4096)
CHECK = 2 / 3  # share of the nodes in the coarse rule of the error estimate


@dataclass(frozen=True)
class BlockLosses:
    """Mean losses by quadrature, block by block (see MeanLosses).

    They depend only on target, noise and temperatures of `problem`.
    """

    problem: Problem

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return the mean losses of a problem; sample ratio, decay and width do not matter."""
        problem.require_gaussian_norms("mean losses of fresh labels")
        return cls(replace(problem, alpha=1.0, lambda_=1.0, width=1.0))

    @property
    def labels(self) -> Labels:
        """Parameters of the labels."""
        return Labels.of(self.problem)

    def test_error(self, m: float, q: float) -> Estimate:
        """Return the mean loss; its error is the change from a coarser rule.

        Args:
            m: overlap with the target, eigenvalue^2.
            q: second moment of the student, eigenvalue^2.
        """
        fields = fields_at(m, q, self.problem.rho)
        return self._with_error(
            lambda one, share: fresh_loss_mean(one, fields, _nodes(one, fields, share))
        )

    def fitted_error(self) -> Estimate:
        """Return the mean loss; its error is the change from a coarser rule."""
        rho, fields = self.problem.rho, fields_at(0.0, self.problem.rho, self.problem.rho)
        return self._with_error(
            lambda one, share: fitted_loss_mean(one, rho, _nodes(one, fields, share))
        )

    def _with_error(self, mean: Callable[[BlockSample, float], float]) -> Estimate:
        """Return the sum of a mean over blocks; the arguments are a block and a node fraction."""
        fine, coarse = (
            float(sum(mean(one, share) for one in samples(self.problem))) for share in (1.0, CHECK)
        )
        return Estimate(fine, abs(fine - coarse))

    def multiple_slope(self, c: float) -> float:
        """Return the slope as a central difference on the same nodes."""
        high, low = (self._multiple_error(c * (1 + side * STEP)) for side in (1, -1))
        return (high - low) / (2 * STEP * c)

    def least_test_error(self) -> float:
        """Return the mean loss of the best prediction among the possible outputs."""
        q0, rho = self.problem.q0, self.problem.rho
        fields, blocks = fields_at(q0, q0, rho), samples(self.problem)
        return sum(least_loss_mean(one, q0, rho, _nodes(one, fields, 1.0)) for one in blocks)

    def mismatch(self, c: float) -> float:
        """Return the test error of c S0 minus the least one."""
        return self._multiple_error(c) - self.least_test_error()

    def _multiple_error(self, c: float) -> float:
        m, q = generated.multiple_overlaps(c, self.problem.q0)
        return self.test_error(float(m), float(q)).value


@dataclass(frozen=True)
class SampledBlockLosses(BlockLosses):
    """Mean losses of blocks by sampling."""

    def test_error(self, m: float, q: float) -> Estimate:
        """Return the mean loss; its error is from the scatter of replicates.

        Args:
            m: overlap with the target, eigenvalue^2.
            q: second moment of the student, eigenvalue^2.
        """
        fields = fields_at(m, q, self.problem.rho)
        losses = np.sum(
            [fresh_losses(one, fields, LABEL_SAMPLING) for one in samples(self.problem)], axis=0
        )
        return Estimate(float(np.mean(losses)), float(half_width(losses)))

    def least_test_error(self) -> float:
        """Raise InvalidParameter: the sampling error exceeds the least error.

        Raises:
            InvalidParameter: always.
        """
        model = self.problem.model
        sampled, way_out = "averages of three or more indices", "choose a model of smaller blocks"
        if structure(model).has_noise_on_label:
            sampled, way_out = "label noise", "choose a model with noise inside the output"
        rule = f"has sampled {sampled}, whose error exceeds the error of the best prediction"
        raise InvalidParameter("model", model, rule, way_out)


@dataclass(frozen=True)
class ClosedLosses(BlockLosses):
    """Mean losses in closed form."""

    def test_error(self, m: float, q: float) -> Estimate:
        """Return the mean loss, exact up to rounding.

        Args:
            m: overlap with the target, eigenvalue^2.
            q: second moment of the student, eigenvalue^2.
        """
        *_, value = closed_envelope(self.problem, m, q, 0.0)
        return Estimate(float(value), 0.0)

    def fitted_error(self) -> Estimate:
        """Return the mean loss, exact up to rounding."""
        return self.test_error(self.problem.rho, self.problem.rho)

    def least_test_error(self) -> float:
        """Return the test error of the best multiple: the mean label is linear in the target
        index.
        """
        return best_multiple(self).test_error


def _nodes(sample: BlockSample, fields: Fields, share: float) -> Nodes:
    count = SINGLE if sample.indices == 1 else SEVERAL
    return Nodes(int(share * count), index_strip(sample, fields))
