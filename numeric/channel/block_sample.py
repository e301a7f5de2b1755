"""Samples of one block of visible indices of a model, many at once: energy, slope, curvature and the minimiser.

Theory note, section 3. Arrays have the indices of the block as their first axis; every expression is generated.
"""

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from numeric.model import call, functions, structure

Array = NDArray[np.float64]
MAX_STEPS = 60  # of Newton's method; it needs under ten where the energy is convex
FLAT = 10.0  # times the temperature: logistic functions are constant beyond, to one in 20 000
CURVATURE_SAMPLES = 20_000  # at which the curvature of the loss is looked at
FLAT_CURVATURE = 1e-9  # of a convex loss, from rounding
MARGIN = 1.1  # between the least curvature among these places and the least of all
MAX_STEP = 2.0  # longest Newton step of an index, in units of 1/beta: half the width of a sigmoid, so that no barrier is jumped
STEP_TOLERANCE = 1e-10  # relative length of the last step, whose square is what is left


@dataclass(frozen=True)
class BlockSample:
    """The block of this number of a model, at the inverse temperatures and further settings of its loss, by name."""

    model: str
    number: int
    settings: tuple[tuple[str, float], ...]

    @cached_property
    def generated(self) -> ModuleType:
        """The functions of the model."""
        return functions("float64", self.model)

    @cached_property
    def indices(self) -> int:
        """Visible indices of the block."""
        return structure(self.model).blocks[self.number - 1].indices

    @property
    def copies(self) -> int:
        """Independent blocks of this kind in a sample."""
        return structure(self.model).blocks[self.number - 1].copies

    @property
    def unit(self) -> float:
        """1/beta of the student: the index over which its output changes."""
        return float(1.0 / dict(self.settings).get("beta", 1.0))

    @cached_property
    def noise_on_label(self) -> float:
        """Variance of the noise added to each number of the label."""
        if not structure(self.model).has_noise_on_label:
            return 0.0
        return float(call(self.generated.noise_on_label, (), dict(self.settings)))

    @cached_property
    def covariance(self) -> Array:
        """Of the visible indices per unit of overlap, shape (indices, indices)."""
        return self._symmetric(self._call("covariance"))

    @cached_property
    def precision(self) -> Array:
        """Inverse of the covariance."""
        return np.asarray(np.linalg.inv(self.covariance), dtype=np.float64)

    @cached_property
    def root(self) -> Array:
        """Lower triangular, with root root^T the covariance."""
        return np.asarray(np.linalg.cholesky(self.covariance), dtype=np.float64)

    @cached_property
    def convex_up_to(self) -> float:
        """V up to which the Moreau energy of every sample is convex, so that it has one minimum; infinite for a convex loss.

        The least curvature of the loss is looked for among outputs and labels as far as they change.
        """
        known = dict(self.settings)
        rng = np.random.default_rng(0)
        u, z = (
            FLAT / known.get(heat, 1.0) * rng.uniform(-1, 1, (self.indices, CURVATURE_SAMPLES))
            for heat in ("beta", "beta0")
        )
        curvature = np.einsum(
            "ji,jk...,kl->...il", self.root, self.hessian(u, self.label(z)), self.root
        )
        least = float(np.linalg.eigvalsh(curvature).min())
        return np.inf if least > -FLAT_CURVATURE else 1 / (MARGIN * -least)

    def label(self, z: Array) -> Array:
        """Numbers of the label at the noisy target index z, which may be complex, as may the arguments of slope and curvature."""
        return _stacked(self._call("label", *z))

    def loss(self, u: Array, y: Array) -> Array:
        """Of the samples."""
        return np.asarray(self._call("loss", *u, *y))

    def gradient(self, u: Array, y: Array) -> Array:
        """Slope of the loss, shape of `u`."""
        return _stacked(self._call("gradient", *u, *y))

    def hessian(self, u: Array, y: Array) -> Array:
        """Curvature of the loss, shape (indices, indices, samples)."""
        return self._symmetric(self._call("hessian", *u, *y), np.shape(u[0]))

    def minimiser(self, start: Array, w: Array, y: Array, V: float) -> Array:
        """Minimum of the Moreau energy near `start`, by Newton steps no longer than MAX_STEP along any index.

        Where the energy is not convex the curvature of its elastic part alone is used.
        """
        stiffness, reach = self.precision / V, MAX_STEP * self.unit
        u, at, field, label, open_ = start.copy(), start, w, y, np.arange(start.shape[1])
        for _ in range(MAX_STEPS):
            slope = self.gradient(at, label) + stiffness @ (at - field)
            step = -_solve(self.hessian(at, label), stiffness, slope)
            longest = np.max(np.abs(step), axis=0)
            moving = longest > STEP_TOLERANCE * (1 + np.max(np.abs(at), axis=0))
            at = at + step * (reach / np.maximum(longest, reach))
            if not moving.all():
                u[:, open_] = at
                at, field, label, open_ = (
                    at[:, moving],
                    field[:, moving],
                    label[:, moving],
                    open_[moving],
                )
            if not len(open_):
                break
        u[:, open_] = at
        return u

    def imbalance(self, u: Array, w: Array, y: Array, V: float) -> Array:
        """How far u is from the field plus what the slope of the loss adds there: 0 at every minimum of the Moreau energy."""
        return u - w + V * np.einsum("ij,j...->i...", self.covariance, self.gradient(u, y))

    def best_index(self, h0: Array, y: Array, weights: Array) -> Array:
        """Index of least mean loss over labels y of shape (numbers, places, labels), from that which fits h0, (indices, places)."""
        u, reach = self.fitted(h0), MAX_STEP * self.unit
        for _ in range(MAX_STEPS):
            at = np.repeat(u[:, :, None], y.shape[-1], axis=2)
            slope, curvature = self.gradient(at, y) @ weights, self.hessian(at, y) @ weights
            values, vectors = np.linalg.eigh(np.moveaxis(curvature, (0, 1), (-2, -1)))
            sizes = np.maximum(
                np.abs(values), 1e-3 * np.abs(values).max() + 1e-300
            )  # a step downhill wherever it is not convex
            turned = np.einsum("pij,ip->pj", vectors, slope) / sizes
            step = -np.einsum("pij,pj->ip", vectors, turned)
            step *= reach / np.maximum(np.max(np.abs(step), axis=0), reach)
            u = u + step
            if np.max(np.abs(step)) < STEP_TOLERANCE * reach:
                break
        return u

    def fitted(self, z: Array) -> Array:
        """The student's index that gives the label of z, noise and all."""
        known = dict(self.settings)
        return z * (known.get("beta0", 1.0) / known.get("beta", 1.0))

    def energy(self, u: Array, w: Array, y: Array, V: float) -> Array:
        """Moreau energy of the samples."""
        away = u - w
        return self.loss(u, y) + np.einsum("i...,ij,j...->...", away, self.precision, away) / (
            2 * V
        )

    def _symmetric(self, upper, shape: tuple[int, ...] = ()) -> Array:  # type: ignore[no-untyped-def]
        """The symmetric matrix with this upper triangle, of numbers or arrays no larger than `shape`."""
        return _stacked(upper, shape)[self._triangle_index]

    @cached_property
    def _triangle_index(self) -> NDArray[np.int64]:
        """Where the elements of a symmetric matrix stand in its upper triangle, row by row."""
        found = np.zeros((self.indices, self.indices), dtype=np.int64)
        found[np.triu_indices(self.indices)] = np.arange(self.indices * (self.indices + 1) // 2)
        return found + np.triu(found, 1).T

    def _call(self, name: str, *arguments: Array):  # type: ignore[no-untyped-def]
        function = getattr(self.generated, f"block{self.number}_{name}")
        return call(function, arguments, dict(self.settings))


def _stacked(values, shape: tuple[int, ...] = ()) -> Array:  # type: ignore[no-untyped-def]
    """Numbers and arrays, or a single one, that are broadcast together, and to `shape`, along a new first axis."""
    values = values if isinstance(values, tuple) else (values,)
    whole = np.broadcast_shapes(shape, *map(np.shape, values))
    found = np.empty((len(values), *whole), dtype=np.result_type(float, *values))
    for k, value in enumerate(values):
        found[k] = value
    return found


def _solve(hessian: Array, stiffness: Array, slope: Array) -> Array:
    """Newton step against the slope; where the curvature is not positive, that of the elastic part."""
    elastic = stiffness[:, :, None]
    whole: Array = hessian + elastic
    if len(stiffness) == 1:
        return slope / np.where(whole[0] > 0, whole[0], elastic[0])
    if len(stiffness) == 2:  # by hand: LAPACK takes ten times as long for matrices as small
        convex = (whole[0, 0] > 0) & (whole[0, 0] * whole[1, 1] > whole[0, 1] ** 2)
        (a, b), (_, c) = np.where(convex, whole, elastic)
        return np.array([c * slope[0] - b * slope[1], a * slope[1] - b * slope[0]]) / (a * c - b**2)
    matrices = np.moveaxis(whole, (0, 1), (-2, -1))
    convex = np.linalg.eigvalsh(matrices)[..., 0] > 0
    matrices = np.where(convex[..., None, None], matrices, stiffness)
    step = np.linalg.solve(matrices, np.moveaxis(slope, 0, -1)[..., None])[..., 0]
    return np.asarray(np.moveaxis(step, -1, 0), dtype=np.float64)
