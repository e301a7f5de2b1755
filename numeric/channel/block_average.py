"""Averages over the samples of one block of visible indices, whatever its output and loss (theory note, section 3).

One visible index: a trapezoidal rule over what the label sees, and for each label a Gauss-Legendre rule over the rest of the field in
pieces between the jumps of the minimiser, which are located. More: a trapezoidal rule in every direction, for minimisers that do not
jump.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss

from numeric.channel.block_minima import JUMP, lowest_minimiser
from numeric.channel.block_sample import Array, BlockSample
from numeric.problem.fields import Fields

STRIP = 1.2  # imaginary distance of singularities, in standard deviations: a logistic function of a field of deviation 2.6 has it
POLES = np.pi  # of a logistic function: at this imaginary distance
SPAN = 8.5  # standard deviations that are integrated: what is left out has a probability of 2e-17
SCAN_POINTS = 41  # places at which jumps are looked for
JUMP_STEEPNESS = 1.5  # rise of the minimiser over that of the field from which on there may be one
JUMPS = 2  # for each label: on either side of its fit
BISECTIONS, NEWTON = (
    8,
    3,
)  # of the interval that holds a jump, and steps of Newton's method after that: to rounding


class BlockMeans(NamedTuple):
    """Means over the samples of all copies: training loss, elastic energy R, E f.gamma1, E f.gamma2, test loss."""

    train: float
    R: float
    F1: float
    F2: float
    test: float


class _Points(NamedTuple):
    """Standard Gaussian components seen by the label and not, shape (indices, points), and weights."""

    seen: Array
    unseen: Array
    weights: Array


class Nodes(NamedTuple):
    """Nodes along each direction, and the imaginary distance up to which the label is analytic: the less, the more nodes it takes."""

    along: int
    strip: float = STRIP

    @property
    def seen(self) -> int:
        """Nodes in each direction that the label sees."""
        return int(np.ceil(self.along * STRIP / self.strip))


def label_strip(sample: BlockSample, fields: Fields) -> float:
    """Imaginary distance up to which the label is analytic in what it sees, as far as its output is made of logistic functions."""
    beta0 = dict(sample.settings).get("beta0", 1.0)
    return min(STRIP, float(POLES / (beta0 * fields.target * np.sqrt(sample.covariance.max()))))


def index_strip(sample: BlockSample, fields: Fields) -> float:
    """The same of label and prediction."""
    beta, spread = (
        dict(sample.settings).get("beta", 1.0),
        np.hypot(fields.teacher, fields.independent),
    )
    return min(
        label_strip(sample, fields),
        float(POLES / (beta * spread * np.sqrt(sample.covariance.max()) + 1e-300)),
    )


def fresh_loss_mean(sample: BlockSample, fields: Fields, nodes: Nodes) -> float:
    """Mean loss of fresh samples of all copies."""
    grid, weights = gaussian_grid(2 * sample.indices, nodes.along, nodes.seen)
    w, y, _ = _fields(
        sample, fields, _Points(grid[: sample.indices], grid[sample.indices :], weights)
    )
    return sample.copies * float(weights @ sample.loss(w, y))


def fitted_loss_mean(sample: BlockSample, rho: float, nodes: Nodes) -> float:
    """Mean loss where the visible index is that of the label, of all copies."""
    grid, weights = gaussian_grid(sample.indices, nodes.along, nodes.seen)
    z = np.sqrt(rho) * sample.root @ grid
    return sample.copies * float(
        weights @ np.broadcast_to(sample.loss(sample.fitted(z), sample.label(z)), weights.shape)
    )


def least_loss_mean(sample: BlockSample, q0: float, rho: float, nodes: Nodes) -> float:
    """Mean over the target's index of the least mean loss over the noise of its label, of all copies."""
    grid, weights = gaussian_grid(sample.indices, nodes.along, nodes.seen)
    h0 = np.sqrt(q0) * sample.root @ grid
    z = h0[:, :, None] + np.sqrt(max(rho - q0, 0.0)) * (sample.root @ grid)[:, None, :]
    u = sample.best_index(h0, sample.label(z), weights)
    return sample.copies * float(weights @ (sample.loss(u[:, :, None], sample.label(z)) @ weights))


def block_means(sample: BlockSample, fields: Fields, V: float, nodes: Nodes) -> BlockMeans:
    """Averages at these fields of a student and V."""
    points, u, w, y = _minimised(sample, fields, V, nodes)
    away = u - w
    dual = np.linalg.solve(sample.covariance, away) / V
    gamma = [sample.root @ part for part in (points.seen, points.unseen)]
    values = (
        sample.loss(u, y),
        V * np.sum(away * dual, axis=0),
        *(np.sum(dual * part, axis=0) for part in gamma),
        sample.loss(w, y),
    )
    return BlockMeans(
        *(
            sample.copies * float(points.weights @ np.broadcast_to(value, points.weights.shape))
            for value in values
        )
    )


def mean_response(sample: BlockSample, fields: Fields, V: float, nodes: Nodes) -> float:
    """F, the mean of ||Sigma^1/2 df/dw Sigma^1/2||^2 over the samples of all copies, each on its side of the jumps.

    From f = Sigma^-1 (u - w)/V and the stationarity of u: Sigma df/dw = -Sigma H/(1 + V Sigma H), H the curvature of the loss.
    """
    points, u, _, y = _minimised(sample, fields, V, nodes)
    curvature = np.einsum("ij,jk...->...ik", sample.covariance, sample.hessian(u, y))
    turned = np.linalg.solve(np.eye(sample.indices) + V * curvature, curvature)
    return sample.copies * float(points.weights @ np.einsum("...ij,...ji->...", turned, turned))


def unlearned_means(
    sample: BlockSample, fields: Fields, nodes: Nodes
) -> tuple[float, float, float, float]:
    """Loss, R and E f.gamma1 of S = 0, where f is minus the slope of the loss, and the mean of tr Sigma H."""
    grid, product = gaussian_grid(sample.indices, nodes.along, nodes.seen)
    gamma = sample.root @ grid
    y, rest = sample.label(fields.target * gamma), np.zeros_like(grid)
    dual = -sample.gradient(rest, y)
    values = (
        sample.loss(rest, y),
        np.einsum("i...,ij,j...->...", dual, sample.covariance, dual),
        np.sum(dual * gamma, axis=0),
        np.einsum("ij,ji...->...", sample.covariance, sample.hessian(rest, y)),
    )
    loss, R, F1, curvature = (
        sample.copies * float(product @ np.broadcast_to(one, grid.shape[1])) for one in values
    )
    return loss, R, F1, curvature


def _fields(sample: BlockSample, fields: Fields, points: _Points) -> tuple[Array, Array, Array]:
    """Student field, label, and the student's index that fits it."""
    seen, unseen = sample.root @ points.seen, sample.root @ points.unseen
    z = fields.target * seen
    return fields.teacher * seen + fields.independent * unseen, sample.label(z), sample.fitted(z)


def _minimised(
    sample: BlockSample, fields: Fields, V: float, nodes: Nodes
) -> tuple[_Points, Array, Array, Array]:
    """Points of the rule with minimiser, field and label there."""
    if sample.indices == 1:
        return _piecewise(sample, fields, V, nodes)
    points = _tensor(sample.indices, nodes)
    w, y, fit = _fields(sample, fields, points)
    return points, lowest_minimiser(sample, w, y, fit, V), w, y


@lru_cache(maxsize=4)
def _tensor(indices: int, nodes: Nodes) -> _Points:
    """The trapezoidal rule in 2 x indices directions, without points that weigh nothing."""
    grid, weights = gaussian_grid(indices, nodes.along, nodes.seen, also=indices)
    return _Points(grid[:indices], grid[indices:], weights)


def gaussian_grid(directions: int, count: int, fine: int, also: int = 0) -> tuple[Array, Array]:
    """Points (directions, points) and weights of the trapezoidal rule for standard Gaussians.

    With `count` nodes along a direction it errs by exp(-2 pi STRIP/step) for what is analytic up to an imaginary distance of STRIP,
    and leaves out exp(-reach^2/2): the reach makes both alike. The first directions have `fine` nodes, to the same reach, and `also`
    more have `count`. Gauss-Hermite rules need more points for the sigmoids and logarithms here.
    """
    reach = np.cbrt(2 * np.pi * STRIP * count)
    axes = [np.linspace(-reach, reach, nodes) for nodes in [fine] * directions + [count] * also]
    product = np.ones(())
    for x in axes:
        weights = np.exp(-(x**2) / 2)
        product = np.multiply.outer(product, weights / weights.sum())
    kept = product.ravel() > np.exp(-(reach**2) / 2) * product.max()
    grid = np.array(np.meshgrid(*axes, indexing="ij")).reshape(len(axes), -1)
    return grid[:, kept], product.ravel()[kept] / product.ravel()[kept].sum()


def _piecewise(
    sample: BlockSample, fields: Fields, V: float, nodes: Nodes
) -> tuple[_Points, Array, Array, Array]:
    """Points between the jumps of the minimiser for each label, with minimiser, field and label there."""
    outer = np.linspace(-SPAN, SPAN, nodes.seen)
    outer_weights = np.exp(-(outer**2) / 2)
    outer_weights /= outer_weights.sum()
    ends = _jumps(sample, fields, V, outer)
    x, weights = leggauss(nodes.along)
    low, high = ends[:-1], ends[1:]  # pieces x labels
    middle, half = (low + high) / 2, (high - low) / 2
    places = middle[..., None] + half[..., None] * x
    gauss = half[..., None] * weights * np.exp(-(places**2) / 2) / np.sqrt(2 * np.pi)
    seen = np.broadcast_to(outer[None, :, None], (*low.shape, nodes.along)).reshape(1, -1)
    points = _Points(seen, places.reshape(1, -1), (gauss * outer_weights[None, :, None]).ravel())
    w, y, fit = _fields(sample, fields, points)
    return points, lowest_minimiser(sample, w, y, fit, V), w, y


def _jumps(sample: BlockSample, fields: Fields, V: float, outer: Array) -> Array:
    """Ends of the pieces for each label, ascending, shape (pieces + 1, labels): the span, and where the minimiser jumps.

    A minimiser never falls as its field rises, and without a jump it rises by no more than the field where the loss is convex: the
    steepest intervals of a scan are halved, always keeping the half that rises more, and what rises still is a jump.
    """
    root = float(sample.root[0, 0])
    span, scan = np.full_like(outer, SPAN), np.linspace(-SPAN, SPAN, SCAN_POINTS)
    if sample.convex_up_to > V:
        return np.array([-span, span])

    def minimisers(unseen: Array, seen: Array) -> Array:
        w, y, fit = _fields(sample, fields, _Points(seen[None], unseen[None], seen))
        return lowest_minimiser(sample, w, y, fit, V)[0]

    u = minimisers(np.tile(scan, len(outer)), np.repeat(outer, len(scan))).reshape(
        len(outer), len(scan)
    )
    rises = np.abs(np.diff(u, axis=1))
    if np.all(rises < JUMP_STEEPNESS * root * fields.independent * (scan[1] - scan[0])):
        return np.array([-span, span])
    steepest = np.sort(np.argsort(rises, axis=1)[:, -JUMPS:], axis=1)
    seen, (left, right) = np.repeat(outer, JUMPS), (scan[steepest + k].ravel() for k in (0, 1))
    u_left, u_right = (np.take_along_axis(u, steepest + k, axis=1).ravel() for k in (0, 1))
    for _ in range(BISECTIONS):
        middle = (left + right) / 2
        between = minimisers(middle, seen)
        first = np.abs(between - u_left) > np.abs(u_right - between)
        left, right = np.where(first, left, middle), np.where(first, middle, right)
        u_left, u_right = np.where(first, u_left, between), np.where(first, between, u_right)
    place = (left + right) / 2
    for _ in range(NEWTON):
        w, y, _ = _fields(sample, fields, _Points(seen[None], place[None], seen))
        one, other = (sample.minimiser(start[None], w, y, V) for start in (u_left, u_right))
        gap = sample.energy(one, w, y, V) - sample.energy(other, w, y, V)
        # By the envelope theorem either energy has the slope (w - u)/(V C) in w.
        slope = (other - one)[0] * fields.independent / (V * root)
        step = np.divide(
            gap, slope, out=np.zeros_like(gap), where=np.abs(other - one)[0] > JUMP * sample.unit
        )
        place = np.clip(place - step, left, right)
    return np.array([-span, *np.sort(place.reshape(len(outer), JUMPS), axis=1).T, span])
