"""Averages over the labels at two tokens (theory note, sections 3 and 7).

The visible indices (u1, u2) are exchangeable and the loss is a sum over them, so the average needs one component of each pair
only: twice its own share, which the generated loss gives at u2 = u1, p2 = p1. For more tokens see numeric.prediction.row_test_error.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from numeric.laws.law import Array
from numeric.maths.domain import OutsideDomain
from numeric.model import float64 as generated
from numeric.prediction.label_parameters import Estimate, Labels
from numeric.problem.fields import Fields

_REACH = 9.0  # standard deviations: a mass of 2e-19 is left out
_NODES = (160, 240, 360, 540, 810)  # trapezoidal rules per Gaussian: exponentially accurate for analytic integrands
_ACCURACY = 1e-10  # change of the average from one rule to the next


@dataclass(frozen=True)
class PairAverages:
    """Deterministic averages at two tokens (see `Averages`). They raise OutsideDomain if not resolved."""

    labels: Labels

    def test_error(self, m: float, q: float) -> Estimate:
        """Of the overlaps m and q; the error is that of the last step of the rule."""
        fields, beta = self.labels.fields(m, q), self.labels.beta

        def average(nodes: int) -> float:
            w, p, weights = self._fields(fields, nodes)
            return float(weights @ generated.sample_loss(w, w, p, p, beta) @ weights)

        return Estimate(settled(average), _ACCURACY)

    def multiple_slope(self, c: float) -> float:
        """By the slope of the loss."""
        fields, beta = self.labels.fields(self.labels.q0, self.labels.q0), self.labels.beta

        def average(nodes: int) -> float:
            h0, p, weights = self._fields(fields, nodes)
            slope, _ = generated.loss_gradient(c * h0, c * h0, p, p, beta)
            return float(weights @ (2 * slope * h0) @ weights)  # the same from either component

        return settled(average)

    def _fields(self, fields: Fields, nodes: int) -> tuple[Array, Array, Array]:
        """Student index, label and weights: of what the label sees along the first axis, of the rest along the second."""
        (x, weights), scale = gaussian_nodes(nodes), index_deviation()
        w = scale * (fields.teacher * x[:, None] + fields.independent * x)
        return w, generated.label(fields.target * scale * x, self.labels.beta0)[:, None], weights


def settled(average: Callable[[int], float]) -> float:
    """The average by the first rule that the one before it agrees with."""
    before = average(_NODES[0])
    for nodes in _NODES[1:]:
        value = average(nodes)
        if abs(value - before) <= _ACCURACY:
            return value
        before = value
    raise OutsideDomain("test error not resolved by the finest rule: lower beta, beta0 or the overlaps")


@lru_cache(maxsize=8)
def gaussian_nodes(nodes: int) -> tuple[Array, Array]:
    """Nodes and weights of a standard Gaussian."""
    x = np.linspace(-_REACH, _REACH, nodes)
    weights = np.exp(-(x**2) / 2)
    return x, weights / weights.sum()


def index_deviation() -> float:
    """Standard deviation per unit of one visible index."""
    L11, L12, _, _ = generated.principal_axes()
    return float(np.hypot(L11, L12))
