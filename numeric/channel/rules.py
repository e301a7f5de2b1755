"""Averages over the output channel: one `Channel` per kind, for any model and number of tokens.

Softmax rows of tied tokens have their own module (`softmax_rules`). Other models are averaged block
by block or in closed form.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from numeric.channel.averages import Array, Averages
from numeric.channel.best_multiple import MeanLosses
from numeric.channel.block_average import mean_response
from numeric.channel.block_sample import BlockSample
from numeric.channel.blocks import BlockRule, samples
from numeric.channel.closed import ClosedRule
from numeric.channel.mean_losses import BlockLosses, ClosedLosses, SampledBlockLosses
from numeric.channel.sampled_blocks import (
    RESPONSE_POINTS,
    SampledBlockRule,
    sampled_response,
    several_minima,
)
from numeric.channel.vocabulary.graph_rule import (
    GraphRule,
    graph_response,
    several_graph_minima,
)
from numeric.maths.sobol import Sampling
from numeric.model import ChannelKind, call
from numeric.problem.axes import axis_overlaps
from numeric.problem.fields import Fields
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem


class ChannelRule(Hashable, Protocol):
    """Quadrature or sampling rule for the average over the channel."""

    @property
    def independent(self) -> bool:
        """Return whether the replicates are independent, so that their scatter is the error."""

    @property
    def roughness(self) -> float:
        """Return the relative change of the conjugates below which averages are not smooth."""

    @property
    def tolerance(self) -> float:
        """Return the largest residual of the logarithms of the conjugates at a root."""

    @property
    def accuracy(self) -> float:
        """Return the relative error that this kind of rule reaches at a reasonable cost."""

    @property
    def refinements(self) -> int:
        """Return the usual number of refinements of the coarsest rule of this kind."""

    @property
    def extra_refinements(self) -> int:
        """Return the number of further refinements if the error would leave no value."""

    @property
    def error_reduction(self) -> float:
        """Return the factor by which a refinement divides the error at best.

        If the error would stay too large, no refinement is made.
        """

    def average(self, overlaps: Overlaps, problem: Problem) -> Averages:
        """Return the averages at these order parameters.

        Args:
            overlaps: order parameters.
            problem: problem with model, target and temperatures.

        Raises:
            OutsideDomain: no pair of matrices has these order parameters, or the average is not
                resolved.
        """

    def unlearned(self, problem: Problem) -> Averages:
        """Return the averages at S = 0."""

    def refined(self) -> "ChannelRule":
        """Return a rule of this kind with a smaller error."""


class Channel(Protocol):
    """Average over the samples of one problem, for one kind of channel."""

    def coarse_rules(self) -> tuple[ChannelRule, ...]:
        """Return the coarsest rules, in the order in which to try them."""

    def responses(self, overlaps: Overlaps) -> tuple[float, ...]:
        """Return mean square responses of the dual field away from jumps, for the replicon.

        There is one number, or four for a general matrix: symmetric part, symmetric to
        antisymmetric, antisymmetric to symmetric, antisymmetric part.
        """

    def several_minima_shares(self, overlaps: Overlaps, sampling: Sampling) -> Array:
        """Return shares of samples whose energy has several minima, shape (replicates,).

        Args:
            overlaps: order parameters.
            sampling: points and replicates.
        """

    def losses(self) -> MeanLosses:
        """Return the mean losses of fresh labels."""


@dataclass(frozen=True)
class ClosedChannel:
    """Channel of a quadratic loss, averaged in closed form."""

    problem: Problem

    def coarse_rules(self) -> tuple[ChannelRule, ...]:
        """Return the only rule."""
        return (ClosedRule(),)

    def responses(self, overlaps: Overlaps) -> tuple[float, ...]:
        """Return the response in closed form."""
        return (call(self.problem.generated.closed_response, (overlaps.V,), self.problem.settings),)

    def several_minima_shares(self, overlaps: Overlaps, sampling: Sampling) -> Array:
        """Return zeros: the energy is quadratic.

        Args:
            overlaps: order parameters.
            sampling: points and replicates.
        """
        return np.zeros(sampling.replicates)

    def losses(self) -> MeanLosses:
        """Return mean losses in closed form."""
        return ClosedLosses.of(self.problem)


@dataclass(frozen=True)
class BlockChannel:
    """Channel averaged by quadrature, block by block of its visible indices."""

    problem: Problem

    def coarse_rules(self) -> tuple[ChannelRule, ...]:
        """Return one rule; four directions are too expensive for more than four digits."""
        single = all(sample.indices == 1 for sample in samples(self.problem))
        return (BlockRule(accuracy=1e-5 if single else 1e-4),)

    def responses(self, overlaps: Overlaps) -> tuple[float, ...]:
        """Return the response, summed over blocks."""
        return (
            sum(
                self._response(one, self._fields(one, overlaps), overlaps.V)
                for one in samples(self.problem)
            ),
        )

    def _fields(self, sample: BlockSample, overlaps: Overlaps) -> Fields:
        return axis_overlaps(overlaps, self.problem, sample.shares).fields

    def _response(self, sample: BlockSample, fields: Fields, V: float) -> float:
        return mean_response(sample, fields, V, BlockRule().nodes(sample, fields))

    def several_minima_shares(self, overlaps: Overlaps, sampling: Sampling) -> Array:
        """Return the shares, summed over all blocks.

        Args:
            overlaps: order parameters.
            sampling: points and replicates.
        """
        shares = [
            several_minima(one, self._fields(one, overlaps), overlaps.V, sampling)
            for one in samples(self.problem)
        ]
        return np.asarray(np.sum(shares, axis=0))

    def losses(self) -> MeanLosses:
        """Return mean losses by quadrature."""
        return BlockLosses.of(self.problem)


@dataclass(frozen=True)
class SampledBlockChannel(BlockChannel):
    """Channel averaged block by block by quasi-Monte Carlo."""

    def coarse_rules(self) -> tuple[ChannelRule, ...]:
        """Return the only rule."""
        return (SampledBlockRule(),)

    def _response(self, sample: BlockSample, fields: Fields, V: float) -> float:
        return sampled_response(sample, fields, V, RESPONSE_POINTS)

    def losses(self) -> MeanLosses:
        """Return sampled mean losses."""
        return SampledBlockLosses.of(self.problem)


@dataclass(frozen=True)
class VocabularyChannel:
    """Channel of samples that share tokens.

    Attributes:
        problem: problem with a vocabulary.
        new_tokens: channel of samples of new tokens.
    """

    problem: Problem
    new_tokens: Channel

    def coarse_rules(self) -> tuple[ChannelRule, ...]:
        """Return the only rule."""
        return (GraphRule.coarse(self.problem, self.new_tokens.coarse_rules()[0]),)

    def responses(self, overlaps: Overlaps) -> tuple[float, ...]:
        """Return the response of sampled graphs."""
        return (graph_response(overlaps, self.problem, RESPONSE_POINTS),)

    def several_minima_shares(self, overlaps: Overlaps, sampling: Sampling) -> Array:
        """Return shares of samples whose scores depend on the start of the search.

        Args:
            overlaps: order parameters.
            sampling: points and replicates.
        """
        return several_graph_minima(overlaps, self.problem, sampling)

    def losses(self) -> MeanLosses:
        """Return the mean losses of fresh labels, of new tokens."""
        return self.new_tokens.losses()


def channel_of(problem: Problem) -> Channel:
    """Return the channel of a problem."""
    if problem.has_vocabulary:
        return VocabularyChannel(problem, channel_of(problem.of_new_tokens))
    match problem.channel:
        case ChannelKind.CLOSED:
            return ClosedChannel(problem)
        case ChannelKind.BLOCKS:
            return BlockChannel(problem)
        case ChannelKind.SAMPLED_BLOCKS:
            return SampledBlockChannel(problem)
        case ChannelKind.TIED_SOFTMAX:
            # Its equations are derived only for models of this channel.
            from numeric.channel.softmax_rules import TiedSoftmaxChannel

            return TiedSoftmaxChannel(problem)


def coarse_rules(problem: Problem) -> tuple[ChannelRule, ...]:
    """Return the coarsest rules for a problem, in the order in which to try them."""
    return channel_of(problem).coarse_rules()


def default_accuracy(problem: Problem) -> float | None:
    """Return the default relative accuracy; None for closed channels, exact up to rounding."""
    exact = problem.channel is ChannelKind.CLOSED and not problem.has_vocabulary
    return None if exact else coarse_rules(problem)[0].accuracy
