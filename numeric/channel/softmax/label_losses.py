"""Mean losses of fresh labels that are softmax rows of tied scores (theory note, sections 3 and 7).

Two tokens by quadrature: the visible indices (u1, u2) are exchangeable and the loss is a sum over
them, so the average needs one component of each pair only, twice its own share, which the generated
loss gives at u2 = u1, p2 = p1.

More tokens by quasi-Monte Carlo: the rows of a sequence have one law, and T independent indices
each. Every average is smooth and has few dimensions, so that the points of numeric.maths.sobol give
three or four digits, and the scatter of their replicates the error. All averages of one problem use
the same points: small differences of test errors keep their digits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from numeric.channel.softmax.whitened_index import visible_basis
from numeric.maths.domain import OutsideDomain
from numeric.maths.replicates import Estimate, half_width
from numeric.maths.sobol import Array, Sampling, gaussians
from numeric.model import float64 as generated
from numeric.problem.fields import Fields
from numeric.problem.labels import Labels

_REACH = 9.0  # standard deviations: a mass of 2e-19 is left out
_NODES = (
    160,
    240,
    360,
    540,
    810,
)  # trapezoidal rules per Gaussian: exponentially accurate for analytic integrands
_ACCURACY = 1e-10  # change of the average from one rule to the next
_SAMPLING, _STREAM = Sampling(2**14), 2


@dataclass(frozen=True)
class PairLosses:
    """Deterministic mean losses at two tokens (see MeanLosses).

    They raise OutsideDomain if not resolved.
    """

    labels: Labels

    def test_error(self, m: float, q: float) -> Estimate:
        """Return the mean loss; the error is that of the last step of the rule."""
        fields, beta = self.labels.fields(m, q), self.labels.beta

        def average(nodes: int) -> float:
            w, p, weights = self._fields(fields, nodes)
            return float(weights @ generated.sample_loss(w, w, p, p, beta) @ weights)

        return Estimate(converged_average(average), _ACCURACY)

    def fitted_error(self) -> Estimate:
        """Return zero: the loss is square."""
        return Estimate(0.0, 0.0)

    def multiple_slope(self, c: float) -> float:
        """Return the mean of the slope of the loss."""
        fields, beta = self.labels.fields(self.labels.q0, self.labels.q0), self.labels.beta

        def average(nodes: int) -> float:
            h0, p, weights = self._fields(fields, nodes)
            slope, _ = generated.loss_gradient(c * h0, c * h0, p, p, beta)
            return float(weights @ (2 * slope * h0) @ weights)  # the same from either component

        return converged_average(average)

    def least_test_error(self) -> float:
        """Return the mean variance of the label given the sequence."""
        q0, beta0 = self.labels.q0, self.labels.beta0
        signal, noisy, scale = np.sqrt(q0), np.sqrt(self.labels.rho - q0), index_deviation()

        def average(nodes: int) -> float:
            x, weights = gaussian_nodes(nodes)
            p = generated.label(scale * (signal * x[:, None] + noisy * x), beta0)
            mean = p @ weights
            losses, at_mean = (
                generated.sample_loss(0.0, 0.0, label, label, beta0) for label in (p, mean)
            )
            return float(
                weights @ generated.least_loss(losses @ weights, at_mean)
            )  # whatever the prediction

        return converged_average(average)

    def mismatch(self, c: float) -> float:
        """Return the difference of two test errors."""
        return (
            self.test_error(*generated.multiple_overlaps(c, self.labels.q0)).value
            - self.least_test_error()
        )

    def _fields(self, fields: Fields, nodes: int) -> tuple[Array, Array, Array]:
        """Return student index, label and weights: of what the label sees along the first axis, of
        the rest along the second.
        """
        (x, weights), scale = gaussian_nodes(nodes), index_deviation()
        w = scale * (fields.teacher * x[:, None] + fields.independent * x)
        return w, generated.label(fields.target * scale * x, self.labels.beta0)[:, None], weights


def converged_average(average: Callable[[int], float]) -> float:
    """Return the average by the first rule that the one before it agrees with."""
    before = average(_NODES[0])
    for nodes in _NODES[1:]:
        value = average(nodes)
        if abs(value - before) <= _ACCURACY:
            return value
        before = value
    raise OutsideDomain(
        "test error not resolved by the finest rule: lower beta, beta0 or the overlaps"
    )


@lru_cache(maxsize=8)
def gaussian_nodes(nodes: int) -> tuple[Array, Array]:
    """Return nodes and weights of a standard Gaussian."""
    x = np.linspace(-_REACH, _REACH, nodes)
    weights = np.exp(-(x**2) / 2)
    return x, weights / weights.sum()


def index_deviation() -> float:
    """Return the standard deviation per unit of one visible index."""
    L11, L12, _, _ = generated.principal_axes()
    return float(np.hypot(L11, L12))


@dataclass(frozen=True)
class RowLosses:
    """Sampled mean losses at any number of tokens, row by row (see MeanLosses)."""

    labels: Labels

    def test_error(self, m: float, q: float) -> Estimate:
        """Return the mean loss, with the scatter of replicates."""
        w, y = self._rows(m, q)
        residual = generated.residual(scipy.special.softmax(self.labels.beta * w, axis=-1), y)
        return self._mean(generated.entry_loss(residual))

    def fitted_error(self) -> Estimate:
        """Return zero: the loss is square."""
        return Estimate(0.0, 0.0)

    def multiple_slope(self, c: float) -> float:
        """Return the mean of the slope of the loss of a row."""
        beta, (h0, y) = self.labels.beta, self._rows(self.labels.q0, self.labels.q0)
        prediction = scipy.special.softmax(beta * c * h0, axis=-1)
        residual = generated.residual(prediction, y)
        along = np.sum(prediction * residual, axis=-1, keepdims=True)
        return self._mean(generated.row_slope(prediction, residual, along, beta) * h0).value

    def least_test_error(self) -> float:
        """Return the mean product of two labels of one sequence, whose noises are independent: no
        mean needs to be known.
        """
        _, one, two = self._sequence()
        return self._mean(generated.label_spread(one, two)).value

    def mismatch(self, c: float) -> float:
        """Return a mean over two labels of one sequence."""
        h0, one, two = self._sequence()
        prediction = scipy.special.softmax(self.labels.beta * c * h0, axis=-1)
        return self._mean(generated.residual_product(prediction, one, two)).value

    def _rows(self, m: float, q: float) -> tuple[Array, Array]:
        """Return rows of the student's index and of the label, each of shape (points, T)."""
        fields, (gamma1, gamma2, _) = self.labels.fields(m, q), independent_rows(self.labels.tokens)
        w = fields.teacher * gamma1 + fields.independent * gamma2
        return w, scipy.special.softmax(self.labels.beta0 * (fields.target * gamma1), axis=-1)

    def _sequence(self) -> tuple[Array, Array, Array]:
        """Return a row of the target's index, and of two labels with independent noise."""
        q0, beta0 = self.labels.q0, self.labels.beta0
        h0, *independent = (np.sqrt(q0) * gamma for gamma in independent_rows(self.labels.tokens))
        spread = np.sqrt((self.labels.rho - q0) / q0)
        one, two = (
            scipy.special.softmax(beta0 * (h0 + spread * gamma), axis=-1) for gamma in independent
        )
        return h0, one, two

    def _mean(self, entries: Array) -> Estimate:
        """Return the mean over the points of T equal rows, and half the width of its confidence
        interval.
        """
        rows = np.sum(entries, axis=-1)
        means = self.labels.tokens * rows.reshape(_SAMPLING.replicates, -1).mean(axis=1)
        return Estimate(float(means.mean()), float(half_width(means)))


def independent_rows(tokens: int) -> Array:
    """Return three independent rows of the index per unit, shape (3, points, tokens), up to a
    constant added to a row.
    """
    diagonal, offdiagonal, _ = generated.index_variances()
    scale = np.sqrt([float(diagonal)] + [float(offdiagonal)] * (tokens - 1))
    points = gaussians(3 * (tokens - 1), _SAMPLING, _STREAM).reshape(-1, 3, tokens - 1)
    return np.moveaxis(points @ visible_basis(scale).T, 1, 0) * scale
