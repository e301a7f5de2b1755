"""Channel average of any model by quadrature, block by block of its visible indices."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from numeric.channel.averages import Averages, symmetric_averages
from numeric.channel.block_average import (
    BlockMeans,
    Nodes,
    block_means,
    label_strip,
    unlearned_means,
)
from numeric.channel.block_sample import Array, BlockSample
from numeric.model import structure
from numeric.problem.axes import (
    AxisProducts,
    axis_overlaps,
    envelope_derivatives,
    unlearned_derivatives,
    unlearned_rho,
)
from numeric.problem.fields import Fields
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem


@dataclass(frozen=True)
class BlockRule:
    """Deterministic quadrature (see `numeric.channel.interfaces.ChannelRule`).

    Args:
        single: nodes along each direction of a smooth label in blocks of one visible index.
        several: the number of nodes in blocks of several visible indices.
    """

    single: int = 24
    several: int = 10
    independent: bool = field(default=False, init=False)
    roughness: float = field(default=1e-5, init=False)
    tolerance: float = field(default=1e-8, init=False)
    accuracy: float = 1e-5
    refinements: int = field(default=3, init=False)
    extra_refinements: int = field(default=0, init=False)
    # Errors of trapezoidal rules fall faster than any power.
    error_reduction: float = field(default=10.0, init=False)

    def average(self, overlaps: Overlaps, problem: Problem) -> Averages:
        """Return one replicate.

        Args:
            overlaps: order parameters.
            problem: problem of any model without noise on its labels.
        """

        def means(sample: BlockSample, fields: Fields) -> BlockMeans:
            return block_means(sample, fields, overlaps.V, self.nodes(sample, fields))

        return average_of_blocks(overlaps, problem, means)

    def nodes(self, sample: BlockSample, fields: Fields) -> Nodes:
        """Return the nodes for a block; sharp labels need more.

        Args:
            sample: block of visible indices.
            fields: standard deviations of the fields.
        """
        count = self.single if sample.indices == 1 else self.several
        return Nodes(count, label_strip(sample, fields))

    def unlearned(self, problem: Problem) -> Averages:
        """Return one replicate at S = 0, where the envelope is the loss."""

        def means(sample: BlockSample, fields: Fields) -> tuple[Array, ...]:
            return unlearned_means(sample, fields, self.nodes(sample, fields))

        return unlearned_of_blocks(problem, means)

    def refined(self) -> "BlockRule":
        """Return the rule with one and a half times the nodes."""
        return replace(self, single=3 * self.single // 2, several=3 * self.several // 2)


def average_of_blocks(
    overlaps: Overlaps, problem: Problem, means: Callable[[BlockSample, Fields], BlockMeans]
) -> Averages:
    """Return the averages of a problem from the means of its blocks.

    Args:
        overlaps: order parameters.
        problem: the problem.
        means: function that returns the means of a block, summed over its copies.
    """
    products, totals = [], []
    for one in samples(problem):
        axes = axis_overlaps(overlaps, problem, one.shares)
        of_block = means(one, axes.fields)
        products.append(AxisProducts(axes, of_block.F1, of_block.F2))
        totals.append((of_block.train, of_block.R, of_block.test))
    train, R, test = np.sum(totals, axis=0)
    derivatives = envelope_derivatives(problem, overlaps, products, train, R)
    return symmetric_averages(*derivatives, train, test)


def unlearned_of_blocks(
    problem: Problem, means: Callable[[BlockSample, Fields], tuple[Array, ...]]
) -> Averages:
    """Return the averages at S = 0, where the envelope is the loss, from the means of the blocks.

    Args:
        problem: the problem.
        means: function that returns the means of `unlearned_terms`, summed over copies.
    """
    products, totals = [], []
    for one in samples(problem):
        rho = unlearned_rho(problem, one.shares)
        loss, R, F1, curvature = means(one, Fields(0.0, 0.0, np.sqrt(rho), 0.0))
        products.append((rho, one.shares, F1))
        totals.append((loss, R, curvature))
    loss, R, curvature = np.sum(totals, axis=0)
    derivatives = unlearned_derivatives(problem, products, loss, R, curvature)
    return symmetric_averages(*derivatives, loss, loss)


def samples(problem: Problem) -> tuple[BlockSample, ...]:
    """Return the blocks of a problem at its settings."""
    settings, blocks = tuple(problem.settings.items()), structure(problem.model).blocks
    return tuple(
        BlockSample(problem.model, k, settings, problem.has_norms)
        for k in range(1, len(blocks) + 1)
    )
