"""Channel averages of two visible indices with a smooth minimiser, to the accuracy of float64.

See sections 3 and 12 of the theory note. As in `smooth_channel`, the integral is over the student's
index instead of its field. It has four dimensions: each label has a lattice around the index whose
field has no noise. Both lattices follow the sum and the difference of the indices. The poles of
softmax are at values of one index; this lattice has the largest distance from them, in units of its
steps, among lattices of equal density.
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
from numeric.proven_saddle.smooth_channel import jump_error

Array = NDArray[np.float64]
_REAL_LINES = (0.0, 0.0, 0.0, 0.0)
_SCANNED = 6.0  # standard deviations within which the slope is sampled to choose a step
_SUM_AND_DIFFERENCE = np.array([[1.0, 1.0], [1.0, -1.0]])
_NEWTON_STEPS = 50  # maximum for minimisers without noise; ten are typical
_NEWTON_TOLERANCE = 1e-9  # of these minimisers, which are centres of lattices only
_BATCH_NODES = 2**14  # nodes per batch, for the processor cache
# Quadrature of the loss along imaginary lines, for norms with one digit.
_PATH = np.polynomial.legendre.leggauss(2)


class Lattice(NamedTuple):
    """Trapezoidal rules for the indices of the label and of the student, in standard deviations.

    The unit for the student is the noise of its field divided by the steepest slope of the inverse
    map.

    Attributes:
        steps: steps along sum and difference, of the label and then of the student, shape (4,).
        reach: range.
    """

    steps: tuple[float, ...]
    reach: float


class PairSums(NamedTuple):
    """Sums for training loss, R, E f.gamma1, E f.gamma2 and test loss, shape (5,) each.

    Attributes:
        averages: averages.
        norms: averages of absolute values.
        largest: largest factors observed.
        reach: unseen part, in standard deviations, of the nearest node outside the lattice.
    """

    averages: Any
    norms: Array
    largest: Array
    reach: float


class Sample(Protocol):
    """Functions of a block; the first axis of arrays is the index.

    Arguments may be complex, except in the loss.
    """

    @property
    def covariance(self) -> Array:
        """Covariance of the indices per unit of overlap, shape (2, 2)."""

    def label(self, z: Any) -> Any:
        """Return the numbers of the label for target indices z, shape (2, samples)."""

    def loss(self, u: Array, y: Any) -> Any:
        """Return the loss of samples.

        Args:
            u: student indices, shape (2, samples).
            y: labels.
        """

    def gradient(self, u: Any, y: Any) -> Any:
        """Return the gradient of the loss, with the shape of u.

        Args:
            u: student indices, shape (2, samples).
            y: labels.
        """

    def hessian(self, u: Any, y: Any) -> Any:
        """Return the Hessian of the loss, shape (2, 2, samples).

        Args:
            u: student indices, shape (2, samples).
            y: labels.
        """


class SoftmaxPair:
    """Softmax rows of two tokens with square loss; the methods are those of `Sample`."""

    def __init__(self, problem: Problem) -> None:
        functions = problem.generated
        axes = np.reshape(functions.principal_axes(), (2, 2)).astype(float)
        self.covariance = axes @ axes.T
        self._label = partial(functions.label, beta=problem.beta0)
        self._loss = partial(functions.sample_loss, beta=problem.beta)
        self._gradient = partial(functions.loss_gradient, beta=problem.beta)
        self._hessian = partial(functions.loss_hessian, beta=problem.beta)

    def label(self, z: Array) -> Array:
        """Return the first entry of each row."""
        return np.array([self._label(z[0]), self._label(z[1])])

    def loss(self, u: Array, y: Array) -> Array:
        """Return the square loss.

        Args:
            u: student indices, shape (2, samples).
            y: labels, shape (2, samples).
        """
        return np.asarray(self._loss(*u, *y))

    def gradient(self, u: Array, y: Array) -> Array:
        """Return the gradient of the loss, with the shape of u.

        Args:
            u: student indices, shape (2, samples).
            y: labels, shape (2, samples).
        """
        return np.array(np.broadcast_arrays(*self._gradient(*u, *y), u[0])[:2])

    def hessian(self, u: Array, y: Array) -> Array:
        """Return the Hessian of the loss, shape (2, 2, samples).

        Args:
            u: student indices, shape (2, samples).
            y: labels, shape (2, samples).
        """
        first, mixed, second, _ = np.broadcast_arrays(*self._hessian(*u, *y), u[0])
        return np.array([[first, mixed], [mixed, second]])


def applies(problem: Problem) -> bool:
    """Return whether a sample has one block of two visible indices, and factors are trained."""
    if problem.channel is ChannelKind.TIED_SOFTMAX:
        factorised = problem.parametrisation is Parametrisation.FACTORISED
        return problem.tokens == 2 and factorised and not problem.leading
    indices = [block.indices for block in structure(problem.model).blocks]
    return problem.is_smooth and problem.channel is ChannelKind.BLOCKS and indices == [2]


@dataclass(frozen=True)
class PairChannel:
    """Block of a problem at given overlaps, with its functions and its fields."""

    sample: Sample
    copies: int
    fields: Fields
    V: float

    @classmethod
    def of(cls, problem: Problem, at: Vector) -> Self:
        """Return the channel of a problem.

        Args:
            problem: a problem for which `applies` is True.
            at: overlaps (m, q, V).
        """
        m, q, V = map(float, at)
        (block,) = samples(problem)
        sample = SoftmaxPair(problem) if problem.channel is ChannelKind.TIED_SOFTMAX else block
        return cls(sample, block.copies, Fields.of(m, q, problem.rho), V)

    def sums(self, lattice: Lattice, shift: Sequence[float] = _REAL_LINES) -> PairSums:
        """Return the sums over a lattice.

        The centres of the student's lattices depend on the label's index, also if it is complex.

        Args:
            lattice: the lattice.
            shift: imaginary parts along the four directions, in the units of the steps.

        Raises:
            NoAnswer: the minimisers without noise are not found, or the minimiser jumps.
        """
        imaginary = 1j * np.asarray(shift) if any(shift) else np.zeros(4)
        seen, across = self._directions * lattice.steps[:2], self._across * lattice.steps[2:]
        offset = (self._directions @ imaginary[:2])[:, None]
        places = _disc(seen, self._precision, lattice.reach) + offset
        centres = self._without_noise(places)
        independent = float(self.fields.independent)
        span, step = lattice.reach * independent, max(lattice.steps[2:]) * independent
        around: Any = _disc(across, self._precision, span + step)
        outermost = self._square(around) > span**2
        around = around + (self._across @ imaginary[2:])[:, None]
        cuts = np.arange(0, places.shape[1], max(1, _BATCH_NODES // around.shape[1]))[1:]
        batches = zip(np.split(places, cuts, axis=1), np.split(centres, cuts, axis=1), strict=True)
        parts = [
            self._part(x, centre[:, :, None] + around[:, None], lattice.reach, outermost)
            for x, centre in batches
        ]
        averages, norms, largest, edges = (np.array(part) for part in zip(*parts, strict=True))
        unit = self.fields.independent**2 * np.linalg.det(self.sample.covariance)
        area = abs(np.linalg.det(seen) * np.linalg.det(across))
        cell = self.copies * area / (unit * (2 * np.pi) ** 2)
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
        """Sum and difference of the indices as columns of one standard deviation."""
        columns = _SUM_AND_DIFFERENCE
        lengths = np.einsum("ij,ik,kj->j", columns, self._precision, columns)
        return np.asarray(columns / np.sqrt(lengths))

    @cached_property
    def _across(self) -> Array:
        """Directions for the student's index around its centre, shorter if the map is steep."""
        places = _disc(self._directions, self._precision, _SCANNED)
        labels = self.sample.label(self.fields.target * places)
        turned = self._turned(self._without_noise(places), labels)
        steepest = float(np.max(turned[0, 0] + turned[1, 1])) - 1
        return self._directions * self.fields.independent / max(1.0, steepest)

    def _turned(self, u: Any, y: Any) -> Any:
        """Return the slope of the inverse map, shape (2, 2, samples)."""
        return np.eye(2)[:, :, None] + np.tensordot(self._stiffness, self.sample.hessian(u, y), 1)

    def _part(
        self, x: Any, u: Any, reach: float, outermost: Any
    ) -> tuple[Any, Array, Array, float]:
        """Return sums over student indices u, shape (2, labels, nodes), at label indices x.

        The shape of x is (2, labels).
        """
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
            raise jump_error(self.V)
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
        largest = np.max(np.abs(factors), axis=1, initial=0.0)
        return terms.sum(axis=1), np.abs(terms).sum(axis=1), largest, edge

    def _square(self, x: Any) -> Any:
        """Return the square of x in standard deviations."""
        return np.sum(x * np.tensordot(self._precision, x, 1), axis=0)

    def _loss(self, u: Any, y: Any) -> Any:
        """Return the loss; its gradient continues it to complex arguments."""
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
        """Return the student indices whose fields have no noise, by Newton's method.

        The argument are indices of the label; the result has the same shape.

        Raises:
            NoAnswer: Newton's method does not converge.
        """
        y, w = self.sample.label(self.fields.target * x), self.fields.teacher * x
        u = w.copy()
        for _ in range(_NEWTON_STEPS):
            excess = u + self._stiffness @ self.sample.gradient(u, y) - w
            matrices = np.moveaxis(self._turned(u, y), -1, 0)
            step = np.linalg.solve(matrices, excess.T[:, :, None])[:, :, 0].T
            u = u - step
            if np.max(np.abs(step)) < _NEWTON_TOLERANCE:
                return u
        rule = "the minimisers without noise were not found"
        raise NoAnswer(f"{rule}: increase lambda or alpha, or omit --digits")


def _disc(cells: Array, precision: Array, reach: float) -> Array:
    """Return the lattice points within `reach` standard deviations, shape (2, points)."""
    inverse = np.linalg.inv(cells)
    most = reach * np.sqrt(np.diag(inverse @ np.linalg.inv(precision) @ inverse.T))
    ranges = (np.arange(-int(far), int(far) + 1) for far in most)
    points = cells @ np.array(np.meshgrid(*ranges)).reshape(2, -1)
    return np.asarray(points[:, np.sum(points * (precision @ points), axis=0) <= reach**2])


def _total(rows: Any) -> Any:
    """Return sums of the columns in pairs: rounding does not grow with the number of rows."""
    return np.ascontiguousarray(rows.T).sum(axis=1)
