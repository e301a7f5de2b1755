"""Averages over the output channel at any number of tokens, by randomised quasi-Monte Carlo with
replicates.

A sample has Gaussian fields along the visible directions of its index (`whitened_index`): gamma1,
which the label sees, and gamma2, which only the student sees; leading features treated exactly add
products of Gaussians of their own. Each point (numeric.maths.sobol) is taken with both signs of
gamma2: what is odd in gamma2, and what is left of it when student and target nearly agree, drops
out exactly. The scatter of the replicates is the error. Large averages take few of their points at
the global minimiser, the first of each replicate, which are a Sobol set too; a control variate at
all points (`control_variate`) takes away most of the variance. A few points of their own say how
well it follows, and so how large that share must be. Formulas are generated (theory note, sections
1-3 and 6).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numeric.channel.softmax import fitted_minimiser as fitted_module
from numeric.channel.softmax import pair_minimiser, sequence_minimiser
from numeric.channel.softmax.control_variate import TERMS, add_control_terms, batch_arrays
from numeric.channel.softmax.fitted_minimiser import fitted_minimiser
from numeric.channel.softmax.sequence_minimiser import (
    cholesky,
    component_displacement,
    component_dual,
    convexity,
    fill_index,
    fill_loss_gradient,
    fill_loss_hessian,
    fill_softmax,
    global_minimiser,
    inlined,
    loss_of,
    scale_by,
    solve_with,
    workspace,
)
from numeric.channel.softmax.whitened_index import TokenIndex, token_index
from numeric.maths.kernels import digest, entry, inner
from numeric.maths.sobol import BLOCK, Sampling, block_sums, gaussians, rare_gaussians
from numeric.model import float64 as physics
from numeric.problem.fields import Fields

Array = NDArray[np.float64]
_feature_index = inner(physics.feature_index)

# Points per replicate from which on the control variate pays for its pilot, and at the least at
# their minimiser: where a stand-in ends at another minimum it is far off, which is rare and has to
# be seen.
MIN_CONTROL_POINTS, MIN_MINIMISER_POINTS = 1024, 256
PILOT = Sampling(BLOCK, 4)
# Points beside those at their minimiser may add this share to the variance of a term over
# independent points (a Sobol set's is several times less), and to that of the train error, which
# enters no conjugate; at least one point in so many is at its minimiser.
ADDED, ADDED_TO_TRAIN, MAX_POINTS_PER_MINIMISER = 0.05, 0.5, 64


class SampleMeans(NamedTuple):
    """Means per sample, each of shape (replicates,).

    train, test: loss at the minimiser and at the field
    R, R_odd: squared displacement of the symmetric and of the antisymmetric components
    F1, F2, F_odd: dual field times gamma1, gamma2, and times the antisymmetric field
    F1_own, F2_own: the parts of F1 and F2 from scores of a token with itself
    response: E||df/dw||^2 between symmetric and antisymmetric components (ss, so, os, oo), not
    computed unless asked for
    rest, moved: shares of samples with several minima whose lowest is that at rest, or another; on
    the fitted branch `moved` are those beyond a fold, where the minimum of the label has ended
    features: dual field times the index of each leading feature, (replicates, features)
    """

    train: Array
    test: Array
    R: Array
    R_odd: Array
    F1: Array
    F2: Array
    F_odd: Array
    F1_own: Array
    F2_own: Array
    response_ss: Array
    response_so: Array
    response_os: Array
    response_oo: Array
    rest: Array
    moved: Array
    features: Array


SCALARS = len(SampleMeans._fields) - 1  #: those that are no rows of features
RESPONSE, REST, MOVED = map(SampleMeans._fields.index, ("response_ss", "rest", "moved"))
NORM_TERMS = slice(7, 9)  #: terms that only norms of tokens need


class Channel(NamedTuple):
    """What all samples share; stiffness, shape (components,), is 1/V.

    The coefficients of the fields are of shape (symmetric components,).
    """

    layout: TokenIndex
    fields: Fields
    stiffness: Array
    beta: float
    beta0: float
    fitted: bool


def sample_means(
    fields: Fields,
    V: float,
    V_odd: float,
    beta: float,
    beta0: float,
    tokens: int,
    sampling: Sampling,
    response: bool = False,
    fitted: bool = False,
) -> SampleMeans:
    """Means over the channel at T = tokens; a general index (with antisymmetric part) if V_odd > 0.

    Each sample at its global minimiser, or, if `fitted`, at the minimum connected to its label.

    V, V_odd: index^2/loss, V = 0 means that the minimiser is the field itself.
    """
    channel = _channel(fields, V, V_odd, beta, beta0, tokens, fitted)
    points = gaussians(_dimensions(channel), sampling).reshape(
        sampling.replicates, sampling.points, -1
    )
    if fitted or response or sampling.points < MIN_CONTROL_POINTS:
        return _named(_means_at_minimisers(points, channel, response))
    count = max(int(_minimiser_share(channel) * sampling.points), MIN_MINIMISER_POINTS)
    means = _means_at_minimisers(points[:, :count], channel, False)
    if count < sampling.points:
        controls = _control_means(points.reshape(-1, points.shape[-1]), channel, BLOCK)
        controls = controls.reshape(len(points), -1, controls.shape[-1])
        means[:, _controlled_terms(channel)] += controls.mean(axis=1) - controls[
            :, : count // BLOCK
        ].mean(axis=1)
    return _named(means)


def several_minima(
    fields: Fields,
    V: float,
    V_odd: float,
    beta: float,
    beta0: float,
    tokens: int,
    sampling: Sampling,
) -> Array:
    """Shares of samples whose Moreau energy has several minima, shape (replicates,), resolved where
    they are rare.

    Arguments as of `sample_means`.
    """
    channel = _channel(fields, V, V_odd, beta, beta0, tokens, fitted=False)
    if convexity(channel.stiffness, beta) > 1.0:
        return np.zeros(sampling.replicates)
    points, weights = rare_gaussians(_dimensions(channel), sampling)
    terms = _one_by_one(points, channel)
    counts = terms[:, REST] + terms[:, MOVED]
    return np.asarray((weights * counts / 2).reshape(sampling.replicates, -1).mean(axis=1))


def _channel(
    fields: Fields, V: float, V_odd: float, beta: float, beta0: float, tokens: int, fitted: bool
) -> Channel:
    index = token_index(tokens, V_odd > 0, _has_norms(fields))
    stiffness = np.full(len(index.visible), 1.0 / V)
    if V_odd > 0:
        stiffness[index.symmetric :] = 1.0 / V_odd
    return Channel(index, _of_components(fields, index), stiffness, beta, beta0, fitted)


def _has_norms(fields: Fields) -> bool:
    """Return whether scores of a token with itself have coefficients of their own."""
    return np.ndim(fields.target) > 0


def _of_components(fields: Fields, index: TokenIndex) -> Fields:
    """Return the fields with the coefficients of each symmetric component."""
    kinds = np.where(index.own, 0, 1)
    teacher, independent, target = (
        np.broadcast_to(one, 2)[kinds].astype(float)
        for one in (fields.teacher, fields.independent, fields.target)
    )
    return fields._replace(teacher=teacher, independent=independent, target=target)


def _sizes(channel: Channel) -> tuple[int, int, int]:
    """Tokens, components and leading features."""
    return (
        len(channel.layout.scale),
        len(channel.layout.visible),
        len(channel.fields.target_features),
    )


def _named(means: Array) -> SampleMeans:
    rows: list[Array] = [*means[:, :SCALARS].T, means[:, SCALARS:]]
    return SampleMeans(*rows)


def _dimensions(channel: Channel) -> int:
    """Gaussians of a sample: two for each visible direction of the symmetric part, one for each
    antisymmetric component.

    And one of each token for every leading feature.
    """
    index, features = channel.layout, len(channel.fields.target_features)
    return (
        2 * index.visible_symmetric
        + len(index.visible)
        - index.symmetric
        + features * len(index.scale)
    )


def _means_at_minimisers(points: Array, channel: Channel, response: bool) -> Array:
    """Means at the minimisers, shape (replicates, terms); points of shape (replicates, points,
    Gaussians).
    """
    replicates, count, _ = points.shape
    block = min(BLOCK, count)
    sums = block_sums(
        lambda some, out: _add_minimiser_terms(
            some, channel, response, block, workspace(*_sizes(channel)), out
        ),
        points.reshape(replicates * count, -1),
        _terms(channel),
        block,
        block,
    )
    return sums.reshape(replicates, -1, sums.shape[-1]).sum(axis=1) / (2 * count)


def _one_by_one(points: Array, channel: Channel) -> Array:
    """Terms of each point at its minimisers, both signs added, shape (points, terms)."""
    return block_sums(
        lambda some, out: _add_minimiser_terms(
            some, channel, False, 1, workspace(*_sizes(channel)), out
        ),
        points,
        _terms(channel),
        BLOCK,
        1,
    )


def _control_means(points: Array, channel: Channel, group: int) -> Array:
    """Means of the control variate over groups of points, shape (groups, controlled terms)."""
    terms = len(_controlled_terms(channel))
    found = block_sums(
        lambda some, out: add_control_terms(
            some, channel, group, batch_arrays(*_sizes(channel)), out
        ),
        points,
        terms,
        BLOCK,
        group,
    )
    return found / (2 * group)


def _controlled_terms(channel: Channel) -> list[int]:
    """Places of the terms that have a control variate."""
    return [*range(TERMS), *range(SCALARS, _terms(channel))]


def _terms(channel: Channel) -> int:
    return SCALARS + len(channel.fields.target_features)


def _minimiser_share(channel: Channel) -> float:
    """The share of points to be taken at their minimiser, a power of 1/2, by how well the control
    variate follows the terms.
    """
    points = gaussians(_dimensions(channel), PILOT, 1)
    exact = _one_by_one(points, channel)[:, _controlled_terms(channel)] / 2
    missed = np.var(exact - _control_means(points, channel, 1), axis=0)
    left = missed / np.maximum(np.var(exact, axis=0), np.finfo(float).tiny)
    if channel.layout.visible_symmetric < channel.layout.symmetric:
        left[NORM_TERMS] = 0.0
    wanted = max(left[0] / ADDED_TO_TRAIN, left[2:].max() / ADDED, 1.0 / MAX_POINTS_PER_MINIMISER)
    return float(min(1.0, 2.0 ** np.ceil(np.log2(wanted))))


class UnlearnedMeans(NamedTuple):
    """Means per sample at S = 0, each of shape (replicates,).

    loss; R, R_odd: squared slope of the loss along the symmetric and the antisymmetric components;
    F1: slope times -gamma1;
    curvature, curvature_odd: traces of the curvature over the two kinds of components; F1_own: the
    part of F1 from scores of a token with itself; features: slope times minus the index of each
    leading feature, (replicates, features).
    """

    loss: Array
    R: Array
    R_odd: Array
    F1: Array
    curvature: Array
    curvature_odd: Array
    F1_own: Array
    features: Array


UNLEARNED_SCALARS = len(UnlearnedMeans._fields) - 1  #: those that are no rows of features


def unlearned_means(
    fields: Fields, beta: float, beta0: float, tokens: int, general: bool, sampling: Sampling
) -> UnlearnedMeans:
    """Means over the labels at w = x = 0; of the fields only the target's count."""
    index = token_index(tokens, general, _has_norms(fields))
    features, fields = len(fields.target_features), _of_components(fields, index)
    points = gaussians(index.visible_symmetric + features * tokens, sampling)
    block = min(BLOCK, sampling.points)
    sums = block_sums(
        lambda some, out: _unlearned(
            some,
            index,
            fields,
            beta,
            beta0,
            block,
            workspace(tokens, len(index.visible), features),
            out,
        ),
        points,
        UNLEARNED_SCALARS + features,
        block,
        block,
    )
    means = sums.reshape(sampling.replicates, -1, sums.shape[-1]).sum(axis=1) / sampling.points
    rows: list[Array] = [*means[:, :UNLEARNED_SCALARS].T, means[:, UNLEARNED_SCALARS:]]
    return UnlearnedMeans(*rows)


@inner
def _fill_features(point, first, index, features):
    """Whitened components of z_a z_b - delta_ab of each leading feature, its Gaussians z from place
    `first` of the point on.
    """
    tokens = len(index.scale)
    for k in range(len(features)):
        start = first + k * tokens
        for a in range(tokens):
            for b in range(a, tokens):
                product = _feature_index(point[start + a], point[start + b], 1.0 if a == b else 0.0)
                features[k, index.component[a, b]] = product / index.scale[a, b]


@inlined
def _add_features(shares, features, out):
    """Add the leading features, by their shares, to components."""
    for k in range(len(features)):
        for i in range(len(out)):
            out[i] += shares[k] * features[k, i]


_SOURCES = digest(physics, pair_minimiser, sequence_minimiser, fitted_module)


@entry
def _unlearned(points, index, fields, beta, beta0, group, work, sums, sources=_SOURCES):
    """Add the terms of points at w = x = 0 to their sums, in groups of points."""
    gamma, z, rest, features, gradient = work.gamma1, work.z, work.w, work.features, work.gradient
    components, directions = index.visible.shape
    even = directions - (components - index.symmetric)
    for number in range(len(points)):
        point, terms = points[number], sums[number // group]
        _fill_features(point, even, index, features)
        for i in range(index.symmetric):
            gamma[i] = 0.0
            for k in range(even):
                gamma[i] += index.visible[i, k] * point[k]
            z[i] = fields.target[i] * gamma[i]
        _add_features(fields.target_features, features, z)
        fill_index(z, index, work.fit)
        fill_softmax(work.fit, beta0, work.y)
        terms[0] += loss_of(rest, index, beta, work)
        fill_loss_gradient(index, beta, work)
        fill_loss_hessian(index, beta, 1.0, work)
        for i in range(len(rest)):
            odd = i >= index.symmetric
            terms[2 if odd else 1] += gradient[i] ** 2
            terms[3] -= gradient[i] * gamma[i]
            if not odd and index.own[i]:
                terms[6] -= gradient[i] * gamma[i]
            terms[5 if odd else 4] += work.hessian[i, i]
            for k in range(len(features)):
                terms[UNLEARNED_SCALARS + k] -= gradient[i] * features[k, i]


@entry
def _add_minimiser_terms(points, channel, response, group, work, sums, sources=_SOURCES):
    """Add the terms of points at their global minimisers to their sums, in groups of points."""
    index, fields, stiffness, beta, beta0, fitted = channel
    gamma1, gamma2, w, z, features = work.gamma1, work.gamma2, work.w, work.z, work.features
    components, directions = index.visible.shape
    symmetric = index.symmetric
    even = directions - (components - symmetric)
    for k in range(len(points)):
        point, terms = points[k], sums[k // group]
        for i in range(symmetric):
            gamma1[i], gamma2[i] = 0.0, 0.0
            for direction in range(even):
                gamma1[i] += index.visible[i, direction] * point[direction]
                gamma2[i] += index.visible[i, direction] * point[even + direction]
        for i in range(symmetric, components):
            gamma2[i] = point[2 * even + i - symmetric]
        _fill_features(point, directions + even, index, features)
        for i in range(symmetric):
            z[i] = fields.target[i] * gamma1[i]
        _add_features(fields.target_features, features, z)
        fill_index(z, index, work.fit)
        fill_softmax(work.fit, beta0, work.y)
        scale_by(beta0 / beta, work.fit)
        if fitted:
            for i in range(symmetric):
                z[i] *= beta0 / beta
            for i in range(symmetric, components):
                z[i] = 0.0
        for sign in (1.0, -1.0):
            for i in range(components):
                if i < symmetric:
                    w[i] = fields.teacher[i] * gamma1[i] + sign * fields.independent[i] * gamma2[i]
                else:
                    w[i] = sign * fields.odd * gamma2[i]
            _add_features(fields.student_features, features, w)
            terms[1] += loss_of(w, index, beta, work)
            if fitted:
                seen = 2 if fitted_minimiser(z, w, stiffness, index, beta, work) else 0
            else:
                _, seen = global_minimiser(w, stiffness, index, beta, work)
            _add_terms(sign, index, stiffness, beta, work, terms)
            if seen == 1:
                terms[REST] += 1.0
            if seen == 2:
                terms[MOVED] += 1.0
            if response:
                _add_response(index, stiffness, beta, work, terms)


@inlined
def _add_terms(sign, index, stiffness, beta, work, sums):
    """Add the terms of the sample at its minimiser work.x."""
    symmetric, x, w, gradient, gamma1, gamma2, features = (
        index.symmetric, work.x, work.w, work.gradient, work.gamma1, work.gamma2, work.features,
    )  # fmt: skip
    sums[0] += loss_of(x, index, beta, work)
    fill_loss_gradient(index, beta, work)
    for i in range(len(w)):
        # At the minimiser (x - w)/V is minus the slope of the loss; the smaller of the two factors
        # keeps its digits.
        dual = component_dual(x[i], w[i], stiffness[i]) if stiffness[i] < 1.0 else -gradient[i]
        square = component_displacement(dual, stiffness[i]) ** 2
        if i < symmetric:
            sums[2] += square
            sums[4] += dual * gamma1[i]
            sums[5] += sign * dual * gamma2[i]
            if index.own[i]:
                sums[7] += dual * gamma1[i]
                sums[8] += sign * dual * gamma2[i]
        else:
            sums[3] += square
            sums[6] += sign * dual * gamma2[i]
        for k in range(len(features)):
            sums[SCALARS + k] += dual * features[k, i]


@inner
def _add_response(index, stiffness, beta, work, sums):
    """Squares of df/dw = -(1 + H V)^-1 H, H the curvature of the loss: column by column, from (H +
    1/V) y = H e/V.
    """
    size, symmetric, hessian, curvature, step = (
        len(stiffness),
        index.symmetric,
        work.hessian,
        work.curvature,
        work.step,
    )
    fill_loss_hessian(index, beta, 1.0, work)
    for i in range(size):
        for j in range(i + 1):
            curvature[i, j] = curvature[j, i] = hessian[i, j]
        hessian[i, i] += stiffness[i]
    if not cholesky(hessian, work.factor):
        return  # a minimiser on the verge of losing its minimum: of measure zero
    for k in range(size):
        for i in range(size):
            step[i] = curvature[i, k]
        solve_with(work.factor, step)
        for i in range(size):
            square = (stiffness[i] * step[i]) ** 2
            sums[RESPONSE + 2 * (i >= symmetric) + (k >= symmetric)] += square
