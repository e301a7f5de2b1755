"""Channel average by randomised quasi-Monte Carlo, block by block of visible indices.

It is for models that add noise to their labels, and for blocks of more than two visible indices,
where a quadrature over all fields has too many nodes. A sample has two Gaussian numbers for each
visible index, and one for each number of a label with added noise, which no index reproduces
(theory note, sections 1 and 3).
"""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy

from numeric.channel.averages import Averages
from numeric.channel.block_average import (
    BlockMeans,
    column,
    minimiser_terms,
    response_terms,
    unlearned_terms,
)
from numeric.channel.block_minima import JUMP, lowest_minimiser, two_minima
from numeric.channel.block_sample import Array, BlockSample
from numeric.channel.blocks import average_of_blocks, unlearned_of_blocks
from numeric.maths.sobol import Sampling, gaussians, rare_gaussians
from numeric.problem.fields import Fields
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem

COARSE_POINTS = Sampling(512)
RESPONSE_POINTS = Sampling(256)  # enough for the sign of the replicon


@dataclass(frozen=True)
class SampledBlockRule:
    """Randomised quasi-Monte Carlo rule (see `numeric.channel.interfaces.ChannelRule`)."""

    sampling: Sampling = COARSE_POINTS
    independent: bool = field(default=True, init=False)
    roughness: float = field(default=1e-3, init=False)
    tolerance: float = field(default=1e-8, init=False)
    accuracy: float = field(default=5e-3, init=False)
    refinements: int = field(default=2, init=False)
    extra_refinements: int = field(default=0, init=False)
    error_reduction: float = field(default=3.0, init=False)

    def average(self, overlaps: Overlaps, problem: Problem) -> Averages:
        """Return one value per scrambling.

        Args:
            overlaps: order parameters.
            problem: problem of any model.
        """
        means = partial(self._block_means, overlaps.V)
        return average_of_blocks(overlaps, problem, means)

    def unlearned(self, problem: Problem) -> Averages:
        """Return one value per scrambling at S = 0, where the envelope is the loss."""
        return unlearned_of_blocks(problem, self._unlearned_means)

    def refined(self) -> "SampledBlockRule":
        """Return the rule with four times the points."""
        return replace(self, sampling=self.sampling.refined())

    def _block_means(self, V: float, sample: BlockSample, fields: Fields) -> BlockMeans:
        """Return means of `minimiser_terms` over all copies, shape (..., replicates) each."""
        s = _draw_samples(sample, fields, self.sampling)
        u = lowest_minimiser(sample, s.w, s.y, s.fit, V)
        terms = minimiser_terms(sample, s.x1, s.x2, u, s.w, s.y, V)
        return BlockMeans(*_means(sample, self.sampling, *terms))

    def _unlearned_means(self, sample: BlockSample, fields: Fields) -> tuple[Array, ...]:
        """Return means of `unlearned_terms` over all copies, shape (..., replicates) each."""
        s = _draw_samples(sample, fields, self.sampling)
        return tuple(_means(sample, self.sampling, *unlearned_terms(sample, s.x1, s.y)))


class _Samples(NamedTuple):
    """Samples of a block, with the samples along the last axis.

    x1, x2: Gaussian numbers along the axes that the label depends on and not.
    w, y: student field and label.
    fit: index that reproduces the label before noise, None if none does.
    """

    x1: Array
    x2: Array
    w: Array
    y: Array
    fit: Array | None


def _draw_samples(sample: BlockSample, fields: Fields, sampling: Sampling) -> _Samples:
    return _samples_at(sample, fields, gaussians(_dimensions(sample), sampling))


def _dimensions(sample: BlockSample) -> int:
    """Return the number of Gaussian numbers of a sample: fields, and noise on the label, or one
    that draws its class.
    """
    if sample.classes:
        return 2 * sample.indices + 1
    noises = len(sample.label(np.zeros((sample.indices, 1)))) if sample.noise_on_label else 0
    return 2 * sample.indices + noises


def _samples_at(sample: BlockSample, fields: Fields, points: Array) -> _Samples:
    x1, x2, noise = np.split(points.T, [sample.indices, 2 * sample.indices])
    w = sample.root @ (column(fields.teacher) * x1 + column(fields.independent) * x2)
    z = sample.root @ (column(fields.target) * x1)
    if sample.classes:
        below = np.cumsum(sample.probabilities(z), axis=0)[:-1]
        drawn = np.sum(scipy.special.ndtr(noise) > below, axis=0)
        return _Samples(x1, x2, w, sample.class_labels.T[:, drawn], None)
    y = sample.label(z)
    if sample.noise_on_label:
        y = y + np.sqrt(sample.noise_on_label) * noise
    return _Samples(x1, x2, w, y, sample.fitted(z))


def sampled_response(sample: BlockSample, fields: Fields, V: float, sampling: Sampling) -> float:
    """Return the mean of ||Sigma^1/2 df/dw Sigma^1/2||^2 where no minimiser jumps.

    `block_average.mean_response` is the deterministic counterpart.

    Args:
        sample: block of visible indices.
        fields: standard deviations of the fields.
        V: response, index^2/loss.
        sampling: points and replicates.
    """
    s = _draw_samples(sample, fields, sampling)
    u = lowest_minimiser(sample, s.w, s.y, s.fit, V)
    return sample.copies * float(np.mean(response_terms(sample, u, s.y, V)))


def fresh_losses(sample: BlockSample, fields: Fields, sampling: Sampling) -> Array:
    """Return the mean loss of fresh samples of all copies, shape (replicates,).

    Args:
        sample: block of visible indices.
        fields: standard deviations of the fields.
        sampling: points and replicates.
    """
    s = _draw_samples(sample, fields, sampling)
    return np.asarray(_means(sample, sampling, sample.loss(s.w, s.y))[0])


def several_minima(sample: BlockSample, fields: Fields, V: float, sampling: Sampling) -> Array:
    """Return shares of samples whose Moreau energy has several minima, shape (replicates,).

    Rare samples are resolved, also without noise on the label. The shares of all copies are
    added: if they are small, two copies of one sample hardly ever have several minima.

    Args:
        sample: block of visible indices.
        fields: standard deviations of the fields.
        V: response, index^2/loss.
        sampling: points and replicates.
    """
    if sample.convex_up_to > V:
        return np.zeros(sampling.replicates)
    points, weights = rare_gaussians(_dimensions(sample), sampling)
    s = _samples_at(sample, fields, points)
    minima, near = two_minima(sample, s.w, s.y, s.fit, V), JUMP * sample.unit
    apart = np.any(np.abs(minima[0] - minima[1]) > near, axis=0)
    # A descent that ends at the iteration limit, as some do at large V, has found no minimum.
    for u in minima:
        apart &= np.all(np.abs(sample.imbalance(u, s.w, s.y, V)) < near, axis=0)
    return np.asarray(_means(sample, sampling, weights * apart)[0])


def _means(sample: BlockSample, sampling: Sampling, *values: Array) -> list[Array]:
    """Return means over the points of each replicate, shape (..., replicates) for each value."""
    count, found = sampling.replicates * sampling.points, []
    for one in values:
        whole = np.broadcast_to(one, (*np.shape(one)[:-1], count))
        split = whole.reshape(*whole.shape[:-1], sampling.replicates, sampling.points)
        found.append(sample.copies * split.mean(axis=-1))
    return found
