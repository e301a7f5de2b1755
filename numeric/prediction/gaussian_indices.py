"""Test errors where all indices are Gaussian: averages over a pair of visible indices at two tokens, over a row at more."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from numeric.model import float64 as generated
from numeric.prediction.best_multiple import BestMultiple, root_of_slope
from numeric.prediction.label_parameters import Estimate, Labels
from numeric.prediction.pair_test_error import PairAverages
from numeric.prediction.row_test_error import RowAverages
from numeric.problem.overlaps import Overlaps
from numeric.problem.solution import Solution


class Averages(Hashable, Protocol):
    """Averages over the fields of one sequence."""

    @property
    def labels(self) -> Labels:
        """What the target's labels are."""
        ...

    def test_error(self, m: float, q: float) -> Estimate:
        """E ||sigma_beta0(z) - sigma_beta(w)||^2 per sample at overlaps m and q (eigenvalue^2)."""
        ...

    def multiple_slope(self, c: float) -> float:
        """Derivative in c of the test error of c S0, unit loss."""
        ...


@dataclass(frozen=True)
class GaussianPrediction:
    """Predictions from Gaussian indices (see Prediction)."""

    labels: Labels

    @property
    def averages(self) -> Averages:
        """Quadrature at two tokens; more are sampled."""
        return PairAverages(self.labels) if self.labels.tokens == 2 else RowAverages(self.labels)

    def test_error(self, overlaps: Overlaps) -> Estimate:
        """With the error of the average."""
        return self.averages.test_error(overlaps.m, overlaps.q)

    def fitted_error(self) -> Estimate:
        """Square loss."""
        return Estimate(0.0, 0.0)

    def best_multiple(self) -> BestMultiple:
        """By the root of the slope."""
        return _best_multiple(self.averages)

    def excess_error(self, solution: Solution, overlaps: Overlaps) -> Estimate:
        """With the errors of the solution and of the average."""
        value, averaging = self.test_error(overlaps)
        return Estimate(value - self.best_multiple().test_error, solution.errors["test_error"] + averaging)


@lru_cache(maxsize=64)
def _best_multiple(averages: Averages) -> BestMultiple:
    labels = averages.labels
    c = root_of_slope(averages.multiple_slope, labels.beta, labels.beta0)
    return BestMultiple(c, averages.test_error(*generated.multiple_overlaps(c, labels.q0)).value)
