"""Samples of a block whose label has finitely many values, without drawing labels.

The student field is w = R spread g per direction, and the noisy target index z = R target
(cos g + sin g') with g' independent of w. Given w, each class c has the probability
P_c = E p_c(z), and the mean of g' times p_c is G_c. Both are sums of Gaussian integrals over
cells if p_c is constant in cells of z, and averages over g' if p_c is smooth. Only w is left to
average over, where all terms are smooth although labels jump.
"""

from itertools import product
from typing import NamedTuple, Protocol

import numpy as np
import scipy
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from numeric.channel.block_sample import Array, BlockSample
from numeric.problem.fields import Fields

SPAN = 8.5  # integrated standard deviations: the remaining probability is 2e-17
PANEL_NODES = 8  # of a Gauss-Legendre rule
AT_ONCE = 10**6  # places at which probabilities are evaluated together, to save memory
TINY = 1e-300  # in place of 0, whose ratio Owen's function takes
NEGLIGIBLE = 1e-18  # probability of a class below which a point is left out


class ClassedIndex(Protocol):
    """Target index whose label has finitely many values."""

    @property
    def indices(self) -> int:
        """Return the number of visible indices."""

    @property
    def root(self) -> Array:
        """Return a root of their covariance, whose columns are the axes of the fields."""

    @property
    def is_in_cells(self) -> bool:
        """Return whether probabilities are constant between straight borders, and else smooth."""

    @property
    def borders(self) -> tuple[Array, Array]:
        """Return A, shape (borders, indices), and b of the borders A z + b = 0."""

    def probabilities(self, z: Array) -> Array:
        """Return the probability of each class, shape (classes, points)."""


class ClassPoints(NamedTuple):
    """Student fields with every class of the label, the points along the last axis.

    Attributes:
        x1: conditional means of the Gaussians that the label depends on, shape (axes, points).
        x2: those of the Gaussians that it does not depend on.
        w: student fields, shape (indices, points).
        y: labels, shape (numbers, points).
        weights: probabilities, shape (points,).
        classes: class of each point, shape (points,).
    """

    x1: Array
    x2: Array
    w: Array
    y: Array
    weights: Array
    classes: NDArray[np.intp]


def class_points(
    sample: BlockSample, fields: Fields, grid: Array, weights: Array, inner: tuple[Array, Array]
) -> ClassPoints:
    """Return the points of a rule over the student field, once for every class.

    Args:
        sample: block whose label has finitely many values.
        fields: standard deviations of the fields.
        grid: standard Gaussians g of the student field, shape (axes, points).
        weights: their weights, shape (points,).
        inner: standard Gaussians g' and weights, for smooth probabilities.
    """
    teacher, independent, target = (
        np.broadcast_to(np.reshape(one, (-1, 1)), (sample.indices, 1)) for one in fields[:3]
    )
    spread = np.hypot(teacher, independent)
    cos = np.divide(teacher, spread, out=np.zeros_like(spread), where=spread > 0)
    sin = np.divide(independent, spread, out=np.ones_like(spread), where=spread > 0)
    if sample.is_in_cells:
        P, G = _in_cells(sample, target * cos * grid, target * sin)
    else:
        P, G = _smooth(sample, target * cos * grid, target * sin, inner)
    mean = np.divide(G, P[:, None], out=np.zeros_like(G), where=P[:, None] > NEGLIGIBLE)
    classes = len(P)
    x1 = np.concatenate([cos * grid + sin * one for one in mean], axis=1)
    x2 = np.concatenate([sin * grid - cos * one for one in mean], axis=1)
    w = np.tile(sample.root @ (spread * grid), (1, classes))
    of_point = np.repeat(np.arange(classes), grid.shape[1])
    whole = (P * weights).ravel()
    used = whole > NEGLIGIBLE
    return ClassPoints(
        *(x1[:, used], x2[:, used], w[:, used]),
        *(sample.class_labels.T[:, of_point[used]], whole[used], of_point[used]),
    )


def class_probabilities(
    sample: ClassedIndex, centre: Array, spread: Array, inner: tuple[Array, Array]
) -> Array:
    """Return the probabilities of the classes at a partly known target index.

    Args:
        sample: block whose label has finitely many values.
        centre: known part of the target index along the axes, shape (axes, points).
        spread: standard deviations of the rest along the axes, shape (axes, 1).
        inner: standard Gaussians and weights of the rest, for smooth probabilities.

    Returns:
        Shape (classes, points).
    """
    method = _in_cells if sample.is_in_cells else _smooth
    rest = (inner,) if method is _smooth else ()
    return method(sample, centre, spread, *rest)[0]


def _smooth(
    sample: ClassedIndex, centre: Array, spread: Array, inner: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Return P (classes, points) and G (classes, axes, points) by a rule over g'."""
    more, weights = inner
    found = []
    for part in np.array_split(centre, 1 + centre[0].size * len(weights) // AT_ONCE, axis=1):
        shape = (len(part), part.shape[1] * len(weights))
        z = (part[:, :, None] + (spread * more)[:, None, :]).reshape(shape)
        p = sample.probabilities(sample.root @ z).reshape(-1, part.shape[1], len(weights))
        found.append((p @ weights, np.einsum("cpj,kj->ckp", p, more * weights)))
    P, G = (np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True))
    return P, G


def _in_cells(sample: ClassedIndex, centre: Array, spread: Array) -> tuple[Array, Array]:
    """Return P (classes, points) and G (classes, axes, points) from Gaussian integrals over
    cells.
    """
    slopes, offsets = sample.borders
    along = slopes @ sample.root
    if sample.indices == 1:
        return _in_intervals(sample, centre, spread, -offsets / along[:, 0])
    return _in_quadrants(sample, centre, spread, along)


def _in_intervals(
    sample: ClassedIndex, centre: Array, spread: Array, ends: Array
) -> tuple[Array, Array]:
    """Return P and G of one index; `ends` are the borders over the root of its covariance."""
    ends = np.sort(ends)
    inside = np.array([ends[0] - 1, *(ends[1:] + ends[:-1]) / 2, ends[-1] + 1])
    p = sample.probabilities(sample.root @ inside[None])
    with np.errstate(divide="ignore"):
        scaled = (ends[:, None] - centre) / spread
    edges = np.concatenate([np.full_like(centre, -np.inf), scaled, np.full_like(centre, np.inf)])
    # The complement keeps the digits of small probabilities on the right.
    right = edges[:-1] > 0
    mass = np.where(right, -np.diff(_upper(edges), axis=0), np.diff(_upper(-edges), axis=0))
    return p @ mass, (p @ -np.diff(_density(edges), axis=0))[:, None]


def _in_quadrants(
    sample: ClassedIndex, centre: Array, spread: Array, along: Array
) -> tuple[Array, Array]:
    """Return P and G of two indices whose plane is divided by one line, or by two that cross."""
    slopes, offsets = sample.borders
    rise = along * spread.T  # lines x axes: a border is rise g' + level = 0
    size = np.linalg.norm(rise, axis=1)[:, None]
    normal, level = rise / size, (along @ centre + offsets[:, None]) / size
    P, G = np.zeros(1), np.zeros(1)
    for sides in product((-1.0, 1.0), repeat=len(offsets)):
        place = np.asarray(np.linalg.lstsq(slopes, np.array(sides) - offsets, rcond=None)[0])
        p = sample.probabilities(place[:, None])
        side = np.reshape(sides, (-1, 1))
        mass, edges = _quadrant(side * level, float(np.prod(sides) * normal[0] @ normal[-1]))
        P = P + p * mass
        G = G + p[:, None] * (normal.T @ (side * edges))
    return P, G


def _quadrant(h: Array, correlation: float) -> tuple[Array, Array]:
    """Return the probability that two Gaussians are below h, or that one is; and its derivatives.

    Args:
        h: shape (1 or 2, points).
        correlation: correlation of both, if there are two.
    """
    if len(h) == 1:
        return scipy.special.ndtr(h[0]), _density(h)
    rest = np.sqrt(1 - correlation**2)
    h = np.where(h == 0, TINY, h)
    angles = (h[::-1] - correlation * h) / (rest * h)
    mass = np.sum(scipy.special.ndtr(h) / 2 - scipy.special.owens_t(h, angles), axis=0)
    mass = np.maximum(mass - np.where(h[0] * h[1] < 0, 0.5, 0.0), 0.0)
    return mass, _density(h) * scipy.special.ndtr(angles * h)


def panels(ends: Array, width: float) -> tuple[Array, Array]:
    """Return nodes and weights for a standard Gaussian, in panels that no end divides.

    Args:
        ends: places of kinks and jumps; those beyond SPAN do not matter.
        width: largest width of a panel.
    """
    ends = ends[np.abs(ends) < SPAN]
    edges = np.unique(np.concatenate([ends, np.arange(-SPAN, SPAN, width), [SPAN]]))
    x, weights = leggauss(PANEL_NODES)
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    nodes = (middle[:, None] + half[:, None] * x).ravel()
    return nodes, (half[:, None] * weights).ravel() * _density(nodes)


def _upper(x: Array) -> Array:
    """Return the probability that a standard Gaussian is above x."""
    return np.asarray(scipy.special.ndtr(-x))


def _density(x: Array) -> Array:
    return np.asarray(np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi))
