"""Solver of the saddle-point equations at one point (theory note, section 3).

A solve finds the root on the coarsest channel rule by damped iterations with Anderson acceleration,
then by Newton's method, then by continuation from a weight decay at which little is learned. Finer
rules start from this root with its Jacobian. The Jacobian also gives the error of every quantity
from the errors of the channel.
"""

import logging
import time
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from numeric.channel.rules import coarse_rules
from numeric.maths.domain import OutsideDomain, real, require, require_kind
from numeric.maths.fixed_point import Outcome, Vector
from numeric.model import require_up_to_date
from numeric.problem.conjugates import Conjugates
from numeric.problem.problem import Problem, require_problem
from numeric.problem.solution import Solution, Status, failed_solution
from numeric.saddle.closed_channel import RESOLVED, ClosedChannel, has_closed_equations
from numeric.saddle.equations import SaddleMap
from numeric.saddle.estimator import estimator_of
from numeric.saddle.refine import Refinement, unlearned_solution, unsolved_solution
from numeric.saddle.search import Search
from numeric.saddle.zero_decay import interpolates, solve_interpolating

_LOG = logging.getLogger(__name__)

_FINAL = (Status.CONVERGED, Status.UNLEARNED, Status.UNSTABLE)
# Factor between weight decays, and their number, from which a point is solved in steps.
STEP, STEPS = 10**0.5, 10
FAR_STEPS = 20  # of Newton's method from S = 0
_NO_ROOT = (Status.STEP_LIMIT, Status.DIVERGED)


@dataclass(frozen=True)
class Solver:
    """Search for a root on a coarse channel rule, and its refinement."""

    search: Search = field(default_factory=Search)
    refinement: Refinement = field(default_factory=Refinement)

    # Overflow ends a solve with a status.
    @np.errstate(divide="ignore", over="ignore", invalid="ignore")
    def solve(
        self, problem: Problem, start: Solution | None = None, accuracy: float | None = None
    ) -> Solution:
        """Solve like the function `solve`, without checks of the arguments.

        The limit lambda -> 0 has its own equations below interpolation. Leading features start from
        the solution with Gaussian leading features, which is found faster and from farther away.

        Args:
            problem: the problem.
            start: solution at a nearby point.
            accuracy: requested relative error of every quantity.
        """
        if problem.lambda_ == 0:
            try:
                if interpolates(problem):
                    return solve_interpolating(problem)
            except OutsideDomain:  # sharp labels, or a law outside the range of double precision
                return failed_solution(problem, Status.DIVERGED)
        elif problem.leading and start is None:
            gaussian = self.solve(replace(problem, leading=0))
            if gaussian.trusted and gaussian.q > 0:
                start = replace(gaussian, strengths=tuple(problem.features[0].tolist()))
        return self._solve_ordinary(problem, start, accuracy)

    def _solve_ordinary(
        self, problem: Problem, start: Solution | None, accuracy: float | None
    ) -> Solution:
        """Solve with the coarsest rules in turn until one gives a final solution."""
        best: Solution | None = None
        for rule in coarse_rules(problem):
            saddle = SaddleMap(problem, rule)
            found = self._solve_from(saddle, start, accuracy)
            if found.status in _NO_ROOT:  # another kind of rule does not find a root either
                if best is not None:
                    return best
                continued = self._solve_from(saddle, start, accuracy, continued=True)
                best = max(found, continued, key=Solution.reliability)
                if best.status in _NO_ROOT and problem.has_kinks and not saddle.is_even:
                    # Where kinks hold all samples, iterations swing about the root ever farther.
                    best = max(best, self._nearest(saddle), key=Solution.reliability)
                return best
            best = found if best is None else max(best, found, key=Solution.reliability)
            if best.status in _FINAL:
                return best
        assert best is not None
        return best

    def _solve_from(
        self,
        saddle: SaddleMap,
        start: Solution | None,
        accuracy: float | None,
        continued: bool = False,
    ) -> Solution:
        """Solve with rules of one kind, from a start, from S = 0, or from stronger weight decay."""
        problem, rule = saddle.problem, saddle.rule
        try:
            at_zero = Conjugates.unpack(saddle.unlearned(), problem)
            if not saddle.is_even and estimator_of(problem).vanishes(at_zero):
                return unlearned_solution(saddle)
            warm = start.conjugates if start is not None and start.mh > 0 else None
            if has_closed_equations(problem):
                return self._closed(saddle, warm, at_zero)
            if continued:
                outcome = self.search.from_strong_decay(saddle)
            else:
                outcome = self.search.find(saddle, warm or at_zero, cold=warm is None)
            if outcome.residual < self.search.near:
                return self.refinement.refine(saddle, outcome, accuracy or rule.accuracy)
        except OutsideDomain:  # a law or an average is outside the range of double precision
            return failed_solution(problem, Status.DIVERGED)
        return unsolved_solution(problem, outcome)

    def _closed(self, saddle: SaddleMap, warm: Conjugates | None, at_zero: Conjugates) -> Solution:
        """Return the solution of a closed channel.

        The root is found near a start, from S = 0, or from stronger weight decay, in this order.

        Args:
            saddle: map of the conjugates.
            warm: conjugates at a nearby point, if there are any.
            at_zero: conjugates at S = 0.
        """
        closed = ClosedChannel(saddle)
        outcome = unfound = Outcome(np.empty(0), float("inf"), 0, False)
        if warm is not None:
            outcome = closed.root(closed.coordinates(warm.pack()))
        if not outcome.residual < RESOLVED:
            unfound = self.search.find(saddle, at_zero, cold=True)
            if unfound.residual < self.search.near:
                outcome = closed.root(closed.coordinates(unfound.point))
        if not outcome.residual < RESOLVED:
            outcome = closed.continued(self.search)
        if outcome.residual < RESOLVED:
            return closed.solution(outcome)
        return unsolved_solution(saddle.problem, unfound)

    def _nearest(self, saddle: SaddleMap) -> Solution:
        """Return the solution nearest to S = 0."""
        patient = replace(self, search=replace(self.search, newton_steps=FAR_STEPS))
        try:
            return patient.near(saddle.problem, saddle.unlearned())
        except OutsideDomain:
            return failed_solution(saddle.problem, Status.DIVERGED)

    def near(self, problem: Problem, x: Vector) -> Solution:
        """Find the solution nearest to conjugates exp(x) by Newton's method.

        Args:
            problem: the problem.
            x: logarithms of the conjugates, shape (unknowns,).
        """
        rule = coarse_rules(problem)[0]
        saddle = SaddleMap(problem, rule)
        if has_closed_equations(problem):
            closed = ClosedChannel(saddle)
            found = closed.root(closed.coordinates(x))
            unsolved = unsolved_solution(problem, found)
            return closed.solution(found) if found.residual < RESOLVED else unsolved
        outcome = self.search.find_nearby(saddle, x, rule.roughness)
        if not outcome.converged:
            return unsolved_solution(problem, outcome)
        if saddle.denoised(outcome.point).overlaps.q == 0:
            return unlearned_solution(saddle)
        return self.refinement.refine(saddle, outcome, rule.accuracy)


_SOLVER = Solver()


def solve(
    problem: Problem, start: Solution | None = None, accuracy: float | None = None
) -> Solution:
    """Solve the saddle-point equations at one point.

    The function always returns a solution; its status reports convergence. If a start leads to an
    inaccurate root, the point is also solved without it. A point that is not at its root, as near
    the recovery threshold at weak decay, is solved again by steps from stronger decay.

    The channel is refined until the relative error estimate of every quantity is below `accuracy`,
    up to a maximum number of refinements. `error_estimate` is the accuracy reached; the status is
    `rough` if the channel is sampled and this accuracy is not sufficient. If `accuracy` is less
    than half of the default, the channel is refined further, at several times the cost.

    Args:
        problem: the problem.
        start: solution at a nearby point; by default the solve starts from S = 0.
        accuracy: requested relative error, by default 1e-4 for two tokens and 5e-3 for a sampled
            channel.

    Raises:
        InvalidParameter: an argument has the wrong type, accuracy is not between 0 and 1, or the
            model file changed after its equations were generated.

    Source: theory note, section 3; arXiv 2509.24914, Claim 3.1.

    >>> from attention_erm import MarchenkoPastur, Problem, solve
    >>> problem = Problem(alpha=1, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5)
    >>> solution = solve(problem).unwrap()
    >>> solution.status.name, round(solution.test_error, 4), solution.errors["test_error"] < 1e-4
    ('CONVERGED', 0.102, True)
    """
    require_problem(problem)
    if start is not None:
        way_out = "give the Solution at a nearby point, or leave it out"
        require_kind("start", start, Solution, way_out)
    if accuracy is not None:
        value, rule = real("accuracy", accuracy), "must be above 0 and below 1, a relative error"
        require(0 < value < 1, "accuracy", accuracy, rule, "try 1e-4")
        accuracy = value
    require_up_to_date(problem.model)
    found = _timed(problem, start, accuracy)
    if start is not None and found.status is Status.INACCURATE:
        # The start may have led to a different root.
        found = max(found, _timed(problem, None, accuracy), key=Solution.reliability)
    if _is_at_root(found):
        return found
    return max(found, _solve_in_steps(problem, accuracy), key=Solution.reliability)


def _is_at_root(solution: Solution) -> bool:
    """Return whether steps from stronger decay would not help.

    A sampled channel leaves a residual, and the limit lambda -> 0 has no weaker decay to reach.
    """
    problem = solution.problem
    if problem.lambda_ == 0:
        return True
    rule = coarse_rules(problem)[0]
    return rule.independent or solution.residual < rule.tolerance


@lru_cache(maxsize=4)  # a point of a curve that fails is tried from a start and without one
def _solve_in_steps(problem: Problem, accuracy: float | None) -> Solution:
    """Solve at weaker and weaker decay, each point from the one before."""
    found: list[Solution] = []
    for power in range(STEPS, -1, -1):
        there = replace(problem, lambda_=problem.lambda_ * STEP**power)
        solution = _timed(there, _predicted(found), accuracy)
        found = [*found, solution] if solution.trusted and solution.mh > 0 else []
    return solution


def _predicted(found: list[Solution]) -> Solution | None:
    """Return a start that continues the last two solutions."""
    if len(found) < 2:
        return found[-1] if found else None
    before, last = found[-2:]
    return extrapolated_solution(before, last, 1.0)


def extrapolated_solution(before: Solution, last: Solution, fraction: float) -> Solution:
    """Return a start that continues the conjugates of two solutions linearly in logarithms.

    Args:
        before: solution before the last.
        last: last solution.
        fraction: step beyond the last solution, in units of the step between both.
    """
    values = {
        name: getattr(last, name) * (getattr(last, name) / getattr(before, name)) ** fraction
        for name in ("mh", "qh", "Vh")
    }
    return replace(last, **values)


def _timed(problem: Problem, start: Solution | None, accuracy: float | None) -> Solution:
    started = time.perf_counter()
    found = _SOLVER.solve(problem, start, accuracy)
    _LOG.debug(
        f"{problem.model} at alpha {problem.alpha:.6g}, lambda {problem.lambda_:.4g}, "
        f"noise {problem.noise:.4g}, width {problem.width:.4g}, T {problem.tokens}, from "
        f"{f'alpha {start.problem.alpha:.6g}' if start else 'S = 0'}: {found.status.name.lower()}, "
        f"{found.iterations} steps, residual {found.residual:.1e}, "
        f"{time.perf_counter() - started:.2f} s"
    )
    return found


def solve_near(problem: Problem, x: Vector) -> Solution:
    """Return the solution nearest to conjugates exp(x), by Newton's method only.

    The root may be attracting or repelling.

    Args:
        problem: the problem.
        x: logarithms of the conjugates, shape (unknowns,).
    """
    require_up_to_date(problem.model)
    return _SOLVER.near(problem, x)
