"""Laws of the m singular values of a d x d matrix of rank m, and their fits.

A law gives quantiles up to a scale a and, for the laws of training, a threshold b: value i is
a (Q_i - b). The distance of a fit is the root mean square displacement in ranks: how many places a
value is away from the one where the law expects it. Singular values repel each other, so that
those of a random matrix are displaced by less than a rank; independent numbers would be by about
sqrt(m)/4. P-values therefore come from random matrices that are drawn and fitted.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from numeric.laws.law import Target, edge_grid
from numeric.laws.power_law import power_law
from numeric.laws.rational_target import RationalTarget
from numeric.maths.replicates import p_value

Array = NDArray[np.float64]
#: Names of the laws.
INITIALISATION, LOW_RANK_TARGET, POWER_LAW_TARGET, MARCHENKO_PASTUR = (
    "initialisation",
    "training, low-rank target",
    "training, power-law target",
    "Marchenko-Pastur",
)
DRAWN_MATRICES = 99  #: random matrices for each p-value
_MEAN_DRAWS = 400  # for the mean singular values of a product of random matrices
_MAX_DRAWN = 768  # dimension of drawn matrices; displacements in ranks hardly depend on it
_POINTS = 120  # of the density in each bulk
# Matrices are drawn at every second point of a grid: distances hardly depend on the shapes.
_DRAWN_EVERY = 2
_BETWEEN = 3  # cells of a fit for each of the table, along each shape
_GENERAL = "cross_attention"  # all models with general matrices have its target
_BARE = 1e-6  # noise of a law without noise
_SIGMA = (0.16, 0.84)


class Size(NamedTuple):
    """Dimension d of the tokens, and rank m of the matrix."""

    dim: int
    rank: int

    @property
    def drawn(self) -> "Size":
        """Size of the drawn matrices, of the same ratio."""
        if self.dim <= _MAX_DRAWN:
            return self
        return Size(_MAX_DRAWN, max(2, round(self.rank * _MAX_DRAWN / self.dim)))


class Fit(NamedTuple):
    """Fit of a law to the singular values of a head.

    Attributes:
        law: name of the law.
        numbers: fitted numbers by name: shapes of the law without dimension; the scale a and the
            threshold a b, in the units of the values.
        intervals: their 16 and 84 % points over matrices drawn from the fitted law.
        distance: root mean square displacement, in ranks.
        p_value: share of drawn matrices with a distance as large.
        expected: values that the law expects, descending, shape (m,); NaN for those outside it.
    """

    law: str
    numbers: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    distance: float
    p_value: float
    expected: Array


class _Best(NamedTuple):
    """Cell with the smallest distance for each row of values, and the numbers there."""

    cell: NDArray[np.intp]
    scale: Array
    b: Array
    distance: Array


@dataclass(frozen=True)
class RankLaw:
    """Family of laws at one size.

    Attributes:
        name: name of the family.
        size: dimension and rank.
        grids: values of each shape by name, ascending; empty for a single law.
        half_ranks: returns the values at ranks 0, 1/2, 1, ..., m, descending, at given shapes.
        draw: returns the singular values of a random matrix, descending, at given shapes.
        has_threshold: whether a threshold is subtracted.
    """

    name: str
    size: Size
    grids: Mapping[str, Array]
    half_ranks: Callable[..., Array]
    draw: Callable[..., Array]
    has_threshold: bool = False

    def __hash__(self) -> int:
        """Return a hash of name and size, which determine everything."""
        return hash((self.name, self.size))

    @cached_property
    def _fine_grids(self) -> list[Array]:
        return [_refined(grid) for grid in self.grids.values()]

    @cached_property
    def cells(self) -> Array:
        """Shapes of each cell of the fit, (cells, shapes)."""
        return np.array(list(product(*self._fine_grids)))

    @cached_property
    def _table(self) -> tuple[Array, Array]:
        """Values at the centre of each rank, and distances between its ends, (cells, m) each."""
        known = np.array([self.half_ranks(*shapes) for shapes in product(*self.grids.values())])
        known = known.reshape(*(len(grid) for grid in self.grids.values()), -1)
        for axis, grid in enumerate(self.grids.values()):
            places = np.arange(len(grid))
            fine = np.linspace(0, len(grid) - 1, len(self._fine_grids[axis]))
            known = scipy.interpolate.make_interp_spline(places, known, k=1, axis=axis)(fine)
        known = known.reshape(len(self.cells), -1)
        centres, ends = known[:, 1::2], known[:, ::2]
        return centres, np.maximum(ends[:, :-1] - ends[:, 1:], 1e-6 * centres[:, :1])

    @property
    def drawn(self) -> Array:
        """Singular values of random matrices of a law without shapes, (DRAWN_MATRICES, rank)."""
        return _drawn_values(self.name, self.size, ())[0]

    def best(self, values: Array) -> _Best:
        """Fit rows of values by least squares of displacements.

        The displacement of value s, (Q - b - s/a)/spacing, is linear in b and 1/a.

        Args:
            values: descending, shape (rows, m).
        """
        Q, spacing = self._table
        w = spacing**-2
        ss, s, sQ = values**2 @ w.T, values @ w.T, values @ (w * Q).T
        one, q, qq = np.sum(w, axis=1), np.sum(w * Q, axis=1), np.sum(w * Q**2, axis=1)
        b = np.zeros_like(ss)
        if self.has_threshold:
            determinant = np.maximum(ss * one - s**2, np.finfo(float).tiny)
            b = np.clip((ss * q - s * sQ) / determinant, 0.0, Q[:, -1])
        x = np.maximum((sQ - b * s) / ss, np.finfo(float).tiny)
        squares = x**2 * ss + b**2 * one + qq + 2 * (x * b * s - x * sQ - b * q)
        cell, rows = np.argmin(squares, axis=1), np.arange(len(values))
        mean = np.maximum(squares[rows, cell], 0.0) / values.shape[1]
        return _Best(cell, 1 / x[rows, cell], b[rows, cell], np.sqrt(mean))

    def fits(self, values: Array) -> list[Fit]:
        """Return the fit to each row of values.

        Args:
            values: descending, shape (heads, m).
        """
        best = self.best(values)
        return [
            self._fit(int(cell), float(scale), float(b), float(distance))
            for cell, scale, b, distance in zip(*best, strict=True)
        ]

    def _fit(self, cell: int, scale: float, b: float, distance: float) -> Fit:
        centres, shapes = self._table[0][cell], self.cells[cell]
        near = [
            float(grid[_DRAWN_EVERY * np.argmin(np.abs(np.log(grid[::_DRAWN_EVERY] / shape)))])
            for grid, shape in zip(self.grids.values(), shapes, strict=True)
        ]
        at_drawn = rank_law(self.name, self.size.drawn)
        values, lowest = _drawn_values(self.name, self.size.drawn, tuple(near))
        drawn = at_drawn.best(np.maximum(values - b / centres[-1] * lowest, 0.0))
        found = {
            name: (shape, shape / start * at_drawn.cells[drawn.cell, k])
            for k, (name, shape, start) in enumerate(zip(self.grids, shapes, near, strict=True))
        }
        found["scale"] = scale, scale * drawn.scale
        if self.has_threshold:
            found["threshold"] = scale * b, scale * drawn.scale * drawn.b
        return Fit(
            self.name,
            {name: float(value) for name, (value, _) in found.items()},
            {name: interval(scattered) for name, (_, scattered) in found.items()},
            distance,
            p_value(distance, drawn.distance),
            scale * (centres - b),
        )


def _refined(grid: Array) -> Array:
    """Return a grid with points between, at equal distances in the logarithm."""
    places = np.linspace(0, len(grid) - 1, (len(grid) - 1) * _BETWEEN + 1)
    return np.asarray(np.exp(np.interp(places, np.arange(len(grid)), np.log(grid))))


def interval(scattered: Array) -> tuple[float, float]:
    """Return the 16 and 84 % points.

    Args:
        scattered: one number for each drawn matrix.
    """
    low, high = np.quantile(scattered, _SIGMA)
    return float(low), float(high)


@lru_cache(maxsize=1024)
def _drawn_values(name: str, size: Size, shapes: tuple[float, ...]) -> tuple[Array, float]:
    """Return singular values of random matrices of a law, shape (DRAWN_MATRICES, rank), and the
    last value that the law expects.

    Args:
        name: name of the law.
        size: size of the matrices.
        shapes: shapes of the law.
    """
    law, rng = rank_law(name, size), np.random.default_rng(0)
    values = np.array([law.draw(rng, *shapes) for _ in range(DRAWN_MATRICES)])
    return values, float(law.half_ranks(*shapes)[-2])


@lru_cache(maxsize=32)
def rank_law(name: str, size: Size) -> RankLaw:
    """Return a family of laws.

    - `INITIALISATION`: W_Q^T W_K with independent Gaussian entries. No shape.
    - `LOW_RANK_TARGET`: the spectral law of training general matrices
      (docs/explanation/theory.md), the m largest singular values of S0 + noise G, less a
      threshold. S0 is a product of Gaussian factors of rank `kappa0` d with largest singular value
      1, G has entries of variance 1/d.
    - `POWER_LAW_TARGET`: the same, S0 with singular values k^-`gamma`.
    - `MARCHENKO_PASTUR`: singular values of an m x n Gaussian matrix, `ratio` = m/n.

    Args:
        name: one of these names.
        size: dimension and rank.
    """
    dim, rank = size
    noises = np.geomspace(0.03, 3.0, 11)
    if name == INITIALISATION:
        return RankLaw(name, size, {}, lambda: _product_ranks(size), _product_draw(size))
    if name == MARCHENKO_PASTUR:
        ratios = {"ratio": np.geomspace(0.02, 0.98, 16)}
        return RankLaw(name, size, ratios, lambda r: _wishart_ranks(r, rank), _wishart_draw(rank))
    if name == LOW_RANK_TARGET:
        grids = {"kappa0": np.geomspace(1 / dim, 1.0, 13), "noise": noises}
        target: Callable[[float], Target] = _low_rank
        values: Callable[[np.random.Generator, float, int], Array] = _low_rank_values
    else:
        grids = {"gamma": np.geomspace(0.1, 2.0, 10), "noise": noises}
        target, values = _powers(dim), _power_values
    return RankLaw(
        name,
        size,
        grids,
        lambda shape, noise: _noisy_ranks(target(shape), noise, size),
        _noisy_draw(values, size),
        has_threshold=True,
    )


def _product_draw(size: Size) -> Callable[[np.random.Generator], Array]:
    """Singular values of W_Q^T W_K are those of R_Q R_K^T, with the triangles of QR."""

    def draw(rng: np.random.Generator) -> Array:
        query, key = (_triangle(rng, size.dim, size.rank) for _ in range(2))
        return np.asarray(scipy.linalg.svdvals(query @ key.T))

    return draw


def _product_ranks(size: Size) -> Array:
    """Mean values, and points half-way between them."""
    rng, draw = np.random.default_rng(1), _product_draw(size)
    means = np.mean([draw(rng) for _ in range(_MEAN_DRAWS)], axis=0)
    between = (means[1:] + means[:-1]) / 2
    top, bottom = means[0] + (means[0] - means[1]) / 2, means[-1] - (means[-2] - means[-1]) / 2
    return _interleaved(np.array([top, *between, max(bottom, 0.0)]), means)


def _interleaved(ends: Array, centres: Array) -> Array:
    found = np.empty(len(ends) + len(centres))
    found[::2], found[1::2] = ends, centres
    return found


def _triangle(rng: np.random.Generator, length: float, rank: int) -> Array:
    """Triangle of the QR decomposition of a Gaussian (length, rank) matrix (Bartlett)."""
    found = np.triu(rng.standard_normal((rank, rank)), 1)
    return np.asarray(found + np.diag(np.sqrt(rng.chisquare(length - np.arange(rank)))))


def _wishart_ranks(ratio: float, rank: int) -> Array:
    """Quantiles of the square root of the Marchenko-Pastur law of this ratio."""
    low, high = 1 - np.sqrt(ratio), 1 + np.sqrt(ratio)
    x, weights = edge_grid(low, high, _POINTS)
    density = np.sqrt(np.maximum((high**2 - x**2) * (x**2 - low**2), 0.0)) / (np.pi * ratio * x)
    return _at_ranks([(low, high, x, weights * density)], np.arange(2 * rank + 1) / (2 * rank))


def _wishart_draw(rank: int) -> Callable[[np.random.Generator, float], Array]:
    def draw(rng: np.random.Generator, ratio: float) -> Array:
        length = rank / ratio
        return np.asarray(scipy.linalg.svdvals(_triangle(rng, length, rank)) / np.sqrt(length))

    return draw


@lru_cache(maxsize=256)
def _low_rank(kappa0: float) -> Target:
    law = RationalTarget.of(_GENERAL, kappa0=kappa0, scale=1.0)
    return law.scaled(1 / law.upper_edge(_BARE))


def _powers(dim: int) -> Callable[[float], Target]:
    def law(gamma: float) -> Target:
        found = power_law(gamma, dim, singular=True)
        return found.scaled(1 / max(found.eigenvalues))

    return law


def _low_rank_values(rng: np.random.Generator, kappa0: float, dim: int) -> Array:
    rank = max(1, round(kappa0 * dim))
    product = _triangle(rng, dim, rank) @ _triangle(rng, dim, rank).T / np.sqrt(rank * dim)
    # The second moment of the product is one.
    return np.asarray(np.sqrt(_low_rank(kappa0).q0) * scipy.linalg.svdvals(product))


def _power_values(rng: np.random.Generator, gamma: float, dim: int) -> Array:
    return np.arange(1.0, dim + 1.0) ** -gamma


def _noisy_draw(
    target: Callable[[np.random.Generator, float, int], Array], size: Size
) -> Callable[[np.random.Generator, float, float], Array]:
    """Return a function that draws the m largest singular values of S0 + noise G.

    Args:
        target: returns the singular values of S0.
        size: dimension and rank.
    """
    dim, rank = size

    def draw(rng: np.random.Generator, shape: float, noise: float) -> Array:
        y = rng.standard_normal((dim, dim), dtype=np.float32) * np.float32(noise / np.sqrt(dim))
        values = target(rng, shape, dim)
        y[np.arange(len(values)), np.arange(len(values))] += values.astype(np.float32)
        last = (dim - rank, dim - 1)
        squares = scipy.linalg.eigh(y.T @ y, eigvals_only=True, subset_by_index=last)
        return np.sqrt(np.maximum(squares[::-1], 0.0)).astype(np.float64)

    return draw


def _noisy_ranks(target: Target, noise: float, size: Size) -> Array:
    """Quantiles of the largest singular values of S0 + noise G."""
    bulks, found, share = [], 0.0, size.rank / size.dim
    for low, high in reversed(target.support(noise**2)):
        low = max(low, 0.0)
        x, weights = edge_grid(low, high, _POINTS)
        # The law of a general matrix is symmetric: half of it are singular values.
        mass = 2 * weights * target.density(noise**2, x)
        bulks.append((low, high, x, mass))
        found += float(np.sum(mass))
        if low == 0.0 or found > share:
            break
    return _at_ranks(bulks, np.arange(2 * size.rank + 1) / (2 * size.dim))


def _at_ranks(bulks: list[tuple[float, float, Array, Array]], above: Array) -> Array:
    """Return the points above which there is a given mass.

    Args:
        bulks: lower and upper edge, nodes and masses of each, from the uppermost down.
        above: masses.
    """
    places, masses, total = [], [], 0.0
    for low, high, x, mass in bulks:
        descending = np.argsort(-x)
        cumulated = total + np.cumsum(mass[descending]) - mass[descending] / 2
        places += [high, *x[descending], low]
        masses += [total, *cumulated, total + float(np.sum(mass))]
        total = masses[-1]
    return np.interp(above, masses, places)
