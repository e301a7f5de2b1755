"""Test errors of a student of given overlaps, one interface whatever the number of tokens and the law of the indices."""

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
    """How students predict fresh labels of one target. Theory note, sections 3, 7 and 10."""

    def test_error(self, overlaps: Overlaps) -> Estimate:
        """E ||sigma_beta0(z) - sigma_beta(w)||^2 per sample over the fields (w, z) of these overlaps.

        Raises:
            OutsideDomain: overlaps that no pair of matrices has, or inverse temperatures too large for the average.
        """
        ...

    def fitted_error(self) -> Estimate:
        """Mean loss where the visible index is that of the label: zero for a square loss, entropy of the label for cross-entropy."""
        ...

    def best_multiple(self) -> BestMultiple:
        """The multiple of the target of least test error: what infinitely many samples teach.

        Raises:
            OutsideDomain: the minimum is outside the range searched, or an average cannot be resolved.
        """
        ...

    def excess_error(self, solution: Solution, overlaps: Overlaps) -> Estimate:
        """Test error of a solution over that of the best multiple, on the same points where it is sampled.

        Raises:
            OutsideDomain: as `best_multiple`.
        """
        ...


def best_prediction(problem: Problem) -> MeanLosses:
    """Return mean losses of a problem: what the best prediction of its labels reaches, and what a multiple of the target adds."""
    return channel_of(problem).losses()


def prediction_of(problem: Problem) -> Prediction:
    """Return the prediction that suits the law of a problem's indices."""
    return (
        LeadingPrediction.of(problem)
        if problem.leading
        else GaussianPrediction(channel_of(problem).losses())
    )
