"""The number of samples at which the learning curve reaches an error: the question of the curve in
the other direction.
"""

import math
from dataclasses import dataclass

import scipy

from attention_erm.runtime.errors import InvalidParameter, NoAnswer
from numeric.maths.domain import count, positive
from numeric.problem.problem import Problem, require_problem
from numeric.problem.solution import Solution
from numeric.saddle.solve import solve
from numeric.studies.decompose import decompose
from numeric.studies.optimal_decay import optimal_lambda
from numeric.studies.spectrum import learned_spectrum

#: First and last sample ratio of the search, and the factor between its points.
LEAST_ALPHA, MOST_ALPHA, FACTOR = 1e-3, 1e6, 1.6
ROOT_TOLERANCE = 1e-9  # of log(alpha), where error bars are larger
BEST_TOLERANCE = 1e-5  # the same at the best weight decay, of which each point takes many solves
BEST_FACTOR = 4.0  # between points of the search at the best weight decay
BEST_DECAY_TOLERANCE = 3e-3  # of log(lambda) at the best weight decay; the error is flat there
COUNT_TOLERANCE = 1e-6  # of log(alpha), where a feature leaves the bulk
SLOPE_STEP = 1e-3  # of log(alpha), for the slope at the result


class NotReached(NoAnswer):
    """The curve does not reach the value; the message gives the limit of many samples."""


@dataclass(frozen=True)
class SamplesFor:
    """Sample ratio at which a learning curve first reaches a value.

    Attributes:
        quantity: "test_error", "estimation_error", "excess" or "recovered".
        value: the value to reach.
        alpha: sample ratio n/d^2.
        error: error bar of alpha: the error bar of the quantity over the slope of the curve.
        solution: solution at this alpha, at the weight decay used there.
    """

    quantity: str
    value: float
    alpha: float
    error: float
    solution: Solution

    def samples(self, dim: int) -> int:
        """Return n = alpha d^2 in dimension d, rounded up."""
        return math.ceil(self.alpha * count("dim", dim) ** 2)


def samples_for(
    problem: Problem,
    *,
    test_error: float | None = None,
    estimation_error: float | None = None,
    excess: float | None = None,
    recovered: int | None = None,
    best_decay: bool = False,
    accuracy: float | None = None,
) -> SamplesFor:
    """Find the smallest sample ratio at which the learning curve reaches a value.

    The curve is followed from few samples to many, and the first crossing is refined. Behind it
    the error may rise again, as it does at an interpolation peak.

    Args:
        problem: the problem; its alpha is not used.
        test_error: mean test loss of a sample, to be reached.
        estimation_error: ||S - S0||^2/d, to be reached.
        excess: test error above that of the best predictor E[y | X], to be reached.
        recovered: number of eigenvalues of S outside its bulk, to be reached.
        best_decay: take the weight decay of least test error at each alpha; that of the problem is
            then not used.
        accuracy: relative accuracy of each solution; default: that of `solve`.

    Returns:
        The sample ratio with its error bar. For `recovered` it is the width of the last interval.

    Raises:
        InvalidParameter: not exactly one of the four values is given, or it is not positive.
        NotReached: no number of samples reaches it; the message gives the limit.
        NotConverged: a point of the curve was not solved.

    >>> from attention_erm import MarchenkoPastur, Problem
    >>> from numeric import samples_for
    >>> problem = Problem(alpha=1, target=MarchenkoPastur(0.5), lambda_=0.05, noise=0.5)
    >>> found = samples_for(problem, test_error=0.1)
    >>> round(found.alpha, 4), found.samples(100)
    (0.8968, 8968)
    """
    require_problem(problem)
    stated = {
        "test_error": test_error,
        "estimation_error": estimation_error,
        "excess": excess,
        "recovered": recovered,
    }
    given = [(name, value) for name, value in stated.items() if value is not None]
    if len(given) != 1:
        names = ", ".join(name for name, _ in given) or "nothing"
        raise InvalidParameter("samples_for", names, f"needs one of {', '.join(stated)}", "give it")
    ((quantity, wanted),) = given
    if quantity == "recovered":
        wanted = count("recovered", wanted)
    wanted = positive(quantity, wanted)
    curve = _Curve(problem, quantity, best_decay, accuracy)
    before, after = (_bracket_of_best if best_decay else _bracket)(curve, wanted)
    if curve.counts:
        return _bisected(curve, wanted, before, after)
    ends = (math.log(before.problem.alpha), math.log(after.problem.alpha))
    root = scipy.optimize.brentq(
        lambda log_alpha: curve.excess_over(wanted, math.exp(log_alpha)),
        *ends,
        xtol=BEST_TOLERANCE if best_decay else ROOT_TOLERANCE,
    )
    alpha = math.exp(root)
    found = curve.at(alpha)
    left, right = (curve.value(curve.at(alpha * math.exp(s * SLOPE_STEP))) for s in (-1, 1))
    slope = abs(right - left) / (2 * SLOPE_STEP)
    gap = abs(curve.value(found) - wanted) + curve.error(found)
    return SamplesFor(quantity, wanted, alpha, alpha * gap / slope if slope else math.inf, found)


@dataclass
class _Curve:
    """Quantity along the sample ratio, each solution from the last one."""

    problem: Problem
    quantity: str
    best_decay: bool
    accuracy: float | None
    last: Solution | None = None

    @property
    def counts(self) -> bool:
        """True if the quantity is a number of eigenvalues."""
        return self.quantity == "recovered"

    def at(self, alpha: float) -> Solution:
        problem = self.problem.at(alpha)
        if self.best_decay:
            return optimal_lambda(problem, BEST_DECAY_TOLERANCE, self.accuracy).solution
        self.last = solve(problem, self.last, self.accuracy).unwrap()
        return self.last

    def value(self, solution: Solution) -> float:
        if self.counts:
            return float(len(learned_spectrum(solution).outliers))
        if self.quantity == "excess":
            return solution.test_error - decompose(solution).least
        return float(getattr(solution, self.quantity))

    def error(self, solution: Solution) -> float:
        name = "test_error" if self.quantity == "excess" else self.quantity
        return solution.errors.get(name, 0.0)

    def excess_over(self, wanted: float, alpha: float) -> float:
        return self.value(self.at(alpha)) - wanted

    def reached(self, solution: Solution, wanted: float) -> bool:
        value = self.value(solution)
        return value >= wanted if self.counts else value <= wanted


def _bracket(curve: _Curve, wanted: float) -> tuple[Solution, Solution]:
    """Return neighbouring solutions, before and after the curve reaches the value.

    Raises:
        NotReached: it does so nowhere, or with no samples at all.
    """
    alpha, before = LEAST_ALPHA, None
    while alpha < MOST_ALPHA:
        solution = curve.at(alpha)
        if curve.reached(solution, wanted):
            if before is None:
                raise _not_reached(curve, wanted, solution, True)
            return before, solution
        before, alpha = solution, alpha * FACTOR
    assert before is not None  # the search has points
    raise _not_reached(curve, wanted, before, False)


def _bracket_of_best(curve: _Curve, wanted: float) -> tuple[Solution, Solution]:
    """Return neighbours as `_bracket` does, at the best weight decay, where the test error falls
    with every sample: from alpha = 1 in the direction of the crossing.
    """
    solution = curve.at(1.0)
    reached = curve.reached(solution, wanted)
    alpha = 1.0
    while LEAST_ALPHA < alpha < MOST_ALPHA:
        alpha *= 1 / BEST_FACTOR if reached else BEST_FACTOR
        other = curve.at(alpha)
        if curve.reached(other, wanted) != reached:
            return (other, solution) if reached else (solution, other)
        solution = other
    raise _not_reached(curve, wanted, solution, reached)


def _not_reached(curve: _Curve, wanted: float, last: Solution, reached: bool) -> NotReached:
    value, alpha = curve.value(last), last.problem.alpha
    if reached:
        return NotReached(
            f"{curve.quantity} = {wanted:g}: reached with hardly any samples, {value:.6g} at "
            f"alpha = {alpha:.1e}; ask for {'more' if curve.counts else 'a smaller error'}"
        )
    return NotReached(
        f"{curve.quantity} = {wanted:g}: not reached: the limit of many samples is {value:.6g} "
        f"(at alpha = {alpha:.1e}); {'ask for fewer' if curve.counts else 'give a larger error'}"
    )


def _bisected(curve: _Curve, wanted: float, before: Solution, after: Solution) -> SamplesFor:
    """Narrow the interval in which a number of eigenvalues is reached."""
    low, high = math.log(before.problem.alpha), math.log(after.problem.alpha)
    while high - low > COUNT_TOLERANCE:
        middle = curve.at(math.exp((low + high) / 2))
        if curve.reached(middle, wanted):
            high, after = (low + high) / 2, middle
        else:
            low = (low + high) / 2
    alpha = after.problem.alpha
    return SamplesFor("recovered", wanted, alpha, alpha * (high - low), after)
