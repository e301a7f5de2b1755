"""Channel averages of two visible indices whose minimiser is smooth, to the accuracy of float64 (theory note, sections 3 and 12).

As in smooth_channel, over the student's index in place of its field: in four dimensions, for each label a lattice around the index
whose field has no noise. Both lattices lie along the sum and the difference of the indices: softmax has its poles at values of one
index, and of all lattices as dense this one has them farthest in units of its steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from attention_erm.runtime.errors import NoAnswer
from numeric.channel.blocks import samples
from numeric.maths.ball_systems import Vector
from numeric.model import ChannelKind, structure
from numeric.problem.fields import Fields
from numeric.problem.problem import Parametrisation, Problem
from numeric.proven_saddle.exact_problem import ExactProblem
from numeric.proven_saddle.smooth_channel import SmoothAverages, jumps

Array = NDArray[np.float64]
_NOWHERE = (0.0, 0.0, 0.0, 0.0)
_SCANNED = (
    6.0  # standard deviations, at which the greatest slope is looked for: a step only depends on it
)
_SUM_AND_DIFFERENCE = np.array([[1.0, 1.0], [1.0, -1.0]])
_NEWTON_STEPS = 50  # of the minimisers without noise; ten do
_SETTLED = 1e-9  # of their last step: they only centre a lattice
_TOGETHER = 2**14  # nodes whose arrays are worked on at once, for the cache
_PATH = np.polynomial.legendre.leggauss(
    2
)  # of the loss along imaginary lines, for norms of which one digit counts


class Lattice(NamedTuple):
    """Trapezoidal rules: four steps, of the label's index along sum and difference and of the student's, and the reach.

    All in standard deviations: the label's of its index given no field, the student's of the noise of its field over the steepest
    slope of the inverse map.
    """

    steps: tuple[float, ...]
    reach: float


class PairSums(NamedTuple):
    """Of training loss, R, E f.gamma1, E f.gamma2, test loss, shape (5,) each: averages, of absolute values, largest factors met.

    reach: the unseen part, in standard deviations, of the nearest node left out.
    """

    averages: Any
    norms: Array
    largest: Array
    reach: float


class Sample(Protocol):
    """What the average asks of a block, arrays with the index first; all but the loss take complex arguments."""

    @property
    def covariance(self) -> Array:
        """Per unit of overlap, shape (2, 2)."""

    def label(self, z: Any) -> Any:
        """Numbers of the label."""

    def loss(self, u: Array, y: Any) -> Any:
        """Of the samples."""

    def gradient(self, u: Any, y: Any) -> Any:
        """Its slope, shape of u."""

    def hessian(self, u: Any, y: Any) -> Any:
        """Its curvature, shape (2, 2, samples)."""


class SoftmaxPair:
    """Softmax rows of two tokens with square loss."""

    def __init__(self, problem: Problem) -> None:
        functions, axes = (
            problem.generated,
            np.reshape(problem.generated.principal_axes(), (2, 2)).astype(float),
        )
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
    if problem.channel is ChannelKind.TIED_SOFTMAX:
        return (
            problem.tokens == 2
            and problem.parametrisation is Parametrisation.FACTORISED
            and not problem.leading
        )
    return problem.channel is ChannelKind.BLOCKS and [
        one.indices for one in structure(problem.model).blocks
    ] == [2]


@dataclass(frozen=True)
class PairChannel:
    """The block of a problem at given overlaps: what is averaged, over which Gaussians."""

    sample: Sample
    copies: int
    fields: Fields
    V: float

    @classmethod
    def of(cls, problem: Problem, at: Vector) -> Self:
        """At overlaps (m, q, V) of a problem which `applies`."""
        m, q, V = map(float, at)
        (block,) = samples(problem)
        sample = SoftmaxPair(problem) if problem.channel is ChannelKind.TIED_SOFTMAX else block
        return cls(sample, block.copies, Fields.of(m, q, problem.rho), V)

    def sums(self, lattice: Lattice, shift: Sequence[float] = _NOWHERE) -> PairSums:
        """By this rule along lines at imaginary distances `shift`, in the units and along the directions of its four steps.

        The centres of the student's lattices follow the label's index, into the complex plane too.

        Raises:
            NoAnswer: the minimisers without noise are not found, or, on the real lines, the inverse map turns back at some node.
        """
        imaginary = 1j * np.asarray(shift) if any(shift) else np.zeros(4)
        seen, across = self._directions * lattice.steps[:2], self._across * lattice.steps[2:]
        places = (
            _disc(seen, self._precision, lattice.reach)
            + (self._directions @ imaginary[:2])[:, None]
        )
        centres = self._without_noise(places)
        span, step = (
            lattice.reach * self.fields.independent,
            max(lattice.steps[2:]) * self.fields.independent,
        )
        around: Any = _disc(across, self._precision, span + step)
        outermost = self._square(around) > span**2
        around = around + (self._across @ imaginary[2:])[:, None]
        cuts = np.arange(0, places.shape[1], max(1, _TOGETHER // around.shape[1]))[1:]
        batches = zip(np.split(places, cuts, axis=1), np.split(centres, cuts, axis=1), strict=True)
        parts = [
            self._part(x, centre[:, :, None] + around[:, None], lattice.reach, outermost)
            for x, centre in batches
        ]
        averages, norms, largest, edges = (np.array(part) for part in zip(*parts, strict=True))
        unit = self.fields.independent**2 * np.linalg.det(self.sample.covariance)
        cell = (
            self.copies
            * abs(np.linalg.det(seen) * np.linalg.det(across))
            / (unit * (2 * np.pi) ** 2)
        )
        return PairSums(
            cell * _total(averages),
            cell * _total(norms),
            self.copies * np.max(largest, axis=0),
            float(edges.min()),
        )

    @cached_property
    def _precision(self) -> Array:
        return np.asarray(np.linalg.inv(self.sample.covariance))

    @cached_property
    def _stiffness(self) -> Array:
        return self.V * self.sample.covariance

    @cached_property
    def _directions(self) -> Array:
        """Sum and difference of the indices, of one standard deviation each, as columns."""
        lengths = np.einsum(
            "ij,ik,kj->j", _SUM_AND_DIFFERENCE, self._precision, _SUM_AND_DIFFERENCE
        )
        return np.asarray(_SUM_AND_DIFFERENCE / np.sqrt(lengths))

    @cached_property
    def _across(self) -> Array:
        """The same for the student's index around its centre, no longer where the inverse map is steepest."""
        places = _disc(self._directions, self._precision, _SCANNED)
        turned = self._turned(
            self._without_noise(places), self.sample.label(self.fields.target * places)
        )
        steepest = float(np.max(turned[0, 0] + turned[1, 1])) - 1
        return self._directions * self.fields.independent / max(1.0, steepest)

    def _turned(self, u: Any, y: Any) -> Any:
        """Slope of the inverse map, shape (2, 2, samples)."""
        return np.eye(2)[:, :, None] + np.tensordot(self._stiffness, self.sample.hessian(u, y), 1)

    def _part(
        self, x: Any, u: Any, reach: float, outermost: Any
    ) -> tuple[Any, Array, Array, float]:
        """Sums over the student's indices u of shape (2, labels, nodes) at indices x of the label, of shape (2, labels)."""
        fields, y = self.fields, self.sample.label(self.fields.target * x)
        slope = self.sample.gradient(u, y[:, :, None])
        w = u + np.tensordot(self._stiffness, slope, 1)
        unseen = (w - fields.teacher * x[:, :, None]) / fields.independent
        far = self._square(unseen.real)
        edge, inside = min(reach, np.sqrt(np.min(far[:, outermost]))), far <= reach**2
        nodes = np.flatnonzero(inside)
        x, y = (np.take(numbers, nodes // inside.shape[1], axis=1) for numbers in (x, y))
        u, w, slope, unseen = (
            np.take(numbers.reshape(2, -1), nodes, axis=1) for numbers in (u, w, slope, unseen)
        )
        turned = self._turned(u, y)
        rise = turned[0, 0] * turned[1, 1] - turned[0, 1] * turned[1, 0]
        if not np.iscomplexobj(rise) and (
            np.any(rise <= 0) or np.any(turned[0, 0] + turned[1, 1] <= 0)
        ):
            raise jumps(self.V)
        factors = np.array(
            [
                self._loss(u, y),
                self.V**2 * np.sum(slope * (self.sample.covariance @ slope), axis=0),
                -np.sum(x * slope, axis=0),
                -np.sum(unseen * slope, axis=0),
                self._loss(w, y),
            ]
        )
        terms = factors * (np.exp(-(self._square(x) + self._square(unseen)) / 2) * rise)
        return (
            terms.sum(axis=1),
            np.abs(terms).sum(axis=1),
            np.max(np.abs(factors), axis=1, initial=0.0),
            edge,
        )

    def _square(self, x: Any) -> Any:
        """In standard deviations."""
        return np.sum(x * np.tensordot(self._precision, x, 1), axis=0)

    def _loss(self, u: Any, y: Any) -> Any:
        """Continued along imaginary lines by its slope: softplus is generated for real arguments."""
        if not np.iscomplexobj(u):
            return self.sample.loss(u, y)
        way = 1j * u.imag
        slopes = (self.sample.gradient(u.real + (1 + node) / 2 * way, y) for node in _PATH[0])
        rises = (
            weight / 2 * np.sum(slope * way, axis=0)
            for slope, weight in zip(slopes, _PATH[1], strict=True)
        )
        return self.sample.loss(u.real, y) + sum(rises)

    def _without_noise(self, x: Any) -> Any:
        """The student's indices whose fields have no noise at indices x of the label, by Newton's method; shape of x.

        Raises:
            NoAnswer: it does not settle.
        """
        y, w = self.sample.label(self.fields.target * x), self.fields.teacher * x
        u = w.copy()
        for _ in range(_NEWTON_STEPS):
            excess = u + self._stiffness @ self.sample.gradient(u, y) - w
            step = np.linalg.solve(np.moveaxis(self._turned(u, y), -1, 0), excess.T[:, :, None])[
                :, :, 0
            ].T
            u = u - step
            if np.max(np.abs(step)) < _SETTLED:
                return u
        raise NoAnswer(
            "the minimisers without noise were not found: raise lambda or alpha, or leave out --digits"
        )


def averages(problem: ExactProblem, at: Vector, sums: Vector) -> SmoothAverages:
    """The averages at overlaps (m, q, V), from the five sums there."""
    train, R, F1, F2, test = sums
    rho = problem.call("noisy_variance", problem.q0)
    M, M_m, M_q, M_V = problem.call("channel_derivatives", *at, rho, train, R, F1, F2)
    return SmoothAverages(M, M_m, M_q, M_V, train, test)


def _disc(cells: Array, precision: Array, reach: float) -> Array:
    """Points of the lattice with these columns within so many standard deviations, shape (2, points)."""
    inverse = np.linalg.inv(cells)
    most = reach * np.sqrt(np.diag(inverse @ np.linalg.inv(precision) @ inverse.T))
    points = cells @ np.array(
        np.meshgrid(*(np.arange(-int(far), int(far) + 1) for far in most))
    ).reshape(2, -1)
    return np.asarray(points[:, np.sum(points * (precision @ points), axis=0) <= reach**2])


def _total(rows: Any) -> Any:
    """Sums of the columns, each in pairs, so that rounding does not grow with the number of rows."""
    return np.ascontiguousarray(rows.T).sum(axis=1)
