"""The channel average of any model, block by block of its visible indices."""

from dataclasses import dataclass, field, replace

import numpy as np

from numeric.channel.averages import Averages, one_replicate, require_pair
from numeric.channel.block_average import Nodes, block_means, label_strip, unlearned_means
from numeric.channel.block_sample import BlockSample
from numeric.model import structure
from numeric.problem.fields import Fields
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem


@dataclass(frozen=True)
class BlockRule:
    """Deterministic rules, so many nodes along each direction of a smooth label, for blocks of one visible index and of several."""

    single: int = 24
    several: int = 10
    independent: bool = field(default=False, init=False)
    roughness: float = field(default=1e-5, init=False)
    accuracy: float = 1e-5
    refinements: int = field(default=3, init=False)
    extra_refinements: int = field(default=0, init=False)
    error_reduction: float = field(
        default=10.0, init=False
    )  # of trapezoidal rules, whose errors fall faster than any power

    def average(self, overlaps: Overlaps, problem: Problem) -> Averages:
        """One replicate."""
        m, q, V = overlaps.m, overlaps.q, overlaps.V
        require_pair(m, q, V, problem.rho)
        fields = Fields.of(m, q, problem.rho)
        train, R, F1, F2, test = np.sum(
            [
                block_means(sample, fields, V, self.nodes(sample, fields))
                for sample in samples(problem)
            ],
            axis=0,
        )
        derivatives = problem.generated.channel_derivatives(m, q, V, problem.rho, train, R, F1, F2)
        return one_replicate(*(*derivatives, train, test))

    def nodes(self, sample: BlockSample, fields: Fields) -> Nodes:
        """Of a block, more where its label is sharp."""
        return Nodes(
            self.single if sample.indices == 1 else self.several, label_strip(sample, fields)
        )

    def unlearned(self, problem: Problem) -> Averages:
        """At S = 0: there the envelope is the loss, with slopes and curvature of its own."""
        fields = Fields(0.0, 0.0, float(np.sqrt(problem.rho)), 0.0)
        train, R, F1, curvature = np.sum(
            [
                unlearned_means(sample, fields, self.nodes(sample, fields))
                for sample in samples(problem)
            ],
            axis=0,
        )
        derivatives = problem.generated.unlearned_derivatives(problem.rho, train, R, F1, curvature)
        return one_replicate(*(*derivatives, train, train))

    def refined(self) -> "BlockRule":
        """One and a half times the nodes."""
        return replace(self, single=3 * self.single // 2, several=3 * self.several // 2)


def samples(problem: Problem) -> tuple[BlockSample, ...]:
    """The blocks of a problem at its settings."""
    settings = tuple(problem.settings.items())
    return tuple(
        BlockSample(problem.model, k, settings)
        for k in range(1, len(structure(problem.model).blocks) + 1)
    )
