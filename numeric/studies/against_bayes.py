"""What empirical risk minimisation costs against the Bayes optimum, along the sample ratio."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from numeric.maths.domain import OutsideDomain
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution
from numeric.saddle.curve import learning_curve
from numeric.studies.bayes_estimation_error import bayes_error


class CostPoint(NamedTuple):
    """Estimation errors (eigenvalue^2) at one sample ratio."""

    solution: Solution
    bayes_error: float | None

    @property
    def ratio(self) -> float:
        """Error of empirical risk minimisation over the least one; infinite where the optimum is exact, NaN where unknown."""
        if self.bayes_error is None:
            return float("nan")
        return self.solution.estimation_error / self.bayes_error if self.bayes_error else float("inf")


def cost_curve(
    problem: Problem, alphas: Sequence[float], observe: Callable[[Iterable[float]], Iterable[float]] = iter
) -> list[CostPoint]:
    """Learned and optimal errors at each sample ratio; `observe` wraps the loop for a progress bar.

    Raises:
        InvalidParameter: a model without a Bayes optimum.
    """
    return [CostPoint(solution, _optimum(solution.problem)) for solution in learning_curve(problem, alphas, observe)]


def _optimum(problem: Problem) -> float | None:
    """Least error, None where double precision does not reach it."""
    try:
        return bayes_error(problem.alpha, problem.target, problem.noise, problem.tokens, problem.model)
    except OutsideDomain:
        return None
