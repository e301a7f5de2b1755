"""The channel average of a model with noise on its label, by randomised quasi-Monte Carlo over fields and label, block by block.

A label with noise of its own is that of no index: a sample has the Gaussian numbers of its fields, 2 for each visible index, and one
for each number of the label (theory note, sections 1 and 3).
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from numeric.channel.averages import Averages, require_pair
from numeric.channel.block_minima import JUMP, lowest_minimiser, two_minima
from numeric.channel.block_sample import Array, BlockSample
from numeric.channel.blocks import samples
from numeric.maths.sobol import Sampling, gaussians, rare_gaussians
from numeric.problem.fields import Fields
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem

COARSE_POINTS, RESPONSE_POINTS = (
    Sampling(512),
    Sampling(256),
)  # of averages, and of the replicon, of which a sign is asked


@dataclass(frozen=True)
class NoisyBlockRule:
    """Randomised quasi-Monte Carlo for blocks of any size."""

    sampling: Sampling = COARSE_POINTS
    independent: bool = field(default=True, init=False)
    roughness: float = field(default=1e-3, init=False)
    accuracy: float = field(default=5e-3, init=False)
    refinements: int = field(default=2, init=False)
    extra_refinements: int = field(default=0, init=False)
    error_reduction: float = field(default=3.0, init=False)

    def average(self, overlaps: Overlaps, problem: Problem) -> Averages:
        """One value per scrambling."""
        m, q, V = overlaps.m, overlaps.q, overlaps.V
        require_pair(m, q, V, problem.rho)
        fields = Fields.of(m, q, problem.rho)
        train, R, F1, F2, test = np.sum(
            [_block_means(one, fields, V, self.sampling) for one in samples(problem)], axis=0
        )
        derivatives = problem.generated.channel_derivatives(m, q, V, problem.rho, train, R, F1, F2)
        return _replicates(derivatives, train, test)

    def unlearned(self, problem: Problem) -> Averages:
        """One value per scrambling, at S = 0: there the envelope is the loss, with slopes and curvature of its own."""
        fields = Fields(0.0, 0.0, float(np.sqrt(problem.rho)), 0.0)
        loss, R, F1, curvature = np.sum(
            [_rest_means(one, fields, self.sampling) for one in samples(problem)], axis=0
        )
        derivatives = problem.generated.unlearned_derivatives(problem.rho, loss, R, F1, curvature)
        return _replicates(derivatives, loss, loss)

    def refined(self) -> "NoisyBlockRule":
        """Four times the points."""
        return replace(self, sampling=self.sampling.refined())


class _Samples(NamedTuple):
    """Gaussian numbers of covariance Sigma that the label sees and does not, field, label, and the index of the label before noise."""

    seen: Array
    unseen: Array
    w: Array
    y: Array
    fit: Array


def _draw_samples(sample: BlockSample, fields: Fields, sampling: Sampling) -> _Samples:
    return _samples_at(sample, fields, gaussians(_dimensions(sample), sampling))


def _dimensions(sample: BlockSample) -> int:
    """Gaussians of a sample: what the label sees and does not, and the noise on each of its numbers."""
    return 2 * sample.indices + len(sample.label(np.zeros((sample.indices, 1))))


def _samples_at(sample: BlockSample, fields: Fields, points: Array) -> _Samples:
    k = sample.indices
    parts = np.split(points.T, [k, 2 * k])
    seen, unseen, noise = sample.root @ parts[0], sample.root @ parts[1], parts[2]
    z = fields.target * seen
    y = sample.label(z) + np.sqrt(sample.noise_on_label) * noise
    return _Samples(
        seen, unseen, fields.teacher * seen + fields.independent * unseen, y, sample.fitted(z)
    )


def _block_means(sample: BlockSample, fields: Fields, V: float, sampling: Sampling) -> Array:
    """Training loss, R, E f.gamma1, E f.gamma2 and test loss of all copies, shape (5, replicates)."""
    drawn = _draw_samples(sample, fields, sampling)
    u = lowest_minimiser(sample, drawn.w, drawn.y, drawn.fit, V)
    away = u - drawn.w
    dual = np.linalg.solve(sample.covariance, away) / V
    slopes = (np.sum(dual * part, axis=0) for part in (drawn.seen, drawn.unseen))
    energy = V * np.sum(away * dual, axis=0)
    return _means(
        sample, sampling, sample.loss(u, drawn.y), energy, *slopes, sample.loss(drawn.w, drawn.y)
    )


def _rest_means(sample: BlockSample, fields: Fields, sampling: Sampling) -> Array:
    """Loss, R and E f.gamma1 of S = 0, where f is minus the slope of the loss, and the mean of tr Sigma H, shape (4, replicates)."""
    drawn = _draw_samples(sample, fields, sampling)
    rest = np.zeros_like(drawn.w)
    dual = -sample.gradient(rest, drawn.y)
    spread = np.einsum("i...,ij,j...->...", dual, sample.covariance, dual)
    curvature = np.einsum("ij,ji...->...", sample.covariance, sample.hessian(rest, drawn.y))
    return _means(
        sample,
        sampling,
        sample.loss(rest, drawn.y),
        spread,
        np.sum(dual * drawn.seen, axis=0),
        curvature,
    )


def sampled_response(sample: BlockSample, fields: Fields, V: float, sampling: Sampling) -> float:
    """Return the mean of ||Sigma^1/2 df/dw Sigma^1/2||^2 where no minimiser jumps, as `block_average.mean_response`."""
    drawn = _draw_samples(sample, fields, sampling)
    u = lowest_minimiser(sample, drawn.w, drawn.y, drawn.fit, V)
    curvature = np.einsum("ij,jk...->...ik", sample.covariance, sample.hessian(u, drawn.y))
    turned = np.linalg.solve(np.eye(sample.indices) + V * curvature, curvature)
    return sample.copies * float(np.mean(np.einsum("...ij,...ji->...", turned, turned)))


def fresh_losses(sample: BlockSample, fields: Fields, sampling: Sampling) -> Array:
    """Mean loss of fresh samples of all copies, noise of their labels and all, shape (replicates,)."""
    drawn = _draw_samples(sample, fields, sampling)
    return np.asarray(_means(sample, sampling, sample.loss(drawn.w, drawn.y))[0])


def several_minima(sample: BlockSample, fields: Fields, V: float, sampling: Sampling) -> Array:
    """Shares of samples whose Moreau energy has several minima, shape (replicates,), resolved where they are rare.

    Without noise on the label too. Copies are added up: where they are rare no two of a sample meet.
    """
    if sample.convex_up_to > V:
        return np.zeros(sampling.replicates)
    points, weights = rare_gaussians(_dimensions(sample), sampling)
    drawn = _samples_at(sample, fields, points)
    w, y = drawn.w, drawn.y
    rest, other = two_minima(sample, w, y, drawn.fit, V)
    near = JUMP * sample.unit
    apart = np.any(np.abs(rest - other) > near, axis=0)
    # A descent that ran out of steps, as some do at large V, has found no minimum.
    found = [np.all(np.abs(sample.imbalance(u, w, y, V)) < near, axis=0) for u in (rest, other)]
    return np.asarray(_means(sample, sampling, weights * (apart & found[0] & found[1]))[0])


def _means(sample: BlockSample, sampling: Sampling, *values: Array) -> Array:
    """Means over the points of each replicate, shape (values, replicates)."""
    count = sampling.points * sampling.replicates
    return sample.copies * np.array(
        [
            np.broadcast_to(one, count).reshape(sampling.replicates, -1).mean(axis=1)
            for one in values
        ]
    )


def _replicates(derivatives: tuple[Array, ...], train: Array, test: Array) -> Averages:
    M, dM_dm, dM_dq, dM_dV = derivatives
    nothing = np.zeros_like(M)
    return Averages(M, dM_dm, dM_dq, dM_dV, train, test, nothing, nothing, np.zeros((len(M), 0)))
