"""Scores of samples of a vocabulary at given order parameters, and means over samples."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from numeric.channel.block_sample import noise_on_label
from numeric.channel.vocabulary.graph_minimiser import GraphEnergy, Scores, scores_of_samples
from numeric.channel.vocabulary.sample_losses import Array, SampleLosses, losses_of
from numeric.channel.vocabulary.token_graph import (
    Draw,
    GraphSize,
    SampledVocabulary,
    drawn_vocabulary,
)
from numeric.maths.sobol import Sampling
from numeric.problem.fields import Fields
from numeric.problem.problem import Problem


class Means(NamedTuple):
    """Means per sample; F1 and F2 of scores of one token and of pairs, shape (2, replicates).

    Attributes:
        train: training loss.
        R: elastic energy, index^2.
        F1: dual field times the Gaussian that the label sees.
        F2: dual field times the Gaussian that only the student sees.
        gaps: F1 and F2 by the response of the dual field to the Gaussian, less the mean of the
            product with it. They differ by sampling alone, shape (2, replicates).
    """

    train: Array
    R: Array
    F1: Array
    F2: Array
    gaps: Array


@dataclass(frozen=True, eq=False)
class SampledScores:
    """Samples of a vocabulary, with the fields of their scores.

    Attributes:
        vocabulary: tokens, samples and their Gaussian numbers.
        losses: losses of the model.
        teacher, independent, target: coefficients of the fields (`Fields`) of scores of one token
            and of pairs, shape (2,) each.
        noise: standard deviation of the noise on scores, per unit.
        label_noise: standard deviation of the noise on the numbers of a label.
    """

    vocabulary: SampledVocabulary
    losses: SampleLosses
    teacher: Array
    independent: Array
    target: Array
    noise: float
    label_noise: float

    @classmethod
    def of(cls, problem: Problem, fields: Fields, sampling: Sampling) -> Self:
        """Return the samples of a problem.

        Args:
            problem: problem with a vocabulary.
            fields: coefficients of scores of one token and of pairs, without noise.
            sampling: samples of each graph, and graphs.
        """
        losses = losses_of(problem)
        label_noise = noise_on_label(problem.model, problem.settings)
        noise = max(problem.rho - problem.q0, 0.0)
        counts = len(losses.is_own) if noise else 0, losses.label_numbers if label_noise else 0
        tokens, ratio = int(np.sum(losses.is_own)), problem.vocabulary / problem.alpha
        vocabulary = drawn_vocabulary(GraphSize(sampling, ratio, tokens, counts))
        teacher, independent, target = map(np.asarray, fields[:3])
        return cls(vocabulary, losses, teacher, independent, target, noise**0.5, label_noise**0.5)

    @cached_property
    def _roots(self) -> tuple[float, float]:
        """Return the standard deviations of scores of one token and of pairs, per unit."""
        own, pair = self.losses.variances
        return own**0.5, pair**0.5

    @property
    def apart(self) -> "SampledScores":
        """The same samples, none of which shares a token."""
        return replace(self, vocabulary=self.vocabulary.apart)

    def energy(self, V: float) -> GraphEnergy:
        """Return the energy of the samples of training.

        Args:
            V: response, index^2/loss.
        """
        train = self.vocabulary.train
        fields, labels = self.student(train), self._trained_labels
        return GraphEnergy(self.vocabulary.graph, self.losses, fields, labels, V)

    def student(self, draw: Draw) -> Scores:
        """Return the fields of the student.

        Args:
            draw: samples.
        """
        along, across = self.teacher, self.independent
        tokens = along[0] * self.vocabulary.seen + across[0] * self.vocabulary.unseen
        pairs = along[1] * draw.seen + across[1] * draw.unseen
        return Scores(self._roots[0] * tokens, self._roots[1] * pairs)

    def labels(self, draw: Draw, target: Array) -> Array:
        """Return the labels, shape (numbers, samples).

        Args:
            draw: samples.
            target: their noisy target scores.
        """
        found = self.losses.label(target)
        return found + self.label_noise * draw.label_noise if self.label_noise else found

    @cached_property
    def _trained_target(self) -> Array:
        """Return the noisy target scores of the samples of training, shape (scores, samples)."""
        return self.noisy_target(self.vocabulary.train)

    @cached_property
    def _trained_labels(self) -> Array:
        """Return the labels of the samples of training, shape (numbers, samples)."""
        return self.labels(self.vocabulary.train, self._trained_target)

    def noisy_target(self, draw: Draw) -> Array:
        """Return the target scores with their noise, shape (scores, samples).

        Args:
            draw: samples.
        """
        tokens, pairs = self.target[0] * self.vocabulary.seen, self.target[1] * draw.seen
        scores = Scores(self._roots[0] * tokens, self._roots[1] * pairs)
        found = scores_of_samples(self.losses, draw.places, scores)
        if not self.noise:
            return found
        return found + self.noise * np.where(self.losses.is_own, *self._roots)[:, None] * draw.noise

    def fitting(self, problem: Problem) -> Scores:
        """Return scores that reproduce the labels, up to noise that samples do not share.

        Args:
            problem: states the temperatures of target and student.
        """
        ratio = problem.beta0 / problem.beta
        graph, own = self.vocabulary.graph, self.losses.is_own
        target = ratio * self._trained_target
        shared = np.maximum(graph.degrees, 1)
        return Scores(graph.scattered(target[own]) / shared, target[~own])

    def means(self, energy: GraphEnergy, at: Scores, signs: Scores | None) -> Means:
        """Return the means over the samples of training.

        Args:
            energy: their energy.
            at: its minimum.
            signs: random signs for samples that share tokens; None for samples apart.
        """
        graph, train = self.vocabulary.graph, self.vocabulary.train
        dual, away = energy.dual(at), at.plus(-1.0, energy.fields)
        student, target = energy.own_responses(at, self._trained_target, signs)

        def mean(tokens: Array, pairs: Array) -> Array:
            of_pairs = graph.mean_over_samples(np.sum(pairs, axis=0))
            return np.stack([graph.mean_over_tokens(tokens), of_pairs])

        loss = energy.losses_at(at)
        R = energy.V * mean(away.tokens * dual.tokens, away.pairs * dual.pairs).sum(axis=0)
        along, across, of_target = (
            np.reshape(one, (2, 1)) for one in (self.teacher, self.independent, self.target)
        )
        F1, F2 = along * mean(*student) + of_target * mean(*target), across * mean(*student)
        products = (
            mean(self._roots[0] * dual.tokens * of_tokens, self._roots[1] * dual.pairs * of_pairs)
            for of_tokens, of_pairs in (
                (self.vocabulary.seen, train.seen),
                (self.vocabulary.unseen, train.unseen),
            )
        )
        gaps = [np.sum(one - two, axis=0) for one, two in zip((F1, F2), products, strict=True)]
        return Means(graph.mean_over_samples(loss), R, F1, F2, np.array(gaps))

    def test_change(self, at: Scores) -> Array:
        """Return by how much the loss of new samples changes with the trained scores of tokens.

        Args:
            at: minimum of the energy of the samples of training.
        """
        test = self.vocabulary.test
        fields, labels = self.student(test), self.labels(test, self.noisy_target(test))
        trained, untrained = (
            self.losses.loss(
                scores_of_samples(self.losses, test.places, Scores(tokens, fields.pairs)), labels
            )
            for tokens in (at.tokens, fields.tokens)
        )
        return self.vocabulary.graph.mean_over_samples(trained - untrained)

    def unlearned_change(self) -> Array:
        """Return by how much the mean square slope of the loss at S = 0 changes by shared tokens.

        Loss, curvature and products with Gaussians are sums over samples, and do not change.
        """
        graph, own = self.vocabulary.graph, self.losses.is_own
        origin = np.zeros((len(own), graph.samples))
        slope = self.losses.slope(origin, self._trained_labels)[own]
        together = graph.mean_over_tokens(graph.scattered(slope) ** 2)
        return self.losses.variances[0] * (
            together - graph.mean_over_samples(np.sum(slope**2, axis=0))
        )
