"""Channel averages of two visible indices whose minimiser is smooth, to the accuracy of float64 (theory note, sections 3 and 12).

As in smooth_channel, over the student's index in place of its field: in four dimensions, for each label a lattice around the index
whose field has no noise.
"""

from functools import partial
from typing import Protocol

import numpy as np
from flint import arb
from numpy.typing import NDArray

from numeric.channel.blocks import samples
from numeric.maths.balls import Ball
from numeric.maths.domain import NoAnswer
from numeric.model import structure
from numeric.problem.fields import Fields
from numeric.problem.problem import Problem
from numeric.proven_saddle.exact_problem import ExactProblem
from numeric.proven_saddle.smooth_channel import SmoothAverages, Trapezoid, jumps

Array = NDArray[np.float64]
_NEWTON_STEPS = 50  # of the minimisers without noise; ten do
_SETTLED = 1e-9  # of their last step: they only centre a lattice


class Sample(Protocol):
    """What the average asks of a block, arrays with the index first."""

    @property
    def covariance(self) -> Array:
        """Per unit of overlap, shape (2, 2)."""

    def label(self, z: Array) -> Array:
        """Numbers of the label."""

    def loss(self, u: Array, y: Array) -> Array:
        """Of the samples."""

    def gradient(self, u: Array, y: Array) -> Array:
        """Its slope, shape of u."""

    def hessian(self, u: Array, y: Array) -> Array:
        """Its curvature, shape (2, 2, samples)."""


class SoftmaxPair:
    """Softmax rows of two tokens with square loss."""

    def __init__(self, problem: Problem) -> None:
        functions, axes = problem.generated, np.reshape(problem.generated.principal_axes(), (2, 2)).astype(float)
        self.covariance = axes @ axes.T
        self._label = partial(functions.label, beta=problem.beta0)
        self._loss = partial(functions.sample_loss, beta=problem.beta)
        self._gradient = partial(functions.loss_gradient, beta=problem.beta)
        self._hessian = partial(functions.loss_hessian, beta=problem.beta)

    def label(self, z: Array) -> Array:
        """First entry of each row."""
        return np.array([self._label(z[0]), self._label(z[1])])

    def loss(self, u: Array, y: Array) -> Array:
        """Square loss."""
        return np.asarray(self._loss(*u, *y))

    def gradient(self, u: Array, y: Array) -> Array:
        """Its slope."""
        return np.array(np.broadcast_arrays(*self._gradient(*u, *y), u[0])[:2])

    def hessian(self, u: Array, y: Array) -> Array:
        """Its curvature."""
        first, mixed, second, _ = np.broadcast_arrays(*self._hessian(*u, *y), u[0])
        return np.array([[first, mixed], [mixed, second]])


def applies(problem: Problem) -> bool:
    """Whether a sample shows two numbers in one block, by a symmetric matrix with factors."""
    if problem.channel == "tied softmax":
        return problem.tokens == 2 and problem.parametrisation == "factorised" and not problem.leading
    return problem.channel == "blocks" and [block["indices"] for block in structure(problem.model)["blocks"]] == [2]


def _sample(problem: Problem) -> tuple[Sample, int]:
    """The one block of the problem, and its copies."""
    if problem.channel == "tied softmax":
        return SoftmaxPair(problem), 1
    (block,) = samples(problem)
    return block, block.copies


def averages(problem: ExactProblem, at: tuple[Ball, ...], rule: Trapezoid) -> SmoothAverages:
    """The averages at overlaps (m, q, V), in float64.

    Raises:
        NoAnswer: the inverse map turns back at some node: the minimiser jumps.
    """
    rounded, (m, q, V) = problem.rounded, at
    sample, copies = _sample(rounded)
    fields = Fields.of(float(m), float(q), rounded.rho)
    train, R, F1, F2, test = (arb(copies * float(value)) for value in _sums(sample, fields, float(V), rule))
    rho = problem.call("noisy_variance", problem.q0)
    M, M_m, M_q, M_V = problem.call("channel_derivatives", m, q, V, rho, train, R, F1, F2)
    return SmoothAverages(M, M_m, M_q, M_V, train, test)


def _disc(step: float, reach: float) -> Array:
    """Points of a square lattice within a distance, shape (2, points)."""
    line = step * np.arange(-int(reach / step), int(reach / step) + 1)
    points = np.array(np.meshgrid(line, line)).reshape(2, -1)
    return points[:, np.sum(points**2, axis=0) <= reach**2]


def _sums(sample: Sample, fields: Fields, V: float, rule: Trapezoid) -> Array:
    """Averages over one copy: training loss, R, E f.gamma1, E f.gamma2, test loss."""
    root, stiffness = np.linalg.cholesky(sample.covariance), V * sample.covariance
    seen = _disc(rule.step, rule.reach)
    labels, known = sample.label(fields.target * root @ seen), fields.teacher * root @ seen
    centres = _without_noise(sample, known, labels, stiffness)
    curved = np.einsum("ij,jk...->ik...", stiffness, sample.hessian(centres, labels))
    axes = fields.independent * root / (1 + max(0.0, float(np.max(curved[0, 0] + curved[1, 1]))))
    to_unseen, total, reach = np.linalg.inv(fields.independent * root), np.zeros(5), rule.reach
    span = rule.reach * fields.independent / axes[0, 0] * root[0, 0]
    lattice = axes @ _disc(rule.across, span)
    for x, y, start, centre in zip(seen.T, labels.T, known.T, centres.T, strict=True):
        u, y = centre[:, None] + lattice, y[:, None]
        w = u + stiffness @ sample.gradient(u, y)
        unseen = to_unseen @ (w - start[:, None])
        inside = np.sum(unseen**2, axis=0) <= reach**2
        u, w, unseen = u[:, inside], w[:, inside], unseen[:, inside]
        turned = np.eye(2)[:, :, None] + np.einsum("ij,jkn->ikn", stiffness, sample.hessian(u, y))
        rise = turned[0, 0] * turned[1, 1] - turned[0, 1] * turned[1, 0]
        if np.any(rise <= 0) or np.any(turned[0, 0] + turned[1, 1] <= 0):
            raise jumps(V)
        weights = np.exp(-(x @ x + np.sum(unseen**2, axis=0)) / 2) * rise
        dual = -sample.gradient(u, y)
        along = root.T @ dual
        total += (
            weights @ sample.loss(u, y),
            weights @ np.sum(along**2, axis=0) * V**2,
            weights @ (x @ along),
            weights @ np.sum(unseen * along, axis=0),
            weights @ sample.loss(w, y),
        )
    cell = rule.step**2 * rule.across**2 * np.linalg.det(axes) * np.linalg.det(to_unseen)
    return np.asarray(total * cell / (2 * np.pi) ** 2)


def _without_noise(sample: Sample, w: Array, y: Array, stiffness: Array) -> Array:
    """The indices whose fields are w, by Newton's method.

    Raises:
        NoAnswer: it does not settle.
    """
    u = w.copy()
    for _ in range(_NEWTON_STEPS):
        excess = u + stiffness @ sample.gradient(u, y) - w
        turned = np.eye(2)[:, :, None] + np.einsum("ij,jkn->ikn", stiffness, sample.hessian(u, y))
        step = np.linalg.solve(np.moveaxis(turned, -1, 0), excess.T[:, :, None])[:, :, 0].T
        u = u - step
        if np.max(np.abs(step)) < _SETTLED:
            return u
    raise NoAnswer("the minimisers without noise were not found: raise lambda or alpha, or leave out --digits")
