"""Refinement of a root on a coarse channel rule to a solution with small error bars."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from numeric.channel.averages import Averages
from numeric.maths.fixed_point import Outcome, Vector, chord
from numeric.maths.replicates import half_width
from numeric.problem.conjugates import Conjugates
from numeric.problem.problem import Problem
from numeric.problem.solution import (
    Antisymmetric,
    NormOverlap,
    Solution,
    Status,
    failed_solution,
    quantities_of,
)
from numeric.saddle.equations import SaddleMap
from numeric.saddle.error_bars import ERRORS, Response, error_bars, linear_response
from numeric.saddle.estimator import DenoisingSolution, estimator_of, reduced_variables
from numeric.saddle.replicon import replicon
from numeric.saddle.unknowns.choice import unknowns_at
from numeric.saddle.unknowns.coordinates import Unknowns, in_unknowns

# Near interpolation the training error and V are small differences.
DECISIVE = ("m", "q", "delta", "test_error")
INACCURATE = 1e-2


@dataclass(frozen=True)
class Refinement:
    """Refinement of a root on finer channel rules.

    Attributes:
        chord_steps: maximum number of chord iterations on a finer rule.
        patience: number of iterations in which the residual must be halved.
        beyond: number of additional refinements if the requested error is less than half of the
            default error of the rule.
        inaccurate: relative error of the DECISIVE quantities above which a value is not reliable.
    """

    chord_steps: int = 8
    patience: int = 3
    beyond: int = 3
    inaccurate: float = INACCURATE

    def refine(self, saddle: SaddleMap, outcome: Outcome, accuracy: float) -> Solution:
        """Solve on finer rules until the error estimate is small enough.

        Each solve starts from the previous root with its Jacobian. The unknowns are those suitable
        for the root: a residual is not meaningful where the map of the conjugates repels.

        Args:
            saddle: map on the coarse rule.
            outcome: root on the coarse rule.
            accuracy: requested relative error of every quantity.
        """
        at_root = Conjugates.unpack(outcome.point, saddle.problem)
        unknowns = unknowns_at(saddle.problem, at_root)
        outcome = outcome._replace(point=unknowns.coordinates(at_root))
        response = linear_response(saddle, unknowns, outcome.point)
        beyond = self.beyond if accuracy < saddle.rule.accuracy / 2 else 0
        solution, best = unsolved_solution(saddle.problem, outcome), outcome
        scale = float(saddle.unlearned_averages().mean().test_error[0])
        rule, coarser, steps = saddle.rule, saddle, outcome.steps
        for left in reversed(range(rule.refinements + rule.extra_refinements + beyond)):
            finer = replace(saddle, rule=coarser.rule.refined())
            outcome = chord(
                in_unknowns(finer.image, unknowns), outcome.point, response.jacobian,
                tolerance=rule.tolerance, max_steps=self.chord_steps, patience=self.patience,
            )  # fmt: skip
            steps += outcome.steps
            if not np.isfinite(outcome.residual):
                if not solution.trusted:
                    return unsolved_solution(saddle.problem, outcome)
                break
            best = outcome._replace(steps=steps)
            solution = _solution(finer, coarser, unknowns, best, response)
            solution = replace(solution, unlearned_error=scale)
            error = solution.relative_error(DECISIVE)
            hopeless = error > rule.error_reduction**left * self.inaccurate
            enough = left <= rule.extra_refinements and error < self.inaccurate and not beyond
            if solution.error_estimate < accuracy or hopeless or enough:
                break
            coarser = finer
        return self._judged(solution, best, accuracy if rule.independent else np.inf)

    def _judged(self, solution: Solution, outcome: Outcome, promised: float) -> Solution:
        """Return the solution with its replicon and its final status.

        The replicon costs as much as many iterations. The rounding error of the denoising error is
        added only here, because a finer rule does not reduce it. `promised` is the largest relative
        error of a solution whose status is not ROUGH.
        """
        estimator = estimator_of(solution.problem)
        denoised = estimator.denoised(solution.conjugates)
        stable = replace(solution, replicon=replicon(solution.problem, denoised))
        rounding = estimator.denoising_error(denoised).rounding
        denoising_error = solution.errors["denoising_error"] + rounding
        errors = solution.errors | {"denoising_error": denoising_error}
        return replace(stable, status=self._status(stable, outcome, promised), errors=errors)

    def _status(self, solution: Solution, outcome: Outcome, promised: float) -> Status:
        vanished = solution.q == 0  # on this rule, but not on the coarser one
        if vanished or solution.relative_error(DECISIVE) > self.inaccurate:
            return Status.INACCURATE
        if not outcome.converged:
            # A residual within the error of the channel is due to the roughness of the rule.
            return Status.ROUGH if outcome.residual < solution.error_estimate else Status.STEP_LIMIT
        if solution.replicon < 0:
            return Status.UNSTABLE
        return Status.ROUGH if solution.error_estimate > promised else Status.CONVERGED


def _solution(
    saddle: SaddleMap, coarser: SaddleMap, unknowns: Unknowns, outcome: Outcome, response: Response
) -> Solution:
    """Return the values at a root with their errors, without the replicon."""
    at = unknowns.denoised(outcome.point)
    averages = saddle.averages(at)
    values = saddle.quantities(at, averages.mean())[0]
    errors = error_bars(
        saddle, unknowns, outcome.point, at, averages, coarser.averages(at), response
    )
    q, V = at.overlaps.q_antisymmetric, at.overlaps.V_antisymmetric
    conjugates = at.conjugates.antisymmetric
    return Solution(
        problem=saddle.problem,
        status=Status.CONVERGED,
        **_named(saddle.problem, values),
        quantile=None if at.denoising.energy is None else at.denoising.energy.quantile,
        antisymmetric=None if conjugates is None else Antisymmetric(q, V, *conjugates),
        replicon=float("nan"),
        residual=outcome.residual,
        iterations=outcome.steps,
        errors=_named(saddle.problem, errors),
        strengths=at.conjugates.strengths,
        norms=_norm_overlap(saddle.problem, at),
    )


def _norm_overlap(problem: Problem, at: DenoisingSolution) -> NormOverlap | None:
    """Return the overlap with the covariance of tokens, None if they have Gaussian norms."""
    if at.conjugates.th is None:
        return None
    shift = reduced_variables(at.conjugates, problem).shift
    return NormOverlap(at.overlaps.t, float(at.conjugates.th), shift)


def _named(problem: Problem, values: Vector) -> dict[str, Any]:
    return dict(zip(quantities_of(problem), values.tolist(), strict=True))


def unlearned_solution(saddle: SaddleMap) -> Solution:
    """Return the solution S = 0, which is exact up to the average over labels."""
    finer = replace(saddle, rule=saddle.rule.refined())
    at = saddle.denoised(saddle.unlearned())
    coarse = saddle.quantities(at, saddle.unlearned_averages().mean())[0]
    averages = finer.unlearned_averages()

    def values_of(one: Averages) -> Vector:
        x = finer.start(one)
        return finer.quantities(finer.denoised(x), one)[0]

    values = values_of(averages.mean())
    bounds = np.abs(values - coarse)
    if finer.rule.independent:
        bounds += half_width(np.array([values_of(one) for one in averages.each()]))
    rough = np.any(bounds[ERRORS] > INACCURATE * np.abs(values[ERRORS]))
    return Solution(
        problem=saddle.problem,
        status=Status.INACCURATE if rough else Status.UNLEARNED,
        **_named(saddle.problem, values),
        quantile=None,
        antisymmetric=None,
        replicon=1.0,
        residual=0.0,
        iterations=0,
        errors=_named(saddle.problem, bounds),
        strengths=at.conjugates.strengths,
        norms=_norm_overlap(saddle.problem, at),
        unlearned_error=float(averages.mean().test_error[0]),
    )


def unsolved_solution(problem: Problem, outcome: Outcome) -> Solution:
    """Return the result of a solve that left the domain or found no root.

    Args:
        problem: the problem.
        outcome: last iteration of the solve.
    """
    status = Status.STEP_LIMIT if np.isfinite(outcome.residual) else Status.DIVERGED
    return failed_solution(problem, status, outcome.residual, outcome.steps)
