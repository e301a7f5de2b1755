"""Comparison of empirical risk minimisation with the Bayes optimum along the sample ratio alpha."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from attention_erm.runtime.errors import NoAnswer
from numeric.channel.classification import Classification, optimal_classification
from numeric.engines.interrupted import attach_partial_result, map_partial_result
from numeric.maths.domain import OutsideDomain
from numeric.prediction.posterior_prediction import PosteriorErrors, posterior_errors
from numeric.problem.problem import Problem
from numeric.problem.solution import NotConverged, Solution
from numeric.saddle.curve import Watch, learning_curve, solve_between
from numeric.studies.bayes_estimation_error import bayes_error, require_bayes
from numeric.studies.optimal_decay import TOLERANCE, Optimum, optimal_lambda


class CostPoint(NamedTuple):
    """Estimation errors (eigenvalue^2) at one sample ratio.

    Attributes:
        solution: solution of the learned map.
        bayes_error: Bayes-optimal error; None if it is beyond double precision.
    """

    solution: Solution
    bayes_error: float | None

    @property
    def ratio(self) -> float:
        """Learned error / Bayes-optimal error; infinite if the latter is 0, NaN if it is
        unknown.
        """
        if self.bayes_error is None:
            return float("nan")
        error = self.solution.estimation_error
        return error / self.bayes_error if self.bayes_error else float("inf")


def cost_curve(problem: Problem, alphas: Sequence[float], watch: Watch = iter) -> list[CostPoint]:
    """Compute the learned and the Bayes-optimal estimation error at each sample ratio.

    Args:
        problem: the problem; its alpha is not used.
        alphas: sample ratios, positive.
        watch: wraps the iterable of sample ratios, for a progress bar.

    Raises:
        InvalidParameter: the model has no Bayes optimum.
        Interrupted: by Ctrl-C; contains the points computed until then.
    """
    optima: dict[float, float | None] = {}

    def with_optima(values: Iterable[float]) -> Iterable[float]:
        for alpha in watch(values):
            optima[alpha] = _bayes_error_or_none(problem.at(alpha))
            yield alpha

    def points(solutions: Sequence[Solution]) -> list[CostPoint]:
        return [CostPoint(solution, optima[solution.problem.alpha]) for solution in solutions]

    with map_partial_result(points):
        return points(learning_curve(problem, alphas, with_optima))


def cost_between(left: CostPoint, right: CostPoint, alpha: float) -> CostPoint:
    """Compute an extra point of a figure between two neighbours on a cost curve.

    Args:
        left: neighbour at a smaller sample ratio.
        right: neighbour at a larger sample ratio.
        alpha: sample ratio of the new point.
    """
    solution = solve_between(left.solution, right.solution, alpha)
    return CostPoint(solution, _bayes_error_or_none(solution.problem))


def _bayes_error_or_none(problem: Problem) -> float | None:
    """Return the Bayes-optimal error, or None if it is beyond double precision or not unique."""
    try:
        return bayes_error(problem)
    except (OutsideDomain, NoAnswer):
        return None


class BayesPoint(NamedTuple):
    """Bayes optimum, and empirical risk minimisation at its best weight decay, at one sample ratio.

    A field is None if it could not be computed, or, of the last one, if labels are no classes.

    Attributes:
        problem: the problem.
        bayes_error: least estimation error, eigenvalue^2.
        predictions: test errors of predictions from the posterior.
        learned: solution at the weight decay of least test error.
        classes: figures of the predictor of the most likely class.
    """

    problem: Problem
    bayes_error: float | None
    predictions: PosteriorErrors | None
    learned: Optimum | None
    classes: Classification | None = None

    def record(self) -> dict[str, float | None]:
        """Return all numbers by name; None for a missing one."""
        optimal, plug_in = self.predictions or (None, None)
        solution = self.learned.solution if self.learned else None
        figures = {}
        for name in self.problem.label_quantities:
            if name != "calibration":  # that of the best predictor is 0
                figures[f"bayes_{name}"] = getattr(self.classes, name, None)
            figures[name] = getattr(solution, name, None)
        return {
            "alpha": self.problem.alpha,
            "bayes_error": self.bayes_error,
            "bayes_test_error": optimal,
            "plug_in_test_error": plug_in,
            "lambda": self.learned.decay if self.learned else None,
            "estimation_error": solution.estimation_error if solution else None,
            "test_error": solution.test_error if solution else None,
            **figures,
        }


def bayes_curve(
    problem: Problem, alphas: Sequence[float], watch: Watch = iter, tolerance: float = TOLERANCE
) -> list[BayesPoint]:
    """Compute Bayes-optimal errors, and learned errors at the best weight decay, along alpha.

    Args:
        problem: the problem; its alpha and its weight decay are not used.
        alphas: sample ratios, positive.
        watch: wraps the iterable of sample ratios, for a progress bar.
        tolerance: tolerance of log lambda.

    Raises:
        InvalidParameter: the model has no Bayes optimum.
        Interrupted: by Ctrl-C; contains the points computed until then.
    """
    require_bayes(problem.model)
    problem.require_isotropic("the Bayes optimum")
    points: list[BayesPoint] = []
    with attach_partial_result(lambda: points):
        for alpha in watch(alphas):
            here = problem.at(alpha)
            error, predictions = _bayes_error_or_none(here), None
            classes, learned = None, None
            if error is not None:
                with suppress(OutsideDomain):
                    predictions = posterior_errors(here, error)
                if here.label_quantities:
                    classes = optimal_classification(here, error)
            with suppress(NotConverged):
                learned = optimal_lambda(here, tolerance)
            points.append(BayesPoint(here, error, predictions, learned, classes))
    return points
