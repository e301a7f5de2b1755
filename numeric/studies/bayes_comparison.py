"""What empirical risk minimisation costs against the Bayes optimum, along the sample ratio."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from numeric.engines.interrupted import attach_partial_result, map_partial_result
from numeric.maths.domain import OutsideDomain
from numeric.prediction.posterior_prediction import PosteriorErrors, posterior_errors
from numeric.problem.problem import Problem
from numeric.problem.solution import NotConverged, Solution
from numeric.saddle.curve import learning_curve, solve_between
from numeric.studies.bayes_estimation_error import bayes_error, require_bayes
from numeric.studies.optimal_decay import TOLERANCE, Optimum, optimal_lambda


class CostPoint(NamedTuple):
    """Estimation errors (eigenvalue^2) at one sample ratio."""

    solution: Solution
    bayes_error: float | None

    @property
    def ratio(self) -> float:
        """Error of empirical risk minimisation over the least one; infinite where the optimum is exact, NaN where unknown."""
        if self.bayes_error is None:
            return float("nan")
        return (
            self.solution.estimation_error / self.bayes_error if self.bayes_error else float("inf")
        )


def cost_curve(
    problem: Problem,
    alphas: Sequence[float],
    observe: Callable[[Iterable[float]], Iterable[float]] = iter,
) -> list[CostPoint]:
    """Learned and optimal errors at each sample ratio; `observe` wraps the loop for a progress bar.

    Raises:
        InvalidParameter: a model without a Bayes optimum.
        Interrupted: with the points that had finished.
    """
    optima: dict[float, float | None] = {}

    def with_optima(values: Iterable[float]) -> Iterable[float]:
        for alpha in observe(values):
            optima[alpha] = _optimum(problem.at(alpha))
            yield alpha

    def beside(solutions: Sequence[Solution]) -> list[CostPoint]:
        return [CostPoint(solution, optima[solution.problem.alpha]) for solution in solutions]

    with map_partial_result(beside):
        return beside(learning_curve(problem, alphas, with_optima))


def cost_between(left: CostPoint, right: CostPoint, alpha: float) -> CostPoint:
    """A point of a figure between two neighbours on a cost curve, as `solve_between`."""
    solution = solve_between(left.solution, right.solution, alpha)
    return CostPoint(solution, _optimum(solution.problem))


def _optimum(problem: Problem) -> float | None:
    """Least error, None where double precision does not reach it."""
    try:
        return bayes_error(
            problem.alpha, problem.target, problem.noise, problem.tokens, problem.model
        )
    except OutsideDomain:
        return None


class BayesPoint(NamedTuple):
    """The Bayes optimum at one sample ratio, and empirical risk minimisation at its best weight decay; None where not reached."""

    problem: Problem
    bayes_error: float | None
    predictions: PosteriorErrors | None
    learned: Optimum | None

    def record(self) -> dict[str, float | None]:
        """As plain values by name; what was not reached is None."""
        optimal, plug_in = self.predictions or (None, None)
        solution = self.learned.solution if self.learned else None
        return {
            "alpha": self.problem.alpha,
            "bayes_error": self.bayes_error,
            "bayes_test_error": optimal,
            "plug_in_test_error": plug_in,
            "lambda": self.learned.decay if self.learned else None,
            "estimation_error": solution.estimation_error if solution else None,
            "test_error": solution.test_error if solution else None,
        }


def bayes_curve(
    problem: Problem,
    alphas: Sequence[float],
    observe: Callable[[Iterable[float]], Iterable[float]] = iter,
    tolerance: float = TOLERANCE,
) -> list[BayesPoint]:
    """Optimal errors beside learned ones at each sample ratio; `observe` wraps the loop, `tolerance` is that of the decay.

    Raises:
        InvalidParameter: a model without a Bayes optimum.
        Interrupted: with the points that had finished.
    """
    require_bayes(problem.model)
    points: list[BayesPoint] = []
    with attach_partial_result(lambda: points):
        for alpha in observe(alphas):
            points.append(_bayes_point(problem.at(alpha), tolerance))
    return points


def _bayes_point(problem: Problem, tolerance: float) -> BayesPoint:
    error = _optimum(problem)
    return BayesPoint(problem, error, _predictions(problem, error), _learned(problem, tolerance))


def _predictions(problem: Problem, error: float | None) -> PosteriorErrors | None:
    try:
        return None if error is None else posterior_errors(problem, error)
    except OutsideDomain:
        return None


def _learned(problem: Problem, tolerance: float) -> Optimum | None:
    try:
        return optimal_lambda(problem, tolerance)
    except NotConverged:
        return None
