"""Averages over the samples of one block of visible indices, for any output and loss.

Source: theory note, section 3. For one visible index: a trapezoidal rule over the index of the
label, and for each label a Gauss-Legendre rule over the rest of the field, in pieces between the
jumps of the minimiser, which are located. For several indices: a trapezoidal rule in every
direction, if minimisers do not jump.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss

from numeric.channel.block_minima import JUMP, lowest_minimiser
from numeric.channel.block_sample import Array, BlockSample
from numeric.channel.class_average import (
    ClassPoints,
    class_points,
    class_probabilities,
    panels,
)
from numeric.channel.kinks import index_of_least_mean, kinked_fields
from numeric.maths.domain import OutsideDomain
from numeric.problem.fields import Fields

# Imaginary distance of singularities, in standard deviations: that of a logistic function of a
# field with standard deviation 2.6.
STRIP = 1.2
POLES = np.pi  # imaginary distance of the poles of a logistic function
SPAN = 8.5  # integrated standard deviations: the remaining probability is 2e-17
# Width of a smoothed jump, in standard deviations of the student field, that the nodes of a smooth
# label resolve; and the least width that is resolved.
SHARP, SHARPEST = 0.4, 0.004
MOST_NODES = 10**5  # in one direction
# Most nodes in each direction of two student fields, and of the hidden part of two target indices,
# over those along a direction of a smooth function.
MOST_FIELDS, MOST_HIDDEN = 6.0, 2.5
# Ratio of nodes for the least mean loss, which has kinks where the best class changes: of one index
# with classes, of one with kinks alone, and of two.
FINER_CLASSES, FINER_KINKS, FINER_PLANE = 100, 10, (4, 16)
# Width of panels between kinks, in standard deviations, for this number of nodes along a direction.
PANEL, PANELLED = 0.5, 24
SCAN_POINTS = 41  # positions at which the scan for jumps evaluates the minimiser
JUMP_STEEPNESS = 1.5  # slope of the minimiser, relative to the field, above which it may jump
JUMPS = 2  # for each label: one on either side of its fit
BISECTIONS = 8  # of the interval around a jump
NEWTON = 3  # Newton steps after the bisections, down to rounding


class BlockMeans(NamedTuple):
    """Means over samples, summed over copies; of shape (axes,) for F1 and F2.

    Attributes:
        train: training loss.
        R: elastic energy.
        F1: dual field along each axis times the Gaussian that the label depends on.
        F2: dual field along each axis times the Gaussian that it does not depend on.
        test: test loss.
    """

    train: Array
    R: Array
    F1: Array
    F2: Array
    test: Array


class _Points(NamedTuple):
    """Standard Gaussian components, shape (indices, points), and weights.

    The label depends on x1, and not on x2.
    """

    x1: Array
    x2: Array
    weights: Array


class Nodes(NamedTuple):
    """Nodes along each direction.

    strip: imaginary distance up to which the label is analytic; a smaller one needs more nodes.
    """

    along: int
    strip: float = STRIP

    @property
    def seen(self) -> int:
        """Return the nodes in each direction that the label depends on.

        Raises:
            OutsideDomain: labels or kinks are so sharp that the nodes do not fit into memory.
        """
        count = self.along * STRIP / self.strip
        if not count < MOST_NODES:
            raise OutsideDomain(
                f"{count:.3g} nodes in one direction: labels or kinks are too sharp"
            )
        return int(np.ceil(count))


def label_strip(sample: BlockSample, fields: Fields) -> float:
    """Return the imaginary distance up to which the label is analytic in its index.

    Args:
        sample: block whose output consists of logistic functions.
        fields: standard deviations of the fields.
    """
    return min(STRIP, _pole_distance(sample, "beta0", float(np.max(fields.target))))


def index_strip(sample: BlockSample, fields: Fields) -> float:
    """Return the imaginary distance up to which label and prediction are analytic.

    Args:
        sample: block whose output consists of logistic functions.
        fields: standard deviations of the fields.
    """
    spread = float(np.max(np.hypot(fields.teacher, fields.independent)))
    return min(label_strip(sample, fields), _pole_distance(sample, "beta", spread))


def _pole_distance(sample: BlockSample, temperature: str, spread: float) -> float:
    beta = dict(sample.settings).get(temperature, 1.0)
    return float(POLES / (beta * spread * np.sqrt(sample.covariance.max()) + 1e-300))


def _class_points(sample: BlockSample, fields: Fields, nodes: Nodes, V: float = 0.0) -> ClassPoints:
    """Return the points of the student field with every class of the label.

    A jump of the label shows in the probabilities of the classes over a width of
    independent/teacher. Kinks of the minimiser divide the rule; at V = 0 it is the field itself.
    """
    teacher, independent, target = (np.asarray(one) for one in fields[:3])
    spread = np.hypot(teacher, independent)
    strip = min(STRIP, _pole_distance(sample, "beta", float(np.max(spread))))
    hidden = np.divide(independent, spread, out=np.ones_like(spread), where=spread > 0)
    if sample.is_in_cells:
        width = float(np.min(np.divide(independent, np.abs(teacher) + 1e-300)))
        strip = min(strip, STRIP * max(width, SHARPEST) / SHARP)
    else:
        strip = min(strip, _pole_distance(sample, "beta0", float(np.max(target))))
    seen = _limited(sample, Nodes(nodes.along, strip), MOST_FIELDS)
    if sample.kinks:
        places = kinked_fields(sample, sample.class_labels.T, V).ravel()
        scale = float(np.max(spread)) * sample.root[0, 0] + 1e-300
        line, weights = panels(places / scale, PANEL * PANELLED / seen)
        grid = line[None]
    else:
        grid, weights = gaussian_grid(sample.indices, nodes.along, seen)
    inner = _inner_rule(sample, float(np.max(target * hidden)), nodes)
    return class_points(sample, fields, grid, weights, inner)


def _inner_rule(sample: BlockSample, spread: float, nodes: Nodes) -> tuple[Array, Array]:
    """Return the rule over the part of the target index that the student does not see."""
    strip = min(STRIP, _pole_distance(sample, "beta0", spread))
    seen = _limited(sample, Nodes(nodes.along, strip), MOST_HIDDEN)
    return gaussian_grid(sample.indices, nodes.along, seen)


def _limited(sample: BlockSample, nodes: Nodes, most: float) -> int:
    """Return the nodes in a direction; those of several indices are limited, and a sharp label then
    shows in the error, as the change between two rules.
    """
    if sample.indices == 1:
        return nodes.seen
    return min(nodes.seen, int(most * nodes.along))


def fresh_loss_mean(sample: BlockSample, fields: Fields, nodes: Nodes) -> float:
    """Return the mean loss of fresh samples, summed over copies.

    Args:
        sample: block of visible indices.
        fields: standard deviations of the fields.
        nodes: nodes of the trapezoidal rule.
    """
    if sample.classes:
        points = _class_points(sample, fields, nodes)
        return float(_mean(sample, points.weights, sample.loss(points.w, points.y)))
    if sample.kinks:
        line = _piecewise(sample, fields, 0.0, nodes)
        w, y, _ = _fields(sample, fields, line.x1, line.x2)
        return float(_mean(sample, line.weights, sample.loss(w, y)))
    grid, weights = gaussian_grid(2 * sample.indices, nodes.along, nodes.seen)
    w, y, _ = _fields(sample, fields, *np.split(grid, 2))
    return float(_mean(sample, weights, sample.loss(w, y)))


def fitted_loss_mean(sample: BlockSample, rho: float, nodes: Nodes) -> float:
    """Return the mean loss if the visible index is that of the label, summed over copies.

    Args:
        sample: block of visible indices.
        rho: second moment of the target with its label noise, eigenvalue^2.
        nodes: nodes of the trapezoidal rule.
    """
    grid, weights = gaussian_grid(sample.indices, nodes.along, nodes.seen)
    z = np.sqrt(rho) * sample.root @ grid
    return float(_mean(sample, weights, sample.loss(sample.fitted(z), sample.label(z))))


def least_loss_mean(sample: BlockSample, q0: float, rho: float, nodes: Nodes) -> float:
    """Return the mean of the least expected loss given the index of the target, over copies.

    Args:
        sample: block of visible indices.
        q0: second moment of the target, eigenvalue^2.
        rho: second moment of the target with its label noise, eigenvalue^2.
        nodes: nodes of the trapezoidal rule.
    """
    finer = _finer_by(sample, np.sqrt(max(rho / q0 - 1, 0.0)))
    grid, weights = gaussian_grid(sample.indices, finer * nodes.along, finer * nodes.seen)
    h0 = np.sqrt(q0) * sample.root @ grid
    if sample.classes:
        spread = np.sqrt(max(rho - q0, 0.0))
        rest, inner = np.full((sample.indices, 1), spread), _inner_rule(sample, spread, nodes)
        p = class_probabilities(sample, np.sqrt(q0) * grid, rest, inner).T
        y = np.broadcast_to(
            sample.class_labels.T[:, None, :], (*sample.class_labels.T.shape[:1], *p.shape)
        )
        u = _best_index(sample, h0, y, p)
        at = np.repeat(u[:, :, None], y.shape[-1], axis=2)
        return float(_mean(sample, weights, np.sum(sample.loss(at, y) * p, axis=-1)))
    hidden, of_label = gaussian_grid(sample.indices, nodes.along, int(finer**0.5 * nodes.seen))
    z = h0[:, :, None] + np.sqrt(max(rho - q0, 0.0)) * (sample.root @ hidden)[:, None, :]
    u = _best_index(sample, h0, sample.label(z), of_label)
    return float(_mean(sample, weights, sample.loss(u[:, :, None], sample.label(z)) @ of_label))


def _finer_by(sample: BlockSample, width: float) -> int:
    """Return the ratio of nodes for the least mean loss.

    Args:
        sample: block of visible indices.
        width: of a jump of the label, smoothed by noise, in standard deviations of the index.
    """
    if not (sample.classes or sample.kinks):
        return 1
    if sample.indices == 1:
        return FINER_CLASSES if sample.classes else FINER_KINKS
    least, most = FINER_PLANE
    return int(np.clip(1 / (width + 1e-300), least, most)) if sample.is_in_cells else least


def _best_index(sample: BlockSample, h0: Array, y: Array, weights: Array) -> Array:
    """Return the indices with the least mean loss over several labels each."""
    find = index_of_least_mean if sample.kinks else BlockSample.best_index
    return find(sample, h0, y, weights)


def block_means(sample: BlockSample, fields: Fields, V: float, nodes: Nodes) -> BlockMeans:
    """Return the averages at a student.

    Args:
        sample: block of visible indices.
        fields: standard deviations of the fields.
        V: response, index^2/loss.
        nodes: nodes of the rule.
    """
    points, u, w, y = _minimised(sample, fields, V, nodes)
    terms = minimiser_terms(sample, points.x1, points.x2, u, w, y, V)
    return BlockMeans(*(_mean(sample, points.weights, term) for term in terms))


def score_means(sample: BlockSample, fields: Fields, nodes: Nodes) -> tuple[float, Array, Array]:
    """Return R, F1 and F2 of `BlockMeans` with the score of the label as dual field.

    The score is the slope of log P(label | w) in the index w that is known of the target. No other
    dual field tells as much about the target.

    Args:
        sample: block whose label has a few values, or else tells an index up to its sign.
        fields: standard deviations of the fields; w is the best guess of the target index, q = m.
        nodes: nodes of the rule.
    """
    teacher, independent, target = (column(one) for one in fields[:3])
    if sample.classes:
        x1, x2, _, _, weights, _ = _class_points(sample, fields, nodes)
        score = (independent * x1 - teacher * x2) / (target * independent)
    else:
        x1, x2, weights = _tensor(sample.indices, nodes)
        share = teacher / np.hypot(teacher, independent)
        w = target * share * (share * x1 + np.sqrt(1 - share**2) * x2)
        z, variance = target * x1, target**2 * (1 - share**2)
        score = (z * np.tanh(z * w / variance) - w) / variance  # of p(z) + p(-z)
    terms = np.sum(score**2, axis=0), score * x1, score * x2
    R, F1, F2 = (_mean(sample, weights, term) for term in terms)
    return float(R), F1, F2


def minimiser_terms(
    sample: BlockSample, x1: Array, x2: Array, u: Array, w: Array, y: Array, V: float
) -> tuple[Array, ...]:
    """Return the terms of `BlockMeans` of each sample, along the last axis.

    Args:
        sample: block of visible indices.
        x1: Gaussians along the axes that the label depends on, shape (axes, samples).
        x2: the Gaussians that it does not depend on.
        u: minimisers of the Moreau energy.
        w: student fields.
        y: labels, shape (numbers, samples).
        V: response, index^2/loss.
    """
    away = u - w
    dual = np.linalg.solve(sample.covariance, away) / V
    along = sample.root.T @ dual
    return (
        sample.loss(u, y),
        V * np.sum(away * dual, axis=0),
        along * x1,
        along * x2,
        sample.loss(w, y),
    )


def mean_response(sample: BlockSample, fields: Fields, V: float, nodes: Nodes) -> float:
    """Return F, the mean of ||Sigma^1/2 df/dw Sigma^1/2||^2, summed over copies.

    Derivatives are taken on one side of the jumps.

    Args:
        sample: block of visible indices.
        fields: standard deviations of the fields.
        V: response, index^2/loss.
        nodes: nodes of the rule.
    """
    points, u, _, y = _minimised(sample, fields, V, nodes)
    return float(_mean(sample, points.weights, response_terms(sample, u, y, V)))


def response_terms(sample: BlockSample, u: Array, y: Array, V: float) -> Array:
    """Return ||Sigma^1/2 df/dw Sigma^1/2||^2 of each sample, f the dual field.

    From f = Sigma^-1 (u - w)/V and the stationarity of u: Sigma df/dw = -Sigma H/(1 + V Sigma H)
    with the curvature H of the loss.

    Args:
        sample: block of visible indices.
        u: minimisers of the Moreau energy, shape (indices, samples).
        y: labels, shape (numbers, samples).
        V: response, index^2/loss.
    """
    held = sample.curvature_at_minimum(u, y)
    curvature = np.einsum("ij,jk...->...ik", sample.covariance, held)
    response = np.linalg.solve(np.eye(sample.indices) + V * curvature, curvature)
    return np.asarray(np.einsum("...ij,...ji->...", response, response))


def unlearned_means(sample: BlockSample, fields: Fields, nodes: Nodes) -> tuple[Array, ...]:
    """Return the means of `unlearned_terms`, summed over copies.

    Args:
        sample: block of visible indices.
        fields: standard deviations of the fields.
        nodes: nodes of the trapezoidal rule.
    """
    if sample.classes:
        points = _class_points(sample, fields, nodes)
        of_class = unlearned_terms(sample, points.x1, points.y)
        return tuple(_mean(sample, points.weights, term) for term in of_class)
    grid, weights = _label_rule(sample, fields, nodes)
    z = sample.root @ (column(fields.target) * grid)
    terms = unlearned_terms(sample, grid, sample.label(z))
    return tuple(_mean(sample, weights, term) for term in terms)


def unlearned_terms(sample: BlockSample, x1: Array, y: Array) -> tuple[Array, ...]:
    """Return loss, R, f along each axis times x1, and tr Sigma H of each sample at S = 0.

    f is minus the slope of the loss.

    Args:
        sample: block of visible indices.
        x1: Gaussians along the axes that the label depends on, shape (axes, samples).
        y: labels, shape (numbers, samples).
    """
    origin = np.zeros_like(x1)
    dual = -sample.gradient(origin, y)
    return (
        sample.loss(origin, y),
        np.einsum("i...,ij,j...->...", dual, sample.covariance, dual),
        (sample.root.T @ dual) * x1,
        np.einsum("ij,ji...->...", sample.covariance, sample.hessian(origin, y)),
    )


def _mean(sample: BlockSample, weights: Array, values: Array) -> Array:
    """Return the weighted sum of values along their last axis, times the number of copies.

    A value may be a constant.
    """
    shape = (*np.shape(values)[:-1], len(weights))
    return np.asarray(sample.copies * (np.broadcast_to(values, shape) @ weights))


def column(coefficients: float | Array) -> Array:
    """Return coefficients of the axes as a column, to multiply numbers of shape (axes, samples)."""
    return np.reshape(coefficients, (-1, 1))


def _fields(
    sample: BlockSample, fields: Fields, x1: Array, x2: Array
) -> tuple[Array, Array, Array]:
    """Return student field, label, and the index of the student that reproduces the label."""
    z = sample.root @ (column(fields.target) * x1)
    w = sample.root @ (column(fields.teacher) * x1 + column(fields.independent) * x2)
    return w, sample.label(z), sample.fitted(z)


def _minimised(
    sample: BlockSample, fields: Fields, V: float, nodes: Nodes
) -> tuple[_Points, Array, Array, Array]:
    """Return the points of the rule, with minimiser, field and label at each of them."""
    if sample.classes:
        x1, x2, w, y, weights, _ = _class_points(sample, fields, nodes, V)
        return _Points(x1, x2, weights), lowest_minimiser(sample, w, y, None, V), w, y
    single = sample.indices == 1
    points = _piecewise(sample, fields, V, nodes) if single else _tensor(sample.indices, nodes)
    w, y, fit = _fields(sample, fields, points.x1, points.x2)
    return points, lowest_minimiser(sample, w, y, fit, V), w, y


@lru_cache(maxsize=4)
def _tensor(indices: int, nodes: Nodes) -> _Points:
    """Return the trapezoidal rule in 2 x indices directions."""
    grid, weights = gaussian_grid(indices, nodes.along, nodes.seen, also=indices)
    x1, x2 = np.split(grid, 2)
    return _Points(x1, x2, weights)


def gaussian_grid(directions: int, count: int, fine: int, also: int = 0) -> tuple[Array, Array]:
    """Return the trapezoidal rule for standard Gaussians.

    With `count` nodes along a direction its error is exp(-2 pi STRIP/step) for functions that are
    analytic up to an imaginary distance of STRIP, and the omitted probability is
    exp(-range^2/2): the range makes both equal. Gauss-Hermite rules need more points for the
    sigmoids and logarithms here. Points of negligible weight are omitted.

    Args:
        directions: number of the first directions, with `fine` nodes each.
        count: nodes that set the range, and nodes of the last directions.
        fine: nodes of the first directions.
        also: number of the last directions.

    Returns:
        Points, shape (directions + also, points), and weights, shape (points,).
    """
    reach = np.cbrt(2 * np.pi * STRIP * count)
    axes = [np.linspace(-reach, reach, nodes) for nodes in [fine] * directions + [count] * also]
    product = np.ones(())
    for x in axes:
        weights = np.exp(-(x**2) / 2)
        product = np.multiply.outer(product, weights / weights.sum())
    used = product.ravel() > np.exp(-(reach**2) / 2) * product.max()
    grid = np.array(np.meshgrid(*axes, indexing="ij")).reshape(len(axes), -1)
    return grid[:, used], product.ravel()[used] / product.ravel()[used].sum()


def _piecewise(sample: BlockSample, fields: Fields, V: float, nodes: Nodes) -> _Points:
    """Return a Gauss-Legendre rule between the jumps of the minimiser for each label."""
    if sample.has_borders:
        (outer,), outer_weights = _label_rule(sample, fields, nodes)
    else:
        outer = np.linspace(-SPAN, SPAN, nodes.seen)
        outer_weights = np.exp(-(outer**2) / 2)
        outer_weights /= outer_weights.sum()
    ends = (_kinks if sample.kinks else _jumps)(sample, fields, V, outer)
    x, weights = leggauss(nodes.along)
    low, high = ends[:-1], ends[1:]  # pieces x labels
    middle, half = (low + high) / 2, (high - low) / 2
    x2 = middle[..., None] + half[..., None] * x
    gauss = half[..., None] * weights * np.exp(-(x2**2) / 2) / np.sqrt(2 * np.pi)
    x1 = np.broadcast_to(outer[None, :, None], x2.shape).reshape(1, -1)
    return _Points(x1, x2.reshape(1, -1), (gauss * outer_weights[None, :, None]).ravel())


def _label_rule(sample: BlockSample, fields: Fields, nodes: Nodes) -> tuple[Array, Array]:
    """Return the rule over the Gaussians that the label depends on, divided where it has kinks."""
    if not sample.has_borders:
        return gaussian_grid(sample.indices, nodes.along, nodes.seen)
    slopes, offsets = sample.borders
    scale = float(np.max(fields.target)) * sample.root[0, 0]
    line, weights = panels(-offsets / (slopes[:, 0] * scale), PANEL * PANELLED / nodes.seen)
    return line[None], weights


def _kinks(sample: BlockSample, fields: Fields, V: float, outer: Array) -> Array:
    """Return the ends of the pieces between kinks and jumps for each label, as `_jumps`."""
    w, y, _ = _fields(sample, fields, outer[None], np.zeros_like(outer)[None])
    scale = float(np.max(fields.independent)) * sample.root[0, 0]
    with np.errstate(invalid="ignore"):
        places = np.clip((kinked_fields(sample, y, V) - w) / scale, -SPAN, SPAN)
    span = np.full_like(outer, SPAN)
    return np.sort(np.vstack([-span, places, span]), axis=0)


def _jumps(sample: BlockSample, fields: Fields, V: float, outer: Array) -> Array:
    """Return the ends of the pieces for each label, ascending, shape (pieces + 1, labels).

    They are the ends of the span and the jumps of the minimiser. A minimiser never decreases when
    its field increases. Without a jump its slope is at most that of the field where the loss is
    convex. The steepest intervals of a scan are bisected towards the larger increase; what
    remains after that is a jump.
    """
    root = float(sample.root[0, 0])
    span, scan = np.full_like(outer, SPAN), np.linspace(-SPAN, SPAN, SCAN_POINTS)
    if sample.convex_up_to > V:
        return np.array([-span, span])

    def minimisers(x2: Array, x1: Array) -> Array:
        w, y, fit = _fields(sample, fields, x1[None], x2[None])
        return lowest_minimiser(sample, w, y, fit, V)[0]

    u = minimisers(np.tile(scan, len(outer)), np.repeat(outer, len(scan)))
    u = u.reshape(len(outer), len(scan))
    rises = np.abs(np.diff(u, axis=1))
    if np.all(rises < JUMP_STEEPNESS * root * fields.independent * (scan[1] - scan[0])):
        return np.array([-span, span])
    steepest = np.sort(np.argsort(rises, axis=1)[:, -JUMPS:], axis=1)
    x1, (left, right) = np.repeat(outer, JUMPS), (scan[steepest + k].ravel() for k in (0, 1))
    u_left, u_right = (np.take_along_axis(u, steepest + k, axis=1).ravel() for k in (0, 1))
    for _ in range(BISECTIONS):
        middle = (left + right) / 2
        between = minimisers(middle, x1)
        first = np.abs(between - u_left) > np.abs(u_right - between)
        left, right = np.where(first, left, middle), np.where(first, middle, right)
        u_left, u_right = np.where(first, u_left, between), np.where(first, between, u_right)
    place = (left + right) / 2
    for _ in range(NEWTON):
        w, y, _ = _fields(sample, fields, x1[None], place[None])
        one, other = (sample.minimiser(start[None], w, y, V) for start in (u_left, u_right))
        gap = sample.energy(one, w, y, V) - sample.energy(other, w, y, V)
        # Envelope theorem: the slope of each energy in w is (w - u)/(V C).
        slope = (other - one)[0] * fields.independent / (V * root)
        jump = np.abs(other - one)[0] > JUMP * sample.unit
        step = np.divide(gap, slope, out=np.zeros_like(gap), where=jump)
        place = np.clip(place - step, left, right)
    return np.array([-span, *np.sort(place.reshape(len(outer), JUMPS), axis=1).T, span])
