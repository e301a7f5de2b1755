"""Averages over the output channel: one `Channel` for each kind, whatever the model and the number of tokens.

Softmax rows of tied tokens have a module of their own (softmax_rules); other models go block by block, or are closed.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from numeric.channel.averages import Array, Averages
from numeric.channel.best_multiple import MeanLosses
from numeric.channel.block_average import mean_response
from numeric.channel.blocks import BlockRule, samples
from numeric.channel.closed import ClosedRule
from numeric.channel.mean_losses import BlockLosses, ClosedLosses, NoisyBlockLosses
from numeric.channel.noisy_blocks import (
    RESPONSE_POINTS,
    NoisyBlockRule,
    sampled_response,
    several_minima,
)
from numeric.maths.sobol import Sampling
from numeric.model import ChannelKind, call
from numeric.problem.fields import Fields
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem


class ChannelRule(Hashable, Protocol):
    """A way to average over the channel."""

    @property
    def independent(self) -> bool:
        """Whether its replicates are independent, so that their scatter is the error."""
        ...

    @property
    def roughness(self) -> float:
        """Relative change of the conjugates below which averages by the coarsest rule of this kind are not smooth."""
        ...

    @property
    def accuracy(self) -> float:
        """Relative error that this kind of rule reaches at a reasonable price."""
        ...

    @property
    def refinements(self) -> int:
        """How often it is sensible to refine the coarsest rule of this kind."""
        ...

    @property
    def extra_refinements(self) -> int:
        """How often it is refined beyond that where the error would leave no value."""
        ...

    @property
    def error_reduction(self) -> float:
        """By which a refinement divides errors at best: what would remain too large is not refined in vain."""
        ...

    def average(self, overlaps: Overlaps, problem: Problem) -> Averages:
        """Averages at these order parameters.

        Raises:
            OutsideDomain: order parameters that no pair of matrices has, or an average that could not be resolved.
        """
        ...

    def unlearned(self, problem: Problem) -> Averages:
        """Averages at S = 0."""
        ...

    def refined(self) -> "ChannelRule":
        """The same kind of rule with a smaller error."""
        ...


class Channel(Protocol):
    """Average over the samples of one problem, for one kind of channel."""

    def coarse_rules(self) -> tuple[ChannelRule, ...]:
        """Return the coarsest rules, the one to try first in front."""
        ...

    def responses(self, overlaps: Overlaps) -> tuple[float, ...]:
        """Return mean square responses of the dual field, where no minimiser jumps, as the replicon needs them.

        One number; four for a general matrix: within the symmetric part, between the parts both ways, within the antisymmetric part.
        """
        ...

    def several_minima_shares(self, overlaps: Overlaps, sampling: Sampling) -> Array:
        """Return the share of samples whose Moreau energy has several minima, by each replicate, shape (replicates,)."""
        ...

    def losses(self) -> MeanLosses:
        """Return the mean losses of fresh labels."""
        ...


@dataclass(frozen=True)
class ClosedChannel:
    """Channel of a quadratic loss, averaged in closed form."""

    problem: Problem

    def coarse_rules(self) -> tuple[ChannelRule, ...]:
        """Return the one rule there is."""
        return (ClosedRule(),)

    def responses(self, overlaps: Overlaps) -> tuple[float, ...]:
        """Return the response in closed form."""
        return (call(self.problem.generated.closed_response, (overlaps.V,), self.problem.settings),)

    def several_minima_shares(self, overlaps: Overlaps, sampling: Sampling) -> Array:
        """Return zeros: the energy is quadratic."""
        return np.zeros(sampling.replicates)

    def losses(self) -> MeanLosses:
        """Return mean losses in closed form."""
        return ClosedLosses.of(self.problem)


@dataclass(frozen=True)
class BlockChannel:
    """Channel averaged by quadrature, block by block of its visible indices."""

    problem: Problem

    def coarse_rules(self) -> tuple[ChannelRule, ...]:
        """Return one rule; four directions cost too much for more than four digits."""
        single = all(sample.indices == 1 for sample in samples(self.problem))
        return (BlockRule(accuracy=1e-5 if single else 1e-4),)

    def responses(self, overlaps: Overlaps) -> tuple[float, ...]:
        """Return the response by quadrature."""
        fields, rule = self._fields(overlaps), BlockRule()
        blocks = ((sample, rule.nodes(sample, fields)) for sample in samples(self.problem))
        return (sum(mean_response(sample, fields, overlaps.V, nodes) for sample, nodes in blocks),)

    def several_minima_shares(self, overlaps: Overlaps, sampling: Sampling) -> Array:
        """Return sums over all blocks."""
        fields = self._fields(overlaps)
        return np.sum(
            [several_minima(one, fields, overlaps.V, sampling) for one in samples(self.problem)],
            axis=0,
        )

    def losses(self) -> MeanLosses:
        """Return mean losses by quadrature."""
        return BlockLosses.of(self.problem)

    def _fields(self, overlaps: Overlaps) -> Fields:
        return Fields.of(overlaps.m, overlaps.q, self.problem.rho)


@dataclass(frozen=True)
class NoisyBlockChannel(BlockChannel):
    """Channel with noise on the label, averaged by quasi-Monte Carlo, block by block of its visible indices."""

    def coarse_rules(self) -> tuple[ChannelRule, ...]:
        """Return one rule."""
        return (NoisyBlockRule(),)

    def responses(self, overlaps: Overlaps) -> tuple[float, ...]:
        """Return the sampled response."""
        fields = self._fields(overlaps)
        return (
            sum(
                sampled_response(one, fields, overlaps.V, RESPONSE_POINTS)
                for one in samples(self.problem)
            ),
        )

    def losses(self) -> MeanLosses:
        """Return sampled mean losses."""
        return NoisyBlockLosses.of(self.problem)


def channel_of(problem: Problem) -> Channel:
    """Return the channel of a problem."""
    match problem.channel:
        case ChannelKind.CLOSED:
            return ClosedChannel(problem)
        case ChannelKind.BLOCKS:
            return BlockChannel(problem)
        case ChannelKind.NOISY_BLOCKS:
            return NoisyBlockChannel(problem)
        case ChannelKind.TIED_SOFTMAX:
            # Imported here, as it needs equations that are derived only for models of this channel.
            from numeric.channel.softmax_rules import TiedSoftmaxChannel

            return TiedSoftmaxChannel(problem)


def coarse_rules(problem: Problem) -> tuple[ChannelRule, ...]:
    """Return the coarsest rules for a problem, the one to try first in front."""
    return channel_of(problem).coarse_rules()


def default_accuracy(problem: Problem) -> float | None:
    """Return the relative error that is aimed at by default; None for closed channels, which err by rounding alone."""
    return None if problem.channel is ChannelKind.CLOSED else coarse_rules(problem)[0].accuracy
