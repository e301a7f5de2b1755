"""Labels and losses of samples as functions of all scores, with slopes and curvatures.

The first axis of arrays is the score (or the number of the label), the last one the sample.
"""

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from numeric.channel.block_sample import upper_triangle
from numeric.model import call, functions, structure
from numeric.model import float64 as physics
from numeric.problem.problem import Problem

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


class SampleLosses(Protocol):
    """Label and loss of one sample of a model, as functions of its scores."""

    @property
    def is_own(self) -> NDArray[np.bool_]:
        """Return which scores are of a token with itself, shape (scores,)."""

    @property
    def variances(self) -> tuple[float, float]:
        """Return the variances of the score of a token with itself, and of a pair, per unit."""

    @property
    def unit(self) -> float:
        """Return 1/beta of the student, the range of scores over which its output changes."""

    @property
    def label_numbers(self) -> int:
        """Return how many numbers are in a label."""

    def label(self, z: Array) -> Array:
        """Return the label without noise on it at the target scores, shape (numbers, samples)."""

    def loss(self, u: Array, y: Array) -> Array:
        """Return the loss of each sample, shape (samples,).

        Args:
            u: student scores, shape (scores, samples).
            y: labels, shape (numbers, samples).
        """

    def slope(self, u: Array, y: Array) -> Array:
        """Return the slope of the loss in each score, shape (scores, samples).

        Args:
            u: student scores, shape (scores, samples).
            y: labels, shape (numbers, samples).
        """

    def curvature(self, u: Array, y: Array) -> Array:
        """Return the curvature of the loss, shape (scores, scores, samples).

        Args:
            u: student scores, shape (scores, samples).
            y: labels, shape (numbers, samples).
        """

    def label_slope(self, u: Array, y: Array, z: Array) -> Array:
        """Return the change of the slope with the target scores, shape (scores, scores, samples).

        Args:
            u: student scores, shape (scores, samples).
            y: labels, shape (numbers, samples).
            z: noisy target scores, by which the labels change, shape (scores, samples).
        """


@dataclass(frozen=True)
class GeneratedLosses:
    """Losses of a model at the number of tokens of its file, by generated functions."""

    model: str
    settings: tuple[tuple[str, float], ...]

    @cached_property
    def is_own(self) -> NDArray[np.bool_]:
        """See `SampleLosses`."""
        first, second = np.transpose(structure(self.model).tokens_of_scores)
        return np.asarray(first == second)

    @cached_property
    def variances(self) -> tuple[float, float]:
        """See `SampleLosses`."""
        found = np.array(structure(self.model).index_variances, dtype=float)
        return max(found[self.is_own]), max(found[~self.is_own], default=1.0)

    @property
    def unit(self) -> float:
        """See `SampleLosses`."""
        return 1 / dict(self.settings).get("beta", 1.0)

    @cached_property
    def label_numbers(self) -> int:
        """See `SampleLosses`."""
        return len(self.label(np.zeros((len(self.is_own), 1))))

    def label(self, z: Array) -> Array:
        """See `SampleLosses`."""
        return self._stacked("index_label", z[0], *z)

    def loss(self, u: Array, y: Array) -> Array:
        """See `SampleLosses`."""
        return self._stacked("index_loss", u[0], *u, *y)[0]

    def slope(self, u: Array, y: Array) -> Array:
        """See `SampleLosses`."""
        return self._stacked("index_slope", u[0], *u, *y)

    def curvature(self, u: Array, y: Array) -> Array:
        """See `SampleLosses`."""
        upper = self._stacked("index_curvature", u[0], *u, *y)
        return upper[upper_triangle(len(u))]

    def label_slope(self, u: Array, y: Array, z: Array) -> Array:
        """See `SampleLosses`."""
        found = self._stacked("index_label_slope", u[0], *u, *y, *z)
        return found.reshape(len(u), len(z), -1)

    def _stacked(self, name: str, like: Array, *arguments: Array) -> Array:
        found = call(getattr(self._generated, name), arguments, dict(self.settings))
        values = found if isinstance(found, tuple) else (found,)
        return np.stack([np.broadcast_to(value, like.shape) for value in values])

    @cached_property
    def _generated(self) -> ModuleType:
        return functions("float64", self.model)


@dataclass(frozen=True)
class SoftmaxLosses:
    """Square loss of softmax rows at any number of tokens."""

    tokens: int
    beta: float
    beta0: float

    @cached_property
    def is_own(self) -> NDArray[np.bool_]:
        """See `SampleLosses`."""
        first, second = np.triu_indices(self.tokens)
        return np.asarray(first == second)

    @property
    def variances(self) -> tuple[float, float]:
        """See `SampleLosses`."""
        own, pair, _ = physics.index_variances()
        return float(own), float(pair)

    @property
    def unit(self) -> float:
        """See `SampleLosses`."""
        return 1 / self.beta

    @property
    def label_numbers(self) -> int:
        """See `SampleLosses`."""
        return self.tokens**2

    def label(self, z: Array) -> Array:
        """See `SampleLosses`."""
        return self._rows(z, self.beta0).reshape(self.label_numbers, -1)

    def loss(self, u: Array, y: Array) -> Array:
        """See `SampleLosses`."""
        return np.asarray(np.sum(physics.entry_loss(self._residuals(u, y)[1]), axis=(0, 1)))

    def slope(self, u: Array, y: Array) -> Array:
        """See `SampleLosses`."""
        rows, gap = self._residuals(u, y)
        of_rows = physics.row_slope(rows, gap, np.sum(rows * gap, axis=1)[:, None], self.beta)
        found = np.zeros_like(u)
        for a, b in np.ndindex(self.tokens, self.tokens):
            found[self._place[a, b]] += of_rows[a, b]
        return found

    def curvature(self, u: Array, y: Array) -> Array:
        """See `SampleLosses`."""
        rows, gap = self._residuals(u, y)
        found = np.zeros((len(u), *u.shape))
        for s, e, places in zip(rows, gap, self._place, strict=True):
            se, ss = np.sum(s * e, axis=0), np.sum(s * s, axis=0)
            for b, c in np.ndindex(self.tokens, self.tokens):
                value = physics.row_curvature(s[b], e[b], s[c], e[c], se, ss, self.beta)
                if b == c:
                    value = value + physics.row_curvature_local(s[b], e[b], se, self.beta)
                found[places[b], places[c]] += value
        return found

    def label_slope(self, u: Array, y: Array, z: Array) -> Array:
        """See `SampleLosses`."""
        found = np.zeros((len(u), *z.shape))
        betas = self.beta, self.beta0
        rows = self._rows(u, self.beta), self._rows(z, self.beta0)
        for s, t, places in zip(*rows, self._place, strict=True):
            overlap = np.sum(s * t, axis=0)
            for b, c in np.ndindex(self.tokens, self.tokens):
                value = physics.row_label_slope(s[b], s[c], t[b], t[c], overlap, *betas)
                if b == c:
                    value = value + physics.row_label_slope_local(s[b], t[b], *betas)
                found[places[b], places[c]] += value
        return found

    @cached_property
    def _place(self) -> Indices:
        """Return the position of each element of the symmetric matrix of scores."""
        return upper_triangle(self.tokens)

    def _rows(self, scores: Array, temperature: float) -> Array:
        """Return the softmax rows, shape (tokens, tokens, samples)."""
        exponents = temperature * scores[self._place]
        exponents -= exponents.max(axis=1, keepdims=True)
        found = np.exp(exponents)
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def _residuals(self, u: Array, y: Array) -> tuple[Array, Array]:
        """Return the softmax rows and their residuals, shape (tokens, tokens, samples) each."""
        rows = self._rows(u, self.beta)
        return rows, np.asarray(physics.residual(rows, y.reshape(rows.shape)))


def losses_of(problem: Problem) -> SampleLosses:
    """Return the losses of a problem; the model file fixes T unless T is a setting."""
    if structure(problem.model).takes_tokens and problem.tokens != 2:
        return SoftmaxLosses(problem.tokens, problem.beta, problem.beta0)
    return GeneratedLosses(problem.model, tuple(problem.settings.items()))
