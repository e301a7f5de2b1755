"""Capacity: the sample ratio up to which a student predicts the label of every training sample.

Below capacity the training loss of classes vanishes as the weight decay does, and the estimator is
the one of least penalty that predicts all labels with a margin. Its size grows without bound at
capacity, so that margin and decay drop out. What is left of a sample is the distance of its field
w from the cone of indices with the predicted class, in units of the covariance of the index:
M = dist^2/(2 V) at response V. It is homogeneous in the student, and 1/V in all conjugates drops
out as well: the saddle-point equations at q = V = 1 fix overlap and sample ratio.

For random labels this is Gardner's capacity (J. Phys. A 21, 257, 1988), or the statistical
dimension of the cone of matrices (Amelunxen et al., arXiv 1303.6672): 1 for one symmetric score,
1/2 for a positive one.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
import scipy

from attention_erm.runtime.errors import InvalidParameter, NoAnswer
from numeric.channel.block_average import gaussian_grid
from numeric.channel.block_sample import Array, BlockSample
from numeric.channel.blocks import samples
from numeric.channel.class_average import ClassPoints, class_points, panels
from numeric.maths.domain import OutsideDomain
from numeric.problem.axes import AxisProducts, axis_overlaps, envelope_derivatives
from numeric.problem.conjugates import Conjugates
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from numeric.saddle.estimator import estimator_of

PANEL = 0.25  # width of panels over the field of one index, in standard deviations
NODES = 160  # along each direction of the field of two indices
COARSER = 2 / 3  # share of the nodes in the rule whose difference is the error
NO_TARGET = 1e-5  # mh/sqrt(qh) of random labels, in place of 0; the error is of this order
ROOT = 1e-9  # relative error of the roots
NO_DECAY = 1e-12
OVERLAPS = 60  # overlaps that are scanned for a root, up to perfect prediction
LEAST, FARTHEST = 1e-4, 0.9999


class Capacity(NamedTuple):
    """Capacity of a problem.

    Attributes:
        alpha: sample ratio n/d^2.
        error: bound from a coarser rule.
        correlation: m/sqrt(q q0) of the estimator there.
    """

    alpha: float
    error: float
    correlation: float


def capacity(problem: Problem, random_labels: bool = False) -> Capacity:
    """Return the capacity.

    Args:
        problem: problem of a model whose labels are classes; alpha and lambda_ do not matter.
        random_labels: all classes are equally likely, whatever the index.

    Raises:
        InvalidParameter: classes are not cones of the index, or the parametrisation has no limit.
        NoAnswer: all labels can be predicted at any sample ratio.
    """
    cones = _cones(problem, random_labels)
    limit = replace(problem, alpha=1.0, lambda_=NO_DECAY)
    fine, coarse = (_capacity(limit, cones, random_labels, share) for share in (1.0, COARSER))
    limit_error = NO_TARGET if random_labels else ROOT * fine.alpha
    return Capacity(fine.alpha, abs(fine.alpha - coarse.alpha) + limit_error, fine.correlation)


def require_capacity(problem: Problem) -> None:
    """Check that the capacity of a problem is derived.

    Raises:
        InvalidParameter: labels are no classes, or classes are not cones of the index, or the
            parametrisation has no limit.
    """
    if not problem.label_quantities:
        rule, way_out = "has labels that are no classes", "use e.g. sign_quadratic_hinge"
        raise InvalidParameter("model", problem.model, rule, way_out)
    problem.require_isotropic("capacity")
    _cones(problem, random_labels=False)


def _cones(problem: Problem, random_labels: bool) -> tuple["_Cones", ...]:
    if not problem.trains_factors:
        rule, way_out = "has no capacity derived", "train factors"
        raise InvalidParameter("parametrisation", str(problem.parametrisation), rule, way_out)
    return tuple(_Cones(sample, random_labels) for sample in samples(problem))


@dataclass(frozen=True)
class _Cones:
    """Block of visible indices with the orthant in which each class is predicted."""

    sample: BlockSample
    random_labels: bool

    def __post_init__(self) -> None:
        predicted = [self._predicted(size) for size in (1.0, 5.0)]
        one_each = sorted(predicted[0]) == list(range(self.sample.classes))
        if not (one_each and predicted[0] == predicted[1]):
            rule = "has no capacity derived: its classes are no orthants of the visible index"
            raise InvalidParameter("model", self.sample.model, rule, "use signs, or two tokens")

    def _predicted(self, size: float) -> list[int]:
        """Return the class of least loss in each orthant."""
        found = []
        for sides in product((-1.0, 1.0), repeat=self.sample.indices):
            u = np.repeat(size * np.reshape(sides, (-1, 1)), max(self.sample.classes, 1), axis=1)
            found.append(int(np.argmin(self.sample.loss(u, self.sample.class_labels.T))))
        return found

    @cached_property
    def sides(self) -> Array:
        """Return the signs of the orthant of each class, shape (classes, indices)."""
        orthants = list(product((-1.0, 1.0), repeat=self.sample.indices))
        predicted = self._predicted(1.0)
        return np.array([orthants[predicted.index(c)] for c in range(self.sample.classes)])

    def products(self, problem: Problem, m: float, share: float) -> tuple[AxisProducts, float]:
        """Return the mean products and the mean square distance, at q = V = 1.

        Args:
            problem: the problem.
            m: overlap with the target.
            share: share of the nodes.
        """
        sample = self.sample
        axes = axis_overlaps(Overlaps(m, 1.0, 1.0), problem, sample.shares)
        x1, x2, w, _, weights, classes = self._points(axes.fields, share)
        sides = self.sides[classes].T
        away = _projected(w, sides, sample.precision) - w
        dual = sample.precision @ away
        along = sample.root.T @ dual
        mean = sample.copies * weights
        products = AxisProducts(axes, (along * x1) @ mean, (along * x2) @ mean)
        return products, float(np.sum(away * dual, axis=0) @ mean)

    def _points(self, fields, share: float) -> ClassPoints:  # type: ignore[no-untyped-def]
        sample = self.sample
        if sample.indices == 1:
            line, weights = panels(np.zeros(1), PANEL / share)
            grid = line[None]
        else:
            grid, weights = gaussian_grid(sample.indices, int(share * NODES), int(share * NODES))
        inner = gaussian_grid(sample.indices, 24, 24)
        if not self.random_labels:
            return class_points(sample, fields, grid, weights, inner)
        classes = sample.classes
        independent = np.reshape(fields.independent, (-1, 1))
        x2 = np.tile(grid, (1, classes))
        of_point = np.repeat(np.arange(classes), grid.shape[1])
        w = sample.root @ (independent * x2)
        y = sample.class_labels.T[:, of_point]
        chances = np.tile(weights / classes, classes)
        return ClassPoints(np.zeros_like(x2), x2, w, y, chances, of_point)


def _projected(w: Array, sides: Array, precision: Array) -> Array:
    """Return the nearest points of orthants in the metric of the precision.

    Args:
        w: fields, shape (1 or 2, points).
        sides: signs of the orthant of each point, with the shape of `w`.
        precision: inverse covariance.
    """
    candidates = [w, np.zeros_like(w)]
    if len(w) == 2:
        for fixed, free in ((0, 1), (1, 0)):
            on_face = np.zeros_like(w)
            on_face[free] = w[free] + precision[fixed, free] / precision[free, free] * w[fixed]
            candidates.append(on_face)
    best, least = candidates[1], np.full(w.shape[1], np.inf)
    for point in candidates:
        away = point - w
        distance = np.sum(away * (precision @ away), axis=0)
        better = np.all(sides * point >= 0, axis=0) & (distance < least)
        best, least = np.where(better, point, best), np.where(better, distance, least)
    return best


def _capacity(
    problem: Problem, cones: tuple[_Cones, ...], random_labels: bool, share: float
) -> Capacity:
    """Return the capacity by one rule, without its error."""

    def slopes(m: float) -> tuple[float, float, float]:
        parts = [cone.products(problem, m, share) for cone in cones]
        R = sum(distance for _, distance in parts)
        _, dM_dm, dM_dq, dM_dV, _ = envelope_derivatives(
            problem, Overlaps(m, 1.0, 1.0), [one for one, _ in parts], 0.0, R
        )
        return float(dM_dm), float(dM_dq), float(dM_dV)

    def learned(alpha: float, at: tuple[float, float, float]) -> Overlaps:
        mh, qh, Vh = map(float, problem.generated.conjugates(alpha, *at))
        if random_labels:
            mh = NO_TARGET * np.sqrt(qh)
        return estimator_of(problem).denoised(Conjugates(mh, qh, Vh)).overlaps

    def sample_ratio(at: tuple[float, float, float]) -> float:
        """Return alpha at which the response is 1."""
        ends = np.log(1e-6), np.log(1e8)
        root = scipy.optimize.brentq(
            lambda logarithm: np.log(learned(float(np.exp(logarithm)), at).V), *ends, xtol=1e-13
        )
        return float(np.exp(root))

    if random_labels:
        return Capacity(sample_ratio(slopes(0.0)), 0.0, 0.0)
    best = np.sqrt(problem.rho)

    def excess(correlation: float) -> float:
        at = slopes(correlation * best)
        found = learned(sample_ratio(at), at)
        return float(found.m / np.sqrt(found.q) / best - correlation)

    before = None
    for correlation in [*np.geomspace(LEAST, 0.02, 10), *np.linspace(0.03, FARTHEST, OVERLAPS)]:
        try:
            after = excess(correlation)
        except (OutsideDomain, ValueError):
            continue
        if before is not None and before[1] > 0 >= after:
            root = scipy.optimize.brentq(excess, before[0], correlation, xtol=1e-12)
            alpha = sample_ratio(slopes(root * best))
            return Capacity(alpha, 0.0, float(root * best / np.sqrt(problem.q0)))
        before = correlation, after
    raise NoAnswer(
        "no capacity found: labels without noise and flips can be predicted at any sample ratio; "
        "add noise or flips"
    )
