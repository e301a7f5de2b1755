"""What label noise leaves to the best prediction E[y | X], and what a multiple of the target adds (theory note, section 7).

Two tokens by quadrature; more by two labels of one sequence, whose noises are independent, so that no mean needs to be known.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy

from numeric.maths.sobol import Array
from numeric.model import float64 as generated
from numeric.prediction.label_parameters import Labels
from numeric.prediction.pair_test_error import PairAverages, gaussian_nodes, index_deviation, settled
from numeric.prediction.row_test_error import RowAverages, independent_rows


class BestPrediction(Protocol):
    """E[y | X] of given labels."""

    def least_test_error(self) -> float:
        """E ||y - E[y | X]||^2 per sample: what the label noise leaves to any predictor; zero without noise inside the softmax."""
        ...

    def mismatch(self, c: float) -> float:
        """E ||sigma_beta(c h0) - E[y | X]||^2 per sample: what c S0 adds to the least test error."""
        ...


def best_prediction(labels: Labels) -> BestPrediction:
    """That of these labels."""
    return PairBest(labels) if labels.tokens == 2 else RowBest(labels)


@dataclass(frozen=True)
class PairBest:
    """At two tokens. Raises OutsideDomain where an average is not resolved."""

    labels: Labels

    def least_test_error(self) -> float:
        """The variance of the label given the sequence."""
        q0, beta0 = self.labels.q0, self.labels.beta0
        signal, noisy, scale = np.sqrt(q0), np.sqrt(self.labels.rho - q0), index_deviation()

        def average(nodes: int) -> float:
            x, weights = gaussian_nodes(nodes)
            p = generated.label(scale * (signal * x[:, None] + noisy * x), beta0)
            mean = p @ weights
            losses, at_mean = (generated.sample_loss(0.0, 0.0, label, label, beta0) for label in (p, mean))
            return float(weights @ generated.least_loss(losses @ weights, at_mean))  # whatever the prediction

        return settled(average)

    def mismatch(self, c: float) -> float:
        """The test error of c S0 beyond the least one."""
        overlaps = generated.multiple_overlaps(c, self.labels.q0)
        return PairAverages(self.labels).test_error(*overlaps).value - self.least_test_error()


@dataclass(frozen=True)
class RowBest:
    """At more tokens, row by row."""

    labels: Labels

    def least_test_error(self) -> float:
        """By two labels of one sequence."""
        _, one, two = self._sequence()
        return self._mean(generated.label_spread(one, two))

    def mismatch(self, c: float) -> float:
        """By two labels of one sequence."""
        h0, one, two = self._sequence()
        prediction = scipy.special.softmax(self.labels.beta * c * h0, axis=-1)
        return self._mean(generated.residual_product(prediction, one, two))

    def _mean(self, entries: Array) -> float:
        return RowAverages(self.labels).mean(np.sum(entries, axis=-1)).value

    def _sequence(self) -> tuple[Array, Array, Array]:
        """A row of the target's index, and of two labels with independent noise."""
        q0, beta0 = self.labels.q0, self.labels.beta0
        h0, *independent = (np.sqrt(q0) * gamma for gamma in independent_rows(self.labels.tokens))
        spread = np.sqrt((self.labels.rho - q0) / q0)
        one, two = (scipy.special.softmax(beta0 * (h0 + spread * gamma), axis=-1) for gamma in independent)
        return h0, one, two
