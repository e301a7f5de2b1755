"""Test errors if all indices are Gaussian."""

from dataclasses import dataclass

from numeric.channel.best_multiple import BestMultiple, MeanLosses, best_multiple
from numeric.maths.replicates import Estimate
from numeric.problem.overlaps import Overlaps
from numeric.problem.solution import Solution


@dataclass(frozen=True)
class GaussianPrediction:
    """Predictions from Gaussian indices (see Prediction)."""

    losses: MeanLosses

    def test_error(self, overlaps: Overlaps) -> Estimate:
        """Return the mean loss, with its numerical error."""
        return self.losses.test_error(overlaps.m, overlaps.q)

    def fitted_error(self) -> Estimate:
        """Return the mean loss, with its numerical error."""
        return self.losses.fitted_error()

    def best_multiple(self) -> BestMultiple:
        """Return the multiple at the root of the slope."""
        return best_multiple(self.losses)

    def excess_error(self, solution: Solution, overlaps: Overlaps) -> Estimate:
        """Return the excess; its error adds those of the solution and of the average.

        Args:
            solution: solution of the saddle-point equations.
            overlaps: its order parameters.
        """
        value, averaging = self.test_error(overlaps)
        error = solution.errors["test_error"] + averaging
        return Estimate(value - self.best_multiple().test_error, error)
