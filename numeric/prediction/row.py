"""Averages over one row of the index, for more than two tokens: the rows of a sequence have one law, and T independent indices each.

Every average is smooth and has few dimensions, so that the points of numeric.channel.points give three or four digits, and the scatter
of their replicates the error. All averages of one problem use the same points: small differences of test errors keep their digits.
"""

import numpy as np
from scipy.special import softmax

from numeric.channel.index import visible_basis
from numeric.channel.points import Array, Fields, Sampling, gaussians
from numeric.maths.replicates import half_width
from numeric.model import float64 as generated

_SAMPLING, _STREAM = Sampling(2**14), 2


def prediction_error(fields: Fields, beta: float, beta0: float, tokens: int) -> tuple[float, float]:
    """E ||sigma_beta0(z) - sigma_beta(w)||^2 per sample and its error."""
    gamma1, gamma2, _ = _indices(tokens)
    label = softmax(beta0 * fields.target * gamma1, axis=-1)
    prediction = softmax(beta * (fields.teacher * gamma1 + fields.independent * gamma2), axis=-1)
    return _mean(np.sum((prediction - label) ** 2, axis=-1), tokens)


def multiple_slope(c: float, fields: Fields, beta: float, beta0: float, tokens: int) -> float:
    """Derivative in c of the test error of c S0; `fields` are those of S0 itself."""
    gamma1, gamma2, _ = _indices(tokens)
    h0 = fields.teacher * gamma1 + fields.independent * gamma2
    prediction = softmax(beta * c * h0, axis=-1)
    residual = prediction - softmax(beta0 * fields.target * gamma1, axis=-1)
    along = np.sum(prediction * residual, axis=-1, keepdims=True)
    slope, _ = _mean(np.sum(generated.row_slope(prediction, residual, along, beta) * h0, axis=-1), tokens)
    return slope


def least_test_error(q0: float, noise: float, beta0: float, tokens: int) -> float:
    """E ||y - E[y | X]||^2 per sample: half the mean square difference of two labels of one sequence."""
    _, one, two = _sequence(q0, noise, beta0, tokens)
    return _mean(np.sum((one - two) ** 2, axis=-1) / 2, tokens)[0]


def mismatch(c: float, q0: float, noise: float, beta: float, beta0: float, tokens: int) -> float:
    """E ||sigma_beta(c h0) - E[y | X]||^2 per sample: the mean product of the residuals of two labels of one sequence."""
    h0, one, two = _sequence(q0, noise, beta0, tokens)
    prediction = softmax(beta * c * h0, axis=-1)
    return _mean(np.sum((prediction - one) * (prediction - two), axis=-1), tokens)[0]


def _sequence(q0: float, noise: float, beta0: float, tokens: int) -> tuple[Array, Array, Array]:
    """A row of the target's index, and of two labels with independent noise."""
    h0, *independent = (np.sqrt(q0) * gamma for gamma in _indices(tokens))
    spread = np.sqrt((generated.noisy_variance(q0, noise) - q0) / q0)
    one, two = (softmax(beta0 * (h0 + spread * gamma), axis=-1) for gamma in independent)
    return h0, one, two


def _indices(tokens: int) -> Array:
    """Three independent rows of the index per unit, shape (3, points, tokens), up to a constant added to a row."""
    diagonal, offdiagonal, _ = generated.index_variances()
    scale = np.sqrt([float(diagonal)] + [float(offdiagonal)] * (tokens - 1))
    points = gaussians(3 * (tokens - 1), _SAMPLING, _STREAM).reshape(-1, 3, tokens - 1)
    return np.moveaxis(points @ visible_basis(scale).T, 1, 0) * scale


def _mean(rows: Array, tokens: int) -> tuple[float, float]:
    """Mean over the points of T equal rows, and half the width of its confidence interval."""
    means = tokens * rows.reshape(_SAMPLING.replicates, -1).mean(axis=1)
    return float(means.mean()), float(half_width(means))
