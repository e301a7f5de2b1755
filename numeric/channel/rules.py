"""Averages over the output channel, whatever the model and the number of tokens: rules with one interface.

Softmax rows of tied tokens have rules of their own (softmax_rules); other models go block by block, or are closed.
"""

from collections.abc import Hashable
from typing import Protocol

from numeric.channel.averages import Averages
from numeric.channel.blocks import coarse_blocks
from numeric.channel.closed import Closed
from numeric.channel.noisy_blocks import NoisyBlocks
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
    def spare(self) -> int:
        """How often it is refined beyond that where the error would leave no value."""
        ...

    @property
    def gain(self) -> float:
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


def coarse_rules(problem: Problem) -> tuple[ChannelRule, ...]:
    """The coarsest rules for a problem, the one to try first in front."""
    if problem.channel == "closed":
        return (Closed(),)
    if problem.channel == "blocks":
        return (coarse_blocks(problem),)
    if problem.channel == "noisy blocks":
        return (NoisyBlocks(),)
    # Here, as it needs equations that are derived only for models of this channel.
    from numeric.channel.softmax_rules import coarse_softmax_rules

    return coarse_softmax_rules(problem)


def default_accuracy(problem: Problem) -> float | None:
    """Relative error that is aimed at where none is asked for; None of closed channels, which err by rounding alone."""
    return None if problem.channel == "closed" else coarse_rules(problem)[0].accuracy
