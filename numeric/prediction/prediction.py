"""Test errors of a student of given overlaps, for any number of tokens and law of the indices."""

from typing import Protocol

from numeric.channel.best_multiple import BestMultiple, MeanLosses
from numeric.channel.rules import channel_of
from numeric.maths.replicates import Estimate
from numeric.prediction.gaussian_indices import GaussianPrediction
from numeric.prediction.leading_features import LeadingPrediction
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution


class Prediction(Protocol):
    """Test errors of students of one target (theory note, sections 3, 7 and 10)."""

    def test_error(self, overlaps: Overlaps) -> Estimate:
        """Return E ||sigma_beta0(z) - sigma_beta(w)||^2 per sample over the fields (w, z).

        Raises:
            OutsideDomain: no pair of matrices has these overlaps, or the inverse temperatures are
                too large.
        """

    def fitted_error(self) -> Estimate:
        """Return the mean loss of a student with the visible index of the label.

        It is zero for a square loss and the entropy of the label for cross-entropy.
        """

    def best_multiple(self) -> BestMultiple:
        """Return the multiple of the target with the least test error.

        A student learns it from infinitely many samples.

        Raises:
            OutsideDomain: the minimum is outside the search range, or an average cannot be
                resolved.
        """

    def excess_error(self, solution: Solution, overlaps: Overlaps) -> Estimate:
        """Return the test error of a solution minus the one of the best multiple.

        Sampled errors use the same points.

        Args:
            solution: solution of the saddle-point equations.
            overlaps: its order parameters.

        Raises:
            OutsideDomain: the best multiple is not found.
        """


def best_prediction(problem: Problem) -> MeanLosses:
    """Return the mean losses of the best prediction and of multiples of the target."""
    return channel_of(problem).losses()


def prediction_of(problem: Problem) -> Prediction:
    """Return the prediction that suits the law of a problem's indices."""
    if problem.leading:
        return LeadingPrediction.of(problem)
    return GaussianPrediction(channel_of(problem).losses())
