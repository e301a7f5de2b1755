"""The saddle-point equations solved at one point (theory note, section 3).

A solve finds the root on the coarsest channel rule: damped steps and Anderson acceleration, then Newton, then continuation from a
weight decay at which little is learned. Finer rules start from it with its Jacobian, which is also what turns errors of the channel
into errors of every quantity.
"""

import logging
import time
from dataclasses import dataclass, field, replace

import numpy as np

from attention_erm.runtime.errors import InvalidParameter
from numeric.channel.rules import coarse_rules
from numeric.maths.domain import OutsideDomain, real, require_kind
from numeric.maths.fixed_point import Vector
from numeric.model import require_up_to_date
from numeric.problem.conjugates import Conjugates
from numeric.problem.problem import Problem, require_problem
from numeric.problem.solution import Solution, Status, failed_solution
from numeric.saddle.equations import SaddleMap
from numeric.saddle.estimator import estimator_of
from numeric.saddle.refine import Refinement, unlearned_solution, unsolved_solution
from numeric.saddle.search import Search
from numeric.saddle.zero_decay import interpolates, solve_interpolating

_LOG = logging.getLogger(__name__)

_SETTLED = (Status.CONVERGED, Status.UNLEARNED, Status.UNSTABLE)
_ROOTLESS = (Status.STEP_LIMIT, Status.DIVERGED)


@dataclass(frozen=True)
class Solver:
    """How to find a root on a coarse channel rule, and how to refine it."""

    search: Search = field(default_factory=Search)
    refinement: Refinement = field(default_factory=Refinement)

    @np.errstate(
        divide="ignore", over="ignore", invalid="ignore"
    )  # what overflows ends the solve with a status
    def solve(
        self, problem: Problem, start: Solution | None = None, accuracy: float | None = None
    ) -> Solution:
        """Solve as the function `solve`, without checks of the arguments."""
        if problem.lambda_ == 0:
            return self._solve_vanishing_decay(problem, start, accuracy)
        if problem.leading:
            return self._solve_leading_features(problem, start, accuracy)
        return self._solve_ordinary(problem, start, accuracy)

    def _solve_ordinary(
        self, problem: Problem, start: Solution | None, accuracy: float | None
    ) -> Solution:
        """Solve with the coarsest rules in turn until one gives a settled solution."""
        best: Solution | None = None
        for rule in coarse_rules(problem):
            saddle = SaddleMap(problem, rule)
            found = self._solve_from(saddle, start, accuracy)
            if found.status in _ROOTLESS:  # then the other kind of rule has never found one
                if best is not None:
                    return best
                return max(
                    found,
                    self._solve_from(saddle, start, accuracy, continued=True),
                    key=Solution.reliability,
                )
            best = found if best is None else max(best, found, key=Solution.reliability)
            if best.status in _SETTLED:
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
        """Solve with rules of one kind, from a start or from S = 0, or `continued` from stronger weight decay."""
        problem, rule = saddle.problem, saddle.rule
        try:
            at_zero = Conjugates.unpack(saddle.unlearned(), problem)
            if estimator_of(problem).vanishes(at_zero):
                return unlearned_solution(saddle)
            warm = start.conjugates if start is not None and start.mh > 0 else None
            if continued:
                outcome = self.search.from_strong_decay(saddle)
            else:
                outcome = self.search.directly(saddle, warm or at_zero, cold=warm is None)
            if outcome.residual < self.search.near:
                return self.refinement.refine(saddle, outcome, accuracy or rule.accuracy)
        except (
            OutsideDomain
        ):  # parameters so extreme that a law or an average is beyond double precision
            return failed_solution(problem, Status.DIVERGED)
        return unsolved_solution(problem, outcome)

    def _solve_vanishing_decay(
        self, problem: Problem, start: Solution | None, accuracy: float | None
    ) -> Solution:
        """Solve the limit lambda -> 0+: its own equations below interpolation, the ordinary ones above."""
        try:
            if interpolates(problem):
                return solve_interpolating(problem)
        except (
            OutsideDomain
        ):  # labels too sharp for the test error, or a law beyond double precision
            return failed_solution(problem, Status.DIVERGED)
        return self._solve_ordinary(problem, start, accuracy)

    def _solve_leading_features(
        self, problem: Problem, start: Solution | None, accuracy: float | None
    ) -> Solution:
        """Solve from the solution with Gaussian leading features, which is found faster and from farther, unless it learns nothing."""
        if start is None:
            gaussian = self.solve(replace(problem, leading=0))
            if gaussian.trusted and gaussian.q > 0:
                start = replace(gaussian, strengths=tuple(problem.features[0].tolist()))
        return self._solve_ordinary(problem, start, accuracy)

    def near(self, problem: Problem, x: Vector) -> Solution:
        """The solution nearest to conjugates exp(x), an attracting one or not: by Newton's method, with no other way tried."""
        rule = coarse_rules(problem)[0]
        saddle = SaddleMap(problem, rule)
        outcome = self.search.nearby(saddle, x, rule.roughness)
        if not outcome.converged:
            return unsolved_solution(problem, outcome)
        if saddle.denoised(outcome.point).overlaps.q == 0:
            return unlearned_solution(saddle)
        return self.refinement.refine(saddle, outcome, rule.accuracy)


_SOLVER = Solver()


def solve(
    problem: Problem, start: Solution | None = None, accuracy: float | None = None
) -> Solution:
    """Solve at one point, cold or from the solution at a nearby point; always returns, with a status.

    Where a start leads to a root without values to rely on, the point is solved cold, too.

    The channel is refined until the relative error estimate of every quantity is below `accuracy` (default 1e-4 for two tokens,
    5e-3 where the channel is sampled), or as often as is sensible: `error_estimate` says what was reached, and where the channel is
    sampled and that is more the status is `rough`. Asked for less than half of the default it is refined further,
    at several times the price.

    Raises:
        InvalidParameter: no Problem is given, a start that is no Solution, or no accuracy above 0 and below 1.
        InvalidParameter: the file of the model was changed since its equations were generated.

    Source: theory note, section 3; arXiv 2509.24914, Claim 3.1.

    >>> from attention_erm import MarchenkoPastur, Problem, solve
    >>> solution = solve(Problem(alpha=1, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5)).unwrap()
    >>> solution.status.name, round(solution.test_error, 4), solution.errors["test_error"] < 1e-4
    ('CONVERGED', 0.102, True)
    """
    require_problem(problem)
    if start is not None:
        require_kind(
            "start", start, Solution, "give the Solution at a nearby point, or leave it out"
        )
    if accuracy is not None:
        accuracy = _relative(accuracy)
    require_up_to_date(problem.model)
    found = _timed(problem, start, accuracy)
    if start is None or found.status is not Status.INACCURATE:
        return found
    return max(
        found, _timed(problem, None, accuracy), key=Solution.reliability
    )  # the start has led to another root


def _timed(problem: Problem, start: Solution | None, accuracy: float | None) -> Solution:
    started = time.perf_counter()
    found = _SOLVER.solve(problem, start, accuracy)
    _LOG.debug(
        "%s at alpha %.6g, lambda %.4g, noise %.4g, width %.4g, T %d, from %s: %s, %d steps, residual %.1e, %.2f s",
        *(
            problem.model,
            problem.alpha,
            problem.lambda_,
            problem.noise,
            problem.width,
            problem.tokens,
        ),
        *(
            "S = 0" if start is None else f"alpha {start.problem.alpha:.6g}",
            found.status.name.lower(),
        ),
        *(found.iterations, found.residual, time.perf_counter() - started),
    )
    return found


def _relative(accuracy: object) -> float:
    """An error that is asked for, as a share of the value."""
    asked = real("accuracy", accuracy)
    if not 0 < asked < 1:
        raise InvalidParameter(
            "accuracy", accuracy, "must be above 0 and below 1, a relative error", "try 1e-4"
        )
    return asked


def solve_near(problem: Problem, x: Vector) -> Solution:
    """The solution nearest to conjugates exp(x), an attracting one or not: by Newton's method, with no other way tried."""
    require_up_to_date(problem.model)
    return _SOLVER.near(problem, x)
