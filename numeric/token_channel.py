"""Averages over the output channel at any number of tokens, by randomised quasi-Monte Carlo with replicates.

A sample has Gaussian fields along the visible directions of its index (numeric.token_index): gamma1, which the label sees, and
gamma2, which only the student sees. Points are scrambled Sobol sets, one scrambling per replicate, each point taken with both signs
of gamma2: what is odd in gamma2, and what is left of it when student and target nearly agree, drops out exactly. The scatter of the
replicates is the error. Scramblings are seeded, and sums run in a fixed order: equal input gives equal bits.
Where the energy of every sample is convex, most samples are taken at two cheap steps towards the minimiser, and the mean difference
between that and the minimiser comes from the first few points of each replicate, which are a Sobol set too.
Formulas come from generated/tied_attention (theory.md, sections 1-3 and 6).
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import qmc

from generated.tied_attention import float64 as physics
from numeric import token_sample
from numeric.compiled import digest, over_blocks
from numeric.proximal import compiled
from numeric.token_index import token_index
from numeric.token_sample import (
    cholesky,
    convexity,
    fill_index,
    fill_loss_gradient,
    fill_loss_hessian,
    fill_nearly_minimiser,
    fill_softmax,
    global_minimiser,
    inlined,
    loss_of,
    solve_with,
    workspace,
)

Array = NDArray[np.float64]
BLOCK = 64  # points that one thread takes at a time and adds up in order
# One in so many points corrects the others, times the square of the margin of convexity, and at most one in MOST_PER_CORRECTION: the
# variance of the difference is 3e-3 of that of the sums at V beta^2 = 1, 1e-4 at .5, 1e-6 at .25.
CORRECTING, MOST_PER_CORRECTION = 4, 64


class SampleMeans(NamedTuple):
    """Means per sample, each of shape (replicates,).

    train, test: loss at the minimiser and at the field
    R, R_odd: squared displacement of the symmetric and of the antisymmetric components
    F1, F2, F_odd: dual field times gamma1, gamma2, and times the antisymmetric field
    response: E||df/dw||^2 between symmetric and antisymmetric components (ss, so, os, oo), not computed unless asked for
    rest, moved: shares of samples with several minima whose lowest is that at rest, or another
    """

    train: Array
    test: Array
    R: Array
    R_odd: Array
    F1: Array
    F2: Array
    F_odd: Array
    response_ss: Array
    response_so: Array
    response_os: Array
    response_oo: Array
    rest: Array
    moved: Array


class Fields(NamedTuple):
    """Student field teacher gamma1 + independent gamma2, target field target gamma1, antisymmetric field odd gamma_odd."""

    teacher: float
    independent: float
    target: float
    odd: float

    @classmethod
    def of(cls, m: float, q: float, rho: float, q_odd: float = 0.0) -> Self:
        """Fields of these overlaps; rho is the second moment of the target with its label noise."""
        teacher, independent, target = map(float, physics.field_coefficients(m, q, rho))
        return cls(teacher, independent, target, float(np.sqrt(q_odd)))


@dataclass(frozen=True)
class Sampling:
    """Points per replicate (a power of two, for Sobol sets) and replicates."""

    points: int
    replicates: int = 8

    def __post_init__(self) -> None:
        if self.points < 2 or self.points & (self.points - 1):
            raise ValueError(
                f"points = {self.points}: must be a power of two; use {1 << max(1, self.points.bit_length())}"
            )
        if self.replicates < 4:
            raise ValueError(f"replicates = {self.replicates}: the scatter of fewer than 4 says nothing; use 8")

    def refined(self) -> "Sampling":
        """Four times the points."""
        return Sampling(4 * self.points, self.replicates)


def sample_means(
    fields: Fields,
    V: float,
    V_odd: float,
    beta: float,
    beta0: float,
    tokens: int,
    sampling: Sampling,
    response: bool = False,
) -> SampleMeans:
    """Means over the channel at T = tokens; a general index (with antisymmetric part) if V_odd > 0.

    V, V_odd: index^2/loss, V = 0 means that the minimiser is the field itself.
    """
    index = token_index(tokens, V_odd > 0)
    components, directions = index.visible.shape
    odd = components - index.symmetric
    gaussians = _gaussians(2 * (directions - odd) + odd, sampling)
    block = min(BLOCK, sampling.points)
    sums = np.zeros((len(gaussians) // block, len(SampleMeans._fields)))
    stiffness = np.full(components, 1.0 / V)
    if odd:
        stiffness[index.symmetric :] = 1.0 / V_odd
    correcting, margin = sampling.points, convexity(stiffness, beta)
    if not response and margin > 1.0:
        correcting = max(1, sampling.points // min(int(CORRECTING * margin**2), MOST_PER_CORRECTION))

    def work(first: int, last: int) -> None:
        for k in range(first, last):
            _cached_sum_block(
                gaussians[k * block : (k + 1) * block],
                correcting - k * block % sampling.points,
                sampling.points / correcting,
                index,
                fields,
                stiffness,
                beta,
                beta0,
                response,
                sums[k],
            )

    over_blocks(work, len(sums))
    return SampleMeans(*(sums.reshape(sampling.replicates, -1, sums.shape[-1]).sum(axis=1) / (2 * sampling.points)).T)


class UnlearnedMeans(NamedTuple):
    """Means per sample at S = 0, each of shape (replicates,).

    loss; R, R_odd: squared slope of the loss along the symmetric and the antisymmetric components; F1: slope times -gamma1;
    curvature, curvature_odd: traces of the curvature over the two kinds of components.
    """

    loss: Array
    R: Array
    R_odd: Array
    F1: Array
    curvature: Array
    curvature_odd: Array


def unlearned_means(
    target: float, beta: float, beta0: float, tokens: int, general: bool, sampling: Sampling
) -> UnlearnedMeans:
    """Means over the labels at w = x = 0; `target` is the standard deviation per unit of the target field."""
    index = token_index(tokens, general)
    gaussians = _gaussians(tokens * (tokens + 1) // 2 - 1, sampling)
    sums = np.zeros((len(gaussians) // min(BLOCK, sampling.points), len(UnlearnedMeans._fields)))

    def work(first: int, last: int) -> None:
        _cached_sum_unlearned(first, last, gaussians, index, target, beta, beta0, sums)

    over_blocks(work, len(sums))
    return UnlearnedMeans(*(sums.reshape(sampling.replicates, -1, sums.shape[-1]).sum(axis=1) / sampling.points).T)


@compiled
def _sum_unlearned(first, last, gaussians, index, target, beta, beta0, sums):  # type: ignore[no-untyped-def]
    size = len(gaussians) // len(sums)
    for block in range(first, last):
        points = gaussians[block * size : (block + 1) * size]
        _add_unlearned(points, index, target, beta, beta0, sums[block])


@compiled
def _add_unlearned(gaussians, index, target, beta, beta0, sums):  # type: ignore[no-untyped-def]
    components = len(index.visible)
    work = workspace(len(index.scale), components)
    rest, gamma, z = np.zeros(components), np.zeros(components), np.zeros(components)
    for point in gaussians:
        for i in range(index.symmetric):
            gamma[i] = 0.0
            for k in range(len(point)):
                gamma[i] += index.visible[i, k] * point[k]
            z[i] = target * gamma[i]
        fill_index(z, index, work.fit)
        fill_softmax(work.fit, beta0, work.y)
        sums[0] += loss_of(rest, index, beta, work)
        fill_loss_gradient(index, beta, work)
        fill_loss_hessian(index, beta, 1.0, work)
        for i in range(components):
            odd = i >= index.symmetric
            sums[2 if odd else 1] += work.gradient[i] ** 2
            sums[3] -= work.gradient[i] * gamma[i]
            sums[5 if odd else 4] += work.hessian[i, i]


@lru_cache(maxsize=4)
def _gaussians(dimensions: int, sampling: Sampling) -> Array:
    """Normal deviates, shape (replicates * points, dimensions)."""
    seeds = np.random.SeedSequence(dimensions).spawn(sampling.replicates)
    sets = (qmc.Sobol(dimensions, rng=np.random.default_rng(seed)).random(sampling.points) for seed in seeds)
    return ndtri(np.concatenate(list(sets)))


@compiled
def _sum_block(gaussians, correcting, ratio, index, fields, stiffness, beta, beta0, response, sums):  # type: ignore[no-untyped-def]
    """Add the points of a block to its sums, the first `correcting` of them at their minimiser.

    ratio: points for each that corrects; 1 if all are taken at their minimiser
    """
    components, directions = index.visible.shape
    tokens, symmetric = len(index.scale), index.symmetric
    odd = components - symmetric
    even = directions - odd
    work = workspace(tokens, components)
    gamma1, gamma2, w, z = np.zeros(components), np.zeros(components), np.zeros(components), np.zeros(components)
    for k in range(len(gaussians)):
        point = gaussians[k]
        for i in range(symmetric):
            gamma1[i], gamma2[i] = 0.0, 0.0
            for direction in range(even):
                gamma1[i] += index.visible[i, direction] * point[direction]
                gamma2[i] += index.visible[i, direction] * point[even + direction]
        gamma2[symmetric:] = point[2 * even :]
        for i in range(symmetric):
            z[i] = fields.target * gamma1[i]
        fill_index(z, index, work.fit)
        fill_softmax(work.fit, beta0, work.y)
        work.fit[:, :] = work.fit * (beta0 / beta)
        for sign in (1.0, -1.0):
            for i in range(components):
                independent = fields.independent if i < symmetric else fields.odd
                w[i] = fields.teacher * gamma1[i] + sign * independent * gamma2[i]
            if ratio == 1.0:
                sums[1] += loss_of(w, index, beta, work)
            else:
                sums[1] += fill_nearly_minimiser(w, stiffness, index, beta, work)
                weight = 1.0 - ratio if k < correcting else 1.0
                _add_terms(weight, False, w, gamma1, gamma2, sign, index, stiffness, beta, work, sums)
            if k < correcting:
                _, seen = global_minimiser(w, stiffness, index, beta, work)
                _add_terms(ratio, True, w, gamma1, gamma2, sign, index, stiffness, beta, work, sums)
                if seen == 1:
                    sums[11] += 1.0
                if seen == 2:
                    sums[12] += 1.0
                if response:
                    _add_response(index, stiffness, beta, work, sums)


@inlined
def _add_terms(weight, settled, w, gamma1, gamma2, sign, index, stiffness, beta, work, sums):  # type: ignore[no-untyped-def]
    """Add the sample's terms at work.x, settled at the minimiser or not, with this weight."""
    symmetric, x, gradient = index.symmetric, work.x, work.gradient
    sums[0] += weight * loss_of(x, index, beta, work)
    fill_loss_gradient(index, beta, work)
    for i in range(len(w)):
        # At the minimiser (x - w)/V is minus the slope of the loss; the smaller of the two factors keeps its digits.
        dual = stiffness[i] * (x[i] - w[i]) if settled and stiffness[i] < 1.0 else -gradient[i]
        square = weight * (dual / stiffness[i]) ** 2
        if i < symmetric:
            sums[2] += square
            sums[4] += weight * dual * gamma1[i]
            sums[5] += weight * sign * dual * gamma2[i]
        else:
            sums[3] += square
            sums[6] += weight * sign * dual * gamma2[i]


@compiled
def _add_response(index, stiffness, beta, work, sums):  # type: ignore[no-untyped-def]
    """Squares of df/dw = -(1 + H V)^-1 H, H the curvature of the loss: column by column, from (H + 1/V) y = H e/V."""
    size, symmetric = len(stiffness), index.symmetric
    fill_loss_hessian(index, beta, 1.0, work)
    curvature = work.hessian.copy()
    for i in range(size):
        for j in range(i):
            curvature[j, i] = curvature[i, j]
        work.hessian[i, i] += stiffness[i]
    if not cholesky(work.hessian, work.factor):
        return  # a minimiser on the verge of losing its minimum: of measure zero
    for k in range(size):
        work.step[:] = curvature[:, k]
        solve_with(work.factor, work.step)
        for i in range(size):
            square = (stiffness[i] * work.step[i]) ** 2
            sums[7 + 2 * (i >= symmetric) + (k >= symmetric)] += square


def _entries(sources: str) -> tuple[Any, Any]:
    """The two sums with a cache on disk, valid for this digest of the sources they call."""

    @njit(cache=True, nogil=True)
    def sum_block(*arguments):  # type: ignore[no-untyped-def]
        _ = sources
        _sum_block(*arguments)

    @njit(cache=True, nogil=True)
    def sum_unlearned(*arguments):  # type: ignore[no-untyped-def]
        _ = sources
        _sum_unlearned(*arguments)

    return sum_block, sum_unlearned


_cached_sum_block, _cached_sum_unlearned = _entries(digest(physics, token_sample))
