"""Channel average of samples that share tokens, over sampled graphs (theory note, section 14).

The same samples are also minimised one by one, as if none shared a token. Their mean is known from
the rule of new tokens, which reduces the scatter of the graphs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from numeric.channel.averages import Averages, symmetric_averages
from numeric.channel.best_multiple import MeanLosses
from numeric.channel.block_minima import JUMP
from numeric.channel.interfaces import Channel, ChannelRule
from numeric.channel.sampled_blocks import RESPONSE_POINTS
from numeric.channel.vocabulary.graph_minimiser import GraphEnergy, Scores
from numeric.channel.vocabulary.sample_losses import Array
from numeric.channel.vocabulary.sampled_scores import Means, SampledScores
from numeric.maths.sobol import Sampling
from numeric.problem.axes import (
    AxisOverlaps,
    AxisProducts,
    axis_overlaps,
    envelope_derivatives,
    own_shares,
    unlearned_derivatives,
    unlearned_rho,
)
from numeric.problem.fields import Fields
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem

COARSE = Sampling(512, 32)  # samples of each graph, and graphs
FEWEST_TOKENS = 128  # of a graph: small graphs have more short cycles


@dataclass(frozen=True)
class GraphRule:
    """Average over sampled graphs (see `numeric.channel.interfaces.ChannelRule`).

    Attributes:
        sampling: samples of each graph, and graphs.
        new_tokens: rule for samples of new tokens.
    """

    sampling: Sampling
    new_tokens: ChannelRule
    independent: bool = field(default=True, init=False)
    roughness: float = field(default=1e-3, init=False)
    tolerance: float = field(default=1e-5, init=False)
    accuracy: float = field(default=5e-3, init=False)
    refinements: int = field(default=2, init=False)
    extra_refinements: int = field(default=0, init=False)
    error_reduction: float = field(default=2.0, init=False)

    @classmethod
    def coarse(cls, problem: Problem, new_tokens: ChannelRule) -> Self:
        """Return the coarsest rule for a problem.

        Args:
            problem: problem with a vocabulary.
            new_tokens: coarsest rule for samples of new tokens.
        """
        fewest = FEWEST_TOKENS * problem.alpha / problem.vocabulary
        points = 2 ** np.ceil(np.log2(max(COARSE.points, fewest)))
        return cls(Sampling(int(points), COARSE.replicates), new_tokens)

    def average(self, overlaps: Overlaps, problem: Problem) -> Averages:
        """Return one value per graph.

        Args:
            overlaps: order parameters.
            problem: problem with a vocabulary.
        """
        known = self.new_tokens.average(overlaps, problem.of_new_tokens)
        scores, kinds = sampled_scores(overlaps, problem, self.sampling)
        energy = scores.energy(overlaps.V)
        at = energy.minimiser(scores.fitting(problem))
        shared = scores.means(energy, at, _signs(energy))
        apart = _means_apart(scores.apart, overlaps.V, problem)

        def values(means: Means) -> tuple[Array, ...]:
            products = [AxisProducts(kinds, means.F1, means.F2)]
            derivatives = envelope_derivatives(problem, overlaps, products, means.train, means.R)
            return *derivatives, means.train

        gaps = np.concatenate([shared.gaps, apart.gaps])
        *derivatives, train = (
            _least_scatter(of_shared, np.array([of_apart - mean.mean(), *gaps]))
            for of_shared, of_apart, mean in zip(
                *(values(shared), values(apart), (*_derivatives(known), known.train_error)),
                strict=True,
            )
        )
        return _averages(derivatives, train, known.test_error, scores.test_change(at))

    def unlearned(self, problem: Problem) -> Averages:
        """Return one value per graph at S = 0."""
        known = self.new_tokens.unlearned(problem.of_new_tokens)
        target = np.sqrt(unlearned_rho(problem, own_shares(problem.model), problem.q0))
        fields = Fields(np.zeros(2), np.zeros(2), target, 0.0)
        R = SampledScores.of(problem, fields, self.sampling).unlearned_change()
        zero = np.zeros_like(R)
        changes = unlearned_derivatives(problem, [], zero, R, zero)
        derivatives = [
            one.mean() + change for one, change in zip(_derivatives(known), changes, strict=True)
        ]
        return _averages(derivatives, known.train_error.mean() + zero, known.test_error, zero)

    def refined(self) -> "GraphRule":
        """Return the rule with four times the samples."""
        finer = self.sampling.refined(), self.new_tokens.refined()
        return replace(self, sampling=finer[0], new_tokens=finer[1])


def sampled_scores(
    overlaps: Overlaps, problem: Problem, sampling: Sampling
) -> tuple[SampledScores, AxisOverlaps]:
    """Return sampled scores, and the overlaps of scores of one token and of pairs.

    Args:
        overlaps: order parameters.
        problem: problem with a vocabulary.
        sampling: samples of each graph, and graphs.
    """
    # Samples that share a token share its target score, and not the noise on it.
    kinds = axis_overlaps(overlaps, problem, own_shares(problem.model), problem.q0)
    return SampledScores.of(problem, kinds.fields, sampling), kinds


@dataclass(frozen=True)
class VocabularyChannel:
    """Channel of samples that share tokens (see `numeric.channel.interfaces.Channel`).

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
        """Return the mean square response of the dual fields per sample.

        A trace of squares over all scores of a graph is the mean square response to random signs.

        Args:
            overlaps: order parameters.
        """
        scores, _ = sampled_scores(overlaps, self.problem, RESPONSE_POINTS)
        energy = scores.energy(overlaps.V)
        moved = energy.responses(energy.minimiser(scores.fitting(self.problem)), _signs(energy))
        total = np.sum(moved.tokens**2) + np.sum(moved.pairs**2)
        return (float(total / scores.vocabulary.graph.samples),)

    def several_minima_shares(self, overlaps: Overlaps, sampling: Sampling) -> Array:
        """Return shares of samples whose minimum depends on the start, shape (replicates,).

        The search starts from the fields of the student, and from scores that reproduce the labels.

        Args:
            overlaps: order parameters.
            sampling: samples of each graph, and graphs.
        """
        scores, _ = sampled_scores(overlaps, self.problem, sampling)
        energy = scores.energy(overlaps.V)
        one, other = map(energy.minimiser, (energy.fields, scores.fitting(self.problem)))
        near, graph = JUMP * energy.losses.unit, scores.vocabulary.graph
        pairs = np.any(np.abs(one.pairs - other.pairs) > near, axis=0)
        tokens = np.abs(one.tokens - other.tokens) > near
        return graph.mean_over_samples((pairs | tokens[graph.places].any(axis=1)).astype(float))

    def losses(self) -> MeanLosses:
        """Return the mean losses of fresh labels, of new tokens."""
        return self.new_tokens.losses()


def _signs(energy: GraphEnergy) -> Scores:
    """Return random signs, the same at all order parameters."""
    rng = np.random.default_rng(0)
    return Scores(*(rng.choice((-1.0, 1.0), size=part.shape) for part in energy.fields))


def _means_apart(apart: SampledScores, V: float, problem: Problem) -> Means:
    """Return the means over samples none of which shares a token."""
    energy = apart.energy(V)
    at = energy.minimiser(apart.fitting(problem))
    return apart.means(energy, at, None)


def _least_scatter(values: Array, controls: Array) -> Array:
    """Return values less the multiples of controls that leave the least scatter.

    Args:
        values: shape (replicates,).
        controls: numbers of mean zero, shape (controls, replicates).
    """
    away = (controls - controls.mean(axis=1, keepdims=True)).T
    weights, *_ = np.linalg.lstsq(away, values - values.mean(), rcond=1e-10)
    return np.asarray(values - weights @ controls)


def _derivatives(averages: Averages) -> tuple[Array, ...]:
    """Return M and its derivatives in m, q, V and t."""
    return averages.M, averages.dM_dm, averages.dM_dq, averages.dM_dV, averages.dM_dt


def _averages(derivatives: Sequence[Array], train: Array, test: Array, change: Array) -> Averages:
    """Return averages of M, its derivatives in m, q, V and t, and of the errors.

    Args:
        derivatives: M and its derivatives, shape (replicates,) each.
        train: training error, shape (replicates,).
        test: test error of new tokens, shape (any,).
        change: by how much that of the same vocabulary differs, shape (replicates,).
    """
    found = symmetric_averages(*derivatives, train, np.mean(test) + 0 * train)
    return found._replace(vocabulary_test_error=found.test_error + change)
