"""Averages over the output channel: one `Channel` per kind, for any model and number of tokens.

Softmax rows of tied tokens have their own module (`softmax_rules`). Other models are averaged block
by block or in closed form.
"""

from dataclasses import dataclass

import numpy as np

from numeric.channel.averages import Array
from numeric.channel.best_multiple import MeanLosses
from numeric.channel.block_average import mean_response
from numeric.channel.block_sample import BlockSample
from numeric.channel.blocks import BlockRule, samples
from numeric.channel.closed import ClosedRule, closed_response
from numeric.channel.interfaces import Channel, ChannelRule
from numeric.channel.mean_losses import BlockLosses, ClosedLosses, SampledBlockLosses
from numeric.channel.sampled_blocks import (
    RESPONSE_POINTS,
    SampledBlockRule,
    sampled_response,
    several_minima,
)
from numeric.maths.sobol import Sampling
from numeric.model import ChannelKind
from numeric.problem.axes import axis_overlaps
from numeric.problem.fields import Fields
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem


@dataclass(frozen=True)
class ClosedChannel:
    """Channel of a quadratic loss, averaged in closed form."""

    problem: Problem

    def coarse_rules(self) -> tuple[ChannelRule, ...]:
        """Return the only rule."""
        return (ClosedRule(),)

    def responses(self, overlaps: Overlaps) -> tuple[float, ...]:
        """Return the response in closed form."""
        return (closed_response(self.problem, overlaps),)

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


def channel_of(problem: Problem) -> Channel:
    """Return the channel of a problem."""
    if problem.has_vocabulary and problem.channel is not ChannelKind.CLOSED:
        # Its sparse matrices take long to import, and few problems need them.
        from numeric.channel.vocabulary.graph_rule import VocabularyChannel

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
    closed = problem.channel is ChannelKind.CLOSED
    return None if closed else coarse_rules(problem)[0].accuracy
