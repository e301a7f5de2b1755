"""What a solver needs of the average over the output channel, for any kind of channel."""

from collections.abc import Hashable
from typing import Protocol

from numeric.channel.averages import Array, Averages
from numeric.channel.best_multiple import MeanLosses
from numeric.maths.sobol import Sampling
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
