"""The weight decay of least test error at a sample ratio (theory note, section 6: each parametrisation at its own optimum)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy

from numeric.channel.rules import coarse_rules
from numeric.problem.conjugates import Conjugates
from numeric.problem.problem import Problem, require_problem
from numeric.problem.solution import NotConverged, Solution, Status
from numeric.saddle.equations import SaddleMap
from numeric.saddle.estimator import reduced, upper_edge
from numeric.saddle.solve import solve

DECAY_RATIO = 3.0  # between the decays of the first search
MAX_RELATIVE_ERROR = 1e-2  # relative error of what is left of an overlap or an error, from which on smaller decays tell nothing
MIN_DECAY = 1e-9  # of the largest decay: below it the limit 0 is as good as solved
TOLERANCE = 1e-2  # of log lambda, default: the test error is flat at its minimum, and then known to its square


@dataclass(frozen=True)
class Optimum:
    """Weight decay of least test error, its solution, and the half-width of log lambda on which the error is minimal within its own
    error; lambda is 0 where the error falls all the way to vanishing decay.
    """

    decay: float
    solution: Solution
    uncertainty: float


def optimal_lambda(
    problem: Problem, tolerance: float = TOLERANCE, accuracy: float | None = None
) -> Optimum:
    """Minimise the test error over lambda; the problem's own lambda_ is not used.

    Decays fall from the largest at which anything is learned while the test error falls; then the bracket is narrowed to
    `tolerance` in log lambda. Where the error still falls at the smallest decays of factorised training, the limit 0 is the optimum.

    Raises:
        NotConverged: a point of the search was not solved.
        ValueError: the tolerance is not positive.

    Source: arXiv 2509.24914, Figure 2 (which selects lambda by cross-validation).
    """
    require_problem(problem)
    if not tolerance > 0:
        raise ValueError(f"tolerance = {tolerance!r}: must be positive; use 1e-2")
    path = list(_descent(problem, accuracy))
    best = min(range(len(path)), key=lambda k: path[k].test_error)
    if best == len(path) - 1:
        return Optimum(path[best].problem.lambda_, path[best], float("inf"))
    edges = np.log(
        [
            path[best + 1].problem.lambda_ or path[best].problem.lambda_ / DECAY_RATIO,
            _upper(path, best),
        ]
    )

    def error(log_decay: float) -> float:
        return _solve(
            replace(problem, lambda_=float(np.exp(log_decay))), path[best], accuracy
        ).test_error

    found = scipy.optimize.minimize_scalar(
        error, bounds=tuple(edges), method="bounded", options={"xatol": tolerance, "maxiter": 60}
    )
    if not found.success:
        raise NotConverged(
            f"alpha = {problem.alpha:g}: the search for the optimal lambda ended before its tolerance"
        )
    solution = _solve(replace(problem, lambda_=float(np.exp(found.x))), path[best], accuracy)
    return Optimum(solution.problem.lambda_, solution, tolerance + _flatness(path, best, solution))


def optimum_between(
    left: Optimum, _right: Optimum, alpha: float, tolerance: float = TOLERANCE
) -> Optimum:
    """The optimum of a figure between two neighbours along alpha; its decay is NaN where it was not found."""
    try:
        return optimal_lambda(left.solution.problem.at(alpha), tolerance)
    except NotConverged:
        return replace(left, decay=float("nan"))


def _upper(path: list[Solution], best: int) -> float:
    return path[best - 1].problem.lambda_ if best else DECAY_RATIO * path[best].problem.lambda_


def _flatness(path: list[Solution], best: int, optimum: Solution) -> float:
    """Half-width of log lambda within which the parabola through the neighbours rises by less than the error of the test error."""
    near = path[max(0, best - 1) : best + 2]
    curvature = max(
        (2 * (s.test_error - optimum.test_error) / np.log(s.problem.lambda_ / optimum.problem.lambda_) ** 2
         for s in near if s.problem.lambda_ and s.problem.lambda_ != optimum.problem.lambda_),
        default=0.0,
    )  # fmt: skip
    return (
        float(np.sqrt(2 * optimum.errors["test_error"] / curvature))
        if curvature > 0
        else float("inf")
    )


def _descent(problem: Problem, accuracy: float | None) -> Iterator[Solution]:
    """Solutions at falling decays until the test error has risen twice, or decay has as good as vanished."""
    decay = largest = largest_decay(problem)
    solution: Solution | None = None
    lowest, risen = float("inf"), 0
    while risen < 2 and decay > MIN_DECAY * largest:
        decay /= DECAY_RATIO
        found = solve(replace(problem, lambda_=decay), solution, accuracy)
        if solution is not None and (
            found.status is Status.INACCURATE or _is_spent(solution, found)
        ):
            break  # what is left of the error is below the channel's
        solution = found.unwrap()
        risen = risen + 1 if solution.test_error > lowest else 0
        lowest = min(lowest, solution.test_error)
        yield solution
    if risen < 2 and problem.has_zero_decay:
        yield _solve(replace(problem, lambda_=0.0), solution, accuracy)


def _is_spent(solution: Solution, next_: Solution) -> bool:
    """Whether the next decay has no value and this one hardly: without noise, beyond recovery, S0 itself is learned at the end."""
    return not next_.trusted and solution.error_estimate > MAX_RELATIVE_ERROR


def largest_decay(problem: Problem) -> float:
    """Decay beyond which S = 0; for direct training, where there is none, a decay at which little is learned."""
    saddle = SaddleMap(replace(problem, lambda_=1.0), coarse_rules(problem)[0])
    conjugates = Conjugates.unpack(saddle.unlearned(), problem)
    if not problem.trains_factors:
        return 100 * conjugates.Vh
    at = reduced(conjugates, saddle.problem)  # its threshold is proportional to lambda
    return upper_edge(problem, at.v) / at.b


def _solve(problem: Problem, start: Solution | None, accuracy: float | None) -> Solution:
    return solve(problem, start, accuracy).unwrap()
