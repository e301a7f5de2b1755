"""Samples of one block of visible indices of a model: energy, slope, curvature and minimiser.

Source: theory note, section 3. The first axis of arrays is the index in the block, the last one
the sample. All expressions are generated.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from types import ModuleType

import numpy as np
import scipy
from numpy.typing import NDArray

from numeric.model import call, functions, structure

Array = NDArray[np.float64]
MAX_STEPS = 60  # Newton iterations; a convex energy needs fewer than ten
FLAT = 10.0  # times the temperature: beyond it logistic functions are constant to 1 in 20 000
CURVATURE_SAMPLES = 20_000  # points at which the curvature of the loss is evaluated
FLAT_CURVATURE = 1e-9  # rounding error in the curvature of a convex loss
MARGIN = 1.1  # ratio of the least curvature to the least sampled one
# Longest Newton step of an index in units of 1/beta: half the width of a sigmoid, so that no step
# crosses a barrier.
MAX_STEP = 2.0
AT_KINK, HELD = 1e-9, 1e100  # relative distance from a kink, and the curvature there
STEP_TOLERANCE = 1e-10  # relative length of the last step; the error is its square


@dataclass(frozen=True)
class BlockSample:
    """One block of a model.

    Args:
        model: name of the model.
        number: number of the block, from 1.
        settings: names and values of the inverse temperatures and other parameters of the loss.
        has_norms: whether the norms of tokens are not those of Gaussian tokens.
    """

    model: str
    number: int
    settings: tuple[tuple[str, float], ...]
    has_norms: bool = False

    @cached_property
    def generated(self) -> ModuleType:
        """Return the generated functions of the model."""
        return functions("float64", self.model)

    @cached_property
    def indices(self) -> int:
        """Return the number of visible indices of the block."""
        return structure(self.model).blocks[self.number - 1].indices

    @property
    def copies(self) -> int:
        """Return the number of independent blocks of this kind in a sample."""
        return structure(self.model).blocks[self.number - 1].copies

    @property
    def unit(self) -> float:
        """Return 1/beta of the student: the range of the index over which its output changes."""
        return float(1.0 / dict(self.settings).get("beta", 1.0))

    @cached_property
    def noise_on_label(self) -> float:
        """Return the variance of the noise added to each number of the label."""
        return noise_on_label(self.model, dict(self.settings))

    @cached_property
    def covariance(self) -> Array:
        """Return the covariance of the visible indices per overlap, shape (indices, indices)."""
        return self._symmetric(self._call("covariance"))

    @cached_property
    def precision(self) -> Array:
        """Return the inverse of the covariance."""
        return np.asarray(np.linalg.inv(self.covariance), dtype=np.float64)

    @cached_property
    def root(self) -> Array:
        """Return a root of the covariance, whose columns are the axes of the fields."""
        return self._axes[0]

    @property
    def shares(self) -> Array:
        """Return the shares of scores of a token with itself along the axes, shape (indices,)."""
        return self._axes[1]

    @cached_property
    def _axes(self) -> tuple[Array, Array]:
        """Return the axes of the fields and the shares of scores of a token with itself."""
        own = self._symmetric(self._call("norms")) if self.has_norms else None
        return field_axes(self.covariance, own)

    @cached_property
    def convex_up_to(self) -> float:
        """Return V up to which the Moreau energy of every sample is convex and has one minimum.

        It is infinite for a convex loss. The least curvature of the loss is sampled over the
        range in which outputs and labels change.
        """
        known = dict(self.settings)
        rng = np.random.default_rng(0)
        u, z = (
            FLAT / known.get(heat, 1.0) * rng.uniform(-1, 1, (self.indices, CURVATURE_SAMPLES))
            for heat in ("beta", "beta0")
        )
        if self.classes:
            y = self.class_labels.T[:, rng.integers(self.classes, size=CURVATURE_SAMPLES)]
        else:
            y = self.label(z)
        curvature = np.einsum("ji,jk...,kl->...il", self.root, self.hessian(u, y), self.root)
        least = float(np.linalg.eigvalsh(curvature).min())
        return np.inf if least > -FLAT_CURVATURE else 1 / (MARGIN * -least)

    @property
    def classes(self) -> int:
        """Return the number of different labels, 0 if labels have more than a few values."""
        return structure(self.model).blocks[self.number - 1].classes

    @property
    def is_in_cells(self) -> bool:
        """Return whether the probabilities of the classes are constant between straight borders."""
        return structure(self.model).blocks[self.number - 1].probabilities == "cells"

    @cached_property
    def class_labels(self) -> Array:
        """Return the label of each class, shape (classes, numbers)."""
        return _stacked(self._call("classes")).reshape(self.classes, -1)

    @property
    def has_borders(self) -> bool:
        """Return whether the label has kinks or jumps across straight borders."""
        return structure(self.model).blocks[self.number - 1].borders

    @cached_property
    def borders(self) -> tuple[Array, Array]:
        """Return A, shape (borders, indices), and b of the borders A z + b = 0 of the label."""
        rows = _stacked(self._call("borders")).reshape(-1, self.indices + 1)
        return rows[:, :-1], rows[:, -1]

    def probabilities(self, z: Array) -> Array:
        """Return the probability of each class, shape (classes, samples).

        Args:
            z: noisy target indices, shape (indices, samples).
        """
        return _stacked(self._call("probabilities", *z), z.shape[1:])

    def label(self, z: Array) -> Array:
        """Return the numbers of the label at the noisy target index z, which may be complex."""
        return _stacked(self._call("label", *z))

    @property
    def kinks(self) -> int:
        """Return the number of kinks and jumps of the loss of a sample."""
        return structure(self.model).blocks[self.number - 1].kinks

    def kink_lines(self, y: Array) -> tuple[Array, Array]:
        """Return a and b, shape (kinks, samples), of the functions a u + b whose signs tell the
        pieces of the loss apart.
        """
        values = _stacked(self._call("kinks", *y), np.shape(y[0]))
        return values[::2], values[1::2]

    def _sides(self, u: Array, y: Array, sides: Array | None) -> tuple[Array, ...]:
        """Return the signs that tell the pieces of the loss apart; none for a smooth loss."""
        if not self.kinks or sides is not None:
            return () if sides is None else tuple(sides)
        a, b = self.kink_lines(y)
        return tuple(np.sign(a * u[0] + b))

    def loss(self, u: Array, y: Array, sides: Array | None = None) -> Array:
        """Return the loss of each sample, shape (samples,).

        Args:
            u: student indices, shape (indices, samples).
            y: labels, shape (numbers, samples).
            sides: signs of the piece of the loss, shape (kinks, samples); by default that of u.
        """
        return np.asarray(self._call("loss", *u, *y, *self._sides(u, y, sides)))

    def gradient(self, u: Array, y: Array, sides: Array | None = None) -> Array:
        """Return the slope of the loss, with the shape of `u`.

        Args:
            u: student indices, shape (indices, samples), real or complex.
            y: labels, shape (numbers, samples).
            sides: signs of the piece of the loss, shape (kinks, samples); by default that of u.
        """
        return _stacked(self._call("gradient", *u, *y, *self._sides(u, y, sides)))

    def hessian(self, u: Array, y: Array, sides: Array | None = None) -> Array:
        """Return the curvature of the loss, shape (indices, indices, samples).

        Args:
            u: student indices, shape (indices, samples), real or complex.
            y: labels, shape (numbers, samples).
            sides: signs of the piece of the loss, shape (kinks, samples); by default that of u.
        """
        values = self._call("hessian", *u, *y, *self._sides(u, y, sides))
        return self._symmetric(values, np.shape(u[0]))

    def curvature_at_minimum(self, u: Array, y: Array) -> Array:
        """Return the curvature of the loss, which holds a minimiser at a kink.

        Args:
            u: minimisers of the Moreau energy, shape (indices, samples).
            y: labels, shape (numbers, samples).
        """
        if not self.kinks:
            return self.hessian(u, y)
        a, b = self.kink_lines(y)
        at_kink = np.any(np.abs(a * u[0] + b) <= AT_KINK * (np.abs(a * u[0]) + np.abs(b)), axis=0)
        return np.where(at_kink, HELD, self.hessian(u, y))

    def minimiser(self, start: Array, w: Array, y: Array, V: float) -> Array:
        """Return the minimum of the Moreau energy near `start`, by Newton steps of at most
        MAX_STEP.

        If the energy is not convex, the step uses the curvature of its elastic part alone.

        Args:
            start: first indices, shape (indices, samples).
            w: student fields, shape (indices, samples).
            y: labels, shape (numbers, samples).
            V: response, index^2/loss.
        """
        stiffness, reach = self.precision / V, MAX_STEP * self.unit
        u, at, active = start.copy(), start, np.arange(start.shape[1])
        for _ in range(MAX_STEPS):
            slope = self.gradient(at, y) + stiffness @ (at - w)
            step = -_solve(self.hessian(at, y), stiffness, slope)
            longest = np.max(np.abs(step), axis=0)
            moving = longest > STEP_TOLERANCE * (1 + np.max(np.abs(at), axis=0))
            at = at + step * (reach / np.maximum(longest, reach))
            if not moving.all():
                u[:, active] = at
                at, w, y = at[:, moving], w[:, moving], y[:, moving]
                active = active[moving]
            if not len(active):
                break
        u[:, active] = at
        return u

    def imbalance(self, u: Array, w: Array, y: Array, V: float) -> Array:
        """Return Sigma times V times the slope of the Moreau energy: 0 at every minimum.

        Args:
            u: student indices, shape (indices, samples).
            w: student fields, shape (indices, samples).
            y: labels, shape (numbers, samples).
            V: response, index^2/loss.
        """
        return u - w + V * np.einsum("ij,j...->i...", self.covariance, self.gradient(u, y))

    def best_index(self, h0: Array, y: Array, weights: Array) -> Array:
        """Return the indices with the least mean loss over several labels each.

        Args:
            h0: target indices, whose fit is the first guess, shape (indices, points).
            y: labels, shape (numbers, points, labels).
            weights: weights of the labels, shape (labels,) or (points, labels).
        """
        u, reach = self.fitted(h0), MAX_STEP * self.unit
        for _ in range(MAX_STEPS):
            at = np.repeat(u[:, :, None], y.shape[-1], axis=2)
            slope, curvature = (
                np.einsum("...l,...l->...", one, weights) if weights.ndim > 1 else one @ weights
                for one in (self.gradient(at, y), self.hessian(at, y))
            )
            values, vectors = np.linalg.eigh(np.moveaxis(curvature, (0, 1), (-2, -1)))
            # Absolute eigenvalues: the step goes downhill also where the loss is not convex.
            sizes = np.maximum(np.abs(values), 1e-3 * np.abs(values).max() + 1e-300)
            rotated = np.einsum("pij,ip->pj", vectors, slope) / sizes
            step = -np.einsum("pij,pj->ip", vectors, rotated)
            step *= reach / np.maximum(np.max(np.abs(step), axis=0), reach)
            u = u + step
            if np.max(np.abs(step)) < STEP_TOLERANCE * reach:
                break
        return u

    def fitted(self, z: Array) -> Array:
        """Return the index of the student that reproduces the label of z, noise included."""
        known = dict(self.settings)
        return z * (known.get("beta0", 1.0) / known.get("beta", 1.0))

    def energy(self, u: Array, w: Array, y: Array, V: float) -> Array:
        """Return the Moreau energy of each sample.

        Args:
            u: student indices, shape (indices, samples).
            w: student fields, shape (indices, samples).
            y: labels, shape (numbers, samples).
            V: response, index^2/loss.
        """
        elastic = np.einsum("i...,ij,j...->...", u - w, self.precision, u - w)
        return self.loss(u, y) + elastic / (2 * V)

    def _symmetric(self, upper, shape: tuple[int, ...] = ()) -> Array:
        """Return the symmetric matrix of an upper triangle of numbers or arrays, up to `shape`."""
        return _stacked(upper, shape)[upper_triangle(self.indices)]

    def _call(self, name: str, *arguments: Array):
        function = getattr(self.generated, f"block{self.number}_{name}")
        return call(function, arguments, dict(self.settings))


def field_axes(covariance: Array, own: Array | None) -> tuple[Array, Array]:
    """Return a root of a covariance, and the shares of scores of a token with itself along its
    columns.

    Any root will do for Gaussian tokens. Otherwise the covariance of these scores must be diagonal
    along the columns, too.

    Args:
        covariance: covariance of indices per unit of overlap, shape (indices, indices).
        own: part of it that is due to scores of a token with itself, None for Gaussian tokens.
    """
    if own is None:
        root = np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
        return root, np.zeros(len(covariance))
    shares, vectors = scipy.linalg.eigh(own, covariance)
    return covariance @ vectors, np.asarray(shares)


def noise_on_label(model: str, settings: Mapping[str, float]) -> float:
    """Return the variance of the noise added to each number of a label, 0 if none is.

    Args:
        model: name of the model.
        settings: values of its settings.
    """
    if not structure(model).has_noise_on_label:
        return 0.0
    return float(call(functions("float64", model).noise_on_label, (), settings))


@cache
def upper_triangle(size: int) -> NDArray[np.intp]:
    """Return the position of each element of a symmetric matrix in its upper triangle, row by row.

    Args:
        size: number of rows.
    """
    found = np.zeros((size, size), dtype=np.intp)
    found[np.triu_indices(size)] = np.arange(size * (size + 1) // 2)
    return found + np.triu(found, 1).T


def _stacked(values, shape: tuple[int, ...] = ()) -> Array:
    """Return the values broadcast together, and to `shape`, along a new first axis."""
    values = values if isinstance(values, tuple) else (values,)
    whole = np.broadcast_shapes(shape, *map(np.shape, values))
    found = np.empty((len(values), *whole), dtype=np.result_type(float, *values))
    for k, value in enumerate(values):
        found[k] = value
    return found


def _solve(hessian: Array, stiffness: Array, slope: Array) -> Array:
    """Return the inverse curvature times the slope; the elastic curvature if it is not positive."""
    elastic = stiffness[:, :, None]
    whole: Array = hessian + elastic
    if len(stiffness) == 1:
        return slope / np.where(whole[0] > 0, whole[0], elastic[0])
    if len(stiffness) == 2:  # explicit: ten times faster than LAPACK
        convex = (whole[0, 0] > 0) & (whole[0, 0] * whole[1, 1] > whole[0, 1] ** 2)
        (a, b), (_, c) = np.where(convex, whole, elastic)
        return np.array([c * slope[0] - b * slope[1], a * slope[1] - b * slope[0]]) / (a * c - b**2)
    matrices = np.moveaxis(whole, (0, 1), (-2, -1))
    convex = np.linalg.eigvalsh(matrices)[..., 0] > 0
    matrices = np.where(convex[..., None, None], matrices, stiffness)
    step = np.linalg.solve(matrices, np.moveaxis(slope, 0, -1)[..., None])[..., 0]
    return np.asarray(np.moveaxis(step, -1, 0), dtype=np.float64)
