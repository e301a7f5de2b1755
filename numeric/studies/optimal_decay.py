"""Weight decay with the smallest test error, or with the fewest wrong labels (theory note, section
6: each parametrisation at its optimum).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy

from numeric.channel.rules import coarse_rules
from numeric.maths.domain import real, require
from numeric.problem.conjugates import Conjugates
from numeric.problem.problem import Problem, require_problem
from numeric.problem.solution import NotConverged, Solution, Status
from numeric.saddle.equations import SaddleMap
from numeric.saddle.estimator import reduced_variables, upper_edge
from numeric.saddle.solve import solve
from numeric.saddle.zero_decay import recovers

DECAY_RATIO = 3.0  # ratio of neighbouring decays in the first search
MIN_DECAY = 1e-9  # fraction of the largest decay; below it, only the limit 0 is solved
# Default tolerance of log lambda; an error is flat at its minimum, with an error of its square.
TOLERANCE = 1e-2
TEST_ERROR = "test_error"
#: Names of the errors of new samples that can be minimised.
ERRORS = (TEST_ERROR, "misclassification")


@dataclass(frozen=True)
class Optimum:
    """Weight decay with the smallest error of new samples.

    Attributes:
        decay: optimal lambda; 0 if the error decreases down to vanishing decay.
        solution: solution at this weight decay.
        uncertainty: half-width of the interval of log lambda in which the error is minimal within
            its error bar.
        error: name of the error, one of ERRORS.
    """

    decay: float
    solution: Solution
    uncertainty: float
    error: str = TEST_ERROR

    @property
    def least(self) -> float:
        """Return the smallest error."""
        return float(getattr(self.solution, self.error))


def optimal_lambda(
    problem: Problem,
    tolerance: float = TOLERANCE,
    accuracy: float | None = None,
    for_: str = TEST_ERROR,
) -> Optimum:
    """Minimise an error of new samples over the weight decay lambda.

    The search starts at the largest decay at which anything is learned, and reduces it as long as
    the error decreases. Then the bracket is narrowed. If the error still decreases at the smallest
    decays of factorised training, the limit 0 is the optimum.

    Args:
        problem: the problem; its weight decay is not used.
        tolerance: tolerance of log lambda.
        accuracy: relative accuracy of each solution; default: that of `solve`.
        for_: "test_error", the mean loss; or "misclassification", for labels that are classes.

    Raises:
        NotConverged: a point of the search has not converged.
        InvalidParameter: the tolerance is not between 1e-6 and 0.5, or the problem does not have
            this error.

    Source: arXiv 2509.24914, Figure 2 (which selects lambda by cross-validation).
    """
    require_problem(problem)
    tolerance = real("tolerance", tolerance)
    require(
        1e-6 <= tolerance <= 0.5, "tolerance", tolerance, "must lie from 1e-6 to 0.5", "use 1e-2"
    )
    require_error(problem, error := for_)
    path = list(_descent(problem, accuracy, error))
    best = min(range(len(path)), key=lambda k: getattr(path[k], error))
    decay = path[best].problem.lambda_
    if best == len(path) - 1:
        return Optimum(decay, path[best], float("inf"), error)
    lower = path[best + 1].problem.lambda_ or decay / DECAY_RATIO
    upper = path[best - 1].problem.lambda_ if best else DECAY_RATIO * decay

    def at(log_decay: float) -> Solution:
        there = replace(problem, lambda_=float(np.exp(log_decay)))
        return solve(there, path[best], accuracy).unwrap()

    found = scipy.optimize.minimize_scalar(
        lambda log_decay: getattr(at(log_decay), error),
        bounds=tuple(np.log([lower, upper])),
        method="bounded",
        options={"xatol": tolerance, "maxiter": 60},
    )
    if not found.success:
        raise NotConverged(
            f"alpha = {problem.alpha:g}: the search for the optimal lambda ended before its "
            "tolerance"
        )
    solution = at(found.x)
    near = path[max(0, best - 1) : best + 2]
    uncertainty = tolerance + _flatness(near, solution, error)
    return Optimum(solution.problem.lambda_, solution, uncertainty, error)


def require_error(problem: Problem, error: str) -> None:
    """Check that a problem has an error.

    Raises:
        InvalidParameter: it does not.
    """
    rule, way_out = f"must be one of {', '.join(ERRORS)}", "leave it out"
    require(error in ERRORS, "for_", error, rule, way_out)
    rule = f"is not defined for the model {problem.model}: its labels are no classes"
    known = error == TEST_ERROR or error in problem.label_quantities
    require(known, "for_", error, rule, way_out)


def optimum_between(
    left: Optimum, _right: Optimum, alpha: float, tolerance: float = TOLERANCE
) -> Optimum:
    """Compute an extra point of a figure between two neighbours along alpha.

    Args:
        left: a neighbour.
        _right: the other neighbour; not used.
        alpha: sample ratio of the new point.
        tolerance: tolerance of log lambda.

    Returns:
        The optimum; its decay is NaN if it was not found.
    """
    try:
        return optimal_lambda(left.solution.problem.at(alpha), tolerance, for_=left.error)
    except NotConverged:
        return replace(left, decay=float("nan"))


def _flatness(near: list[Solution], optimum: Solution, error: str) -> float:
    """Return the half-width of the interval of log lambda in which the parabola through neighbours
    increases by less than the error bar.
    """
    decay = optimum.problem.lambda_
    curvature = max(
        (
            2
            * (getattr(one, error) - getattr(optimum, error))
            / np.log(one.problem.lambda_ / decay) ** 2
            for one in near
            if one.problem.lambda_ not in (0, decay)
        ),
        default=0.0,
    )
    bar = optimum.errors[error]
    return float(np.sqrt(2 * bar / curvature)) if curvature > 0 else float("inf")


def _descent(problem: Problem, accuracy: float | None, error: str) -> Iterator[Solution]:
    """Yield solutions at decreasing decays, until the error has increased twice or the decay is
    below MIN_DECAY.
    """
    decay = largest = largest_decay(problem)
    solution: Solution | None = None
    lowest, increases = float("inf"), 0
    while increases < 2 and decay > MIN_DECAY * largest:
        decay /= DECAY_RATIO
        found = solve(replace(problem, lambda_=decay), solution, accuracy)
        # Without noise, beyond recovery, S converges to S0. The remaining error is then below the
        # accuracy of the channel, and this point has no value.
        if solution is not None and not found.trusted and _target_is_learned(found):
            break
        solution = found.unwrap()
        increases = increases + 1 if getattr(solution, error) > lowest else 0
        lowest = min(lowest, getattr(solution, error))
        yield solution
    if increases < 2 and problem.has_zero_decay:
        yield solve(replace(problem, lambda_=0.0), solution, accuracy).unwrap()


def _target_is_learned(solution: Solution) -> bool:
    """Return whether vanishing decay gives the target itself, so that no error is left to solve."""
    problem = solution.problem
    if solution.status is Status.INACCURATE:
        return True
    return problem.has_zero_decay and recovers(problem)


def largest_decay(problem: Problem) -> float:
    """Return the weight decay beyond which S = 0.

    Direct training has no such decay; a decay at which little is learned is returned.
    """
    saddle = SaddleMap(replace(problem, lambda_=1.0), coarse_rules(problem)[0])
    conjugates = Conjugates.unpack(saddle.unlearned(), problem)
    if not problem.trains_factors:
        return 100 * conjugates.Vh
    at = reduced_variables(conjugates, saddle.problem)  # the threshold is proportional to lambda
    return upper_edge(problem, at.v, at.shift) / at.b
