"""Averages over the labels at more than two tokens: the rows of a sequence have one law, and T independent indices each.

Every average is smooth and has few dimensions, so that the points of numeric.maths.sobol give three or four digits, and the
scatter of their replicates the error. All averages of one problem use the same points: small differences of test errors keep their
digits.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from numeric.channel.softmax.whitened_index import visible_basis
from numeric.maths.replicates import half_width
from numeric.maths.sobol import Array, Sampling, gaussians
from numeric.model import float64 as generated
from numeric.prediction.label_parameters import Estimate, Labels
from numeric.problem.fields import Fields

_SAMPLING, _STREAM = Sampling(2**14), 2


@dataclass(frozen=True)
class RowAverages:
    """Sampled averages at any number of tokens (see numeric.prediction.gaussian_indices.Averages)."""

    labels: Labels

    def test_error(self, m: float, q: float) -> Estimate:
        """Of the overlaps m and q, with the scatter of replicates."""
        labels = self.labels
        w, z = self._fields(labels.fields(m, q))
        residual = generated.residual(
            scipy.special.softmax(labels.beta * w, axis=-1), scipy.special.softmax(labels.beta0 * z, axis=-1)
        )
        return self.mean(np.sum(generated.entry_loss(residual), axis=-1))

    def multiple_slope(self, c: float) -> float:
        """By the slope of the loss of a row."""
        labels = self.labels
        h0, z = self._fields(labels.fields(labels.q0, labels.q0))
        prediction = scipy.special.softmax(labels.beta * c * h0, axis=-1)
        residual = generated.residual(prediction, scipy.special.softmax(labels.beta0 * z, axis=-1))
        along = np.sum(prediction * residual, axis=-1, keepdims=True)
        return self.mean(np.sum(generated.row_slope(prediction, residual, along, labels.beta) * h0, axis=-1)).value

    def _fields(self, fields: Fields) -> tuple[Array, Array]:
        """Rows of the student's and of the noisy target's index, each of shape (points, T)."""
        gamma1, gamma2, _ = independent_rows(self.labels.tokens)
        return fields.teacher * gamma1 + fields.independent * gamma2, fields.target * gamma1

    def mean(self, rows: Array) -> Estimate:
        """Mean over the points of T equal rows, and half the width of its confidence interval."""
        means = self.labels.tokens * rows.reshape(_SAMPLING.replicates, -1).mean(axis=1)
        return Estimate(float(means.mean()), float(half_width(means)))


def independent_rows(tokens: int) -> Array:
    """Three independent rows of the index per unit, shape (3, points, tokens), up to a constant added to a row."""
    diagonal, offdiagonal, _ = generated.index_variances()
    scale = np.sqrt([float(diagonal)] + [float(offdiagonal)] * (tokens - 1))
    points = gaussians(3 * (tokens - 1), _SAMPLING, _STREAM).reshape(-1, 3, tokens - 1)
    return np.moveaxis(points @ visible_basis(scale).T, 1, 0) * scale
