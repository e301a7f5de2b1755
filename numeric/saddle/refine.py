"""From a root on a coarse channel rule to a solution with error bars: finer rules until their errors are small enough."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from numeric.channel.averages import Averages
from numeric.maths.fixed_point import Outcome, Vector, chord
from numeric.maths.replicates import half_width
from numeric.problem.conjugates import Conjugates
from numeric.problem.problem import Problem
from numeric.problem.solution import QUANTITIES, Antisymmetric, Solution, Status, failed_solution
from numeric.saddle.equations import SaddleMap
from numeric.saddle.error_bars import ERRORS, Response, error_bars, linear_response
from numeric.saddle.estimator import DenoisingSolution, estimator_of
from numeric.saddle.replicon import replicon
from numeric.saddle.unknowns.choice import unknowns_at
from numeric.saddle.unknowns.coordinates import Unknowns, in_unknowns

DECISIVE = (
    "m",
    "q",
    "delta",
    "test_error",
)  # the training error and V are small differences near interpolation


INACCURATE = 1e-2


@dataclass(frozen=True)
class Refinement:
    """How a root is refined and judged.

    tolerance: residual (of the logarithms of the conjugates) at a root: far below the quadrature error
    chord_steps, patience: of the chord on a finer rule; those in which it must halve the residual
    beyond: how often a rule is refined further where less than half of the error is asked for that it has at a reasonable price
    inaccurate: relative error of what is DECISIVE above which there is no value
    """

    tolerance: float = 1e-8
    chord_steps: int = 8
    patience: int = 3
    beyond: int = 3
    inaccurate: float = INACCURATE

    def refine(self, saddle: SaddleMap, outcome: Outcome, accuracy: float) -> Solution:
        """Finer rules until the error estimate is small enough; each starts from the root before, with its Jacobian.

        All in the unknowns that suit the root: a residual says little where the map of the conjugates repels.
        """
        at_root = Conjugates.unpack(outcome.point, saddle.problem)
        unknowns = unknowns_at(saddle.problem, at_root)
        outcome = outcome._replace(point=unknowns.coordinates(at_root))
        response = linear_response(saddle, unknowns, outcome.point)
        beyond = self.beyond if accuracy < saddle.rule.accuracy / 2 else 0
        steps, coarser, solution, best = (
            outcome.steps,
            saddle,
            unsolved_solution(saddle.problem, outcome),
            outcome,
        )
        rule = saddle.rule
        for left in reversed(range(rule.refinements + rule.extra_refinements + beyond)):
            finer = replace(saddle, rule=coarser.rule.refined())
            outcome = chord(
                in_unknowns(finer.image, unknowns), outcome.point, response.jacobian,
                tolerance=self.tolerance, max_steps=self.chord_steps, patience=self.patience,
            )  # fmt: skip
            steps += outcome.steps
            if not np.isfinite(outcome.residual):
                if not solution.trusted:
                    return unsolved_solution(saddle.problem, outcome)
                break
            best = outcome._replace(steps=steps)
            solution = _solution(finer, coarser, unknowns, best, response)
            error = solution.relative_error(DECISIVE)
            hopeless = error > rule.error_reduction**left * self.inaccurate
            enough = left <= rule.extra_refinements and error < self.inaccurate and not beyond
            if solution.error_estimate < accuracy or hopeless or enough:
                break
            coarser = finer
        return self._judged(solution, best, accuracy if rule.independent else np.inf)

    def _judged(self, solution: Solution, outcome: Outcome, promised: float) -> Solution:
        """The solution with its stability, which takes as long as many steps, and what both say of it.

        The rounding of a small denoising error joins its error bar here only: no finer rule would mend it.
        promised: the largest relative error of a solution that is not called rough.
        """
        estimator = estimator_of(solution.problem)
        denoised = estimator.denoised(solution.conjugates)
        stable = replace(solution, replicon=replicon(solution.problem, denoised))
        rounding = estimator.denoising_error(denoised).rounding
        errors = solution.errors | {
            "denoising_error": solution.errors["denoising_error"] + rounding
        }
        return replace(stable, status=self._status(stable, outcome, promised), errors=errors)

    def _status(self, solution: Solution, outcome: Outcome, promised: float) -> Status:
        vanished = solution.q == 0  # on this rule, and not on the coarser one
        if vanished or solution.relative_error(DECISIVE) > self.inaccurate:
            return Status.INACCURATE
        if not outcome.converged:
            # What is left of a residual within the error of the channel is the roughness of its rule, not the solver's.
            return Status.ROUGH if outcome.residual < solution.error_estimate else Status.STEP_LIMIT
        if solution.replicon < 0:
            return Status.UNSTABLE
        return Status.ROUGH if solution.error_estimate > promised else Status.CONVERGED


def _solution(
    saddle: SaddleMap, coarser: SaddleMap, unknowns: Unknowns, outcome: Outcome, response: Response
) -> Solution:
    """Values at a root, with errors from the coarser rule and from replicates; stability is judged of the last one alone."""
    at = unknowns.denoised(outcome.point)
    averages = saddle.averages(at)
    values = saddle.quantities(at, averages.mean())[0]
    errors = error_bars(
        saddle, unknowns, outcome.point, at, averages, coarser.averages(at), response
    )
    named: dict[str, Any] = dict(zip(QUANTITIES, map(float, values), strict=True))
    bounds = {name: float(error) for name, error in zip(QUANTITIES, errors, strict=True)}
    return Solution(
        problem=saddle.problem,
        status=Status.CONVERGED,
        **named,
        quantile=None if at.denoising.energy is None else at.denoising.energy.quantile,
        antisymmetric=_antisymmetric(at),
        replicon=float("nan"),
        residual=outcome.residual,
        iterations=outcome.steps,
        errors=bounds,
        strengths=at.conjugates.strengths,
    )


def _antisymmetric(at: DenoisingSolution) -> Antisymmetric | None:
    if at.conjugates.antisymmetric is None:
        return None
    return Antisymmetric(
        at.overlaps.q_antisymmetric, at.overlaps.V_antisymmetric, *at.conjugates.antisymmetric
    )


def unlearned_solution(saddle: SaddleMap) -> Solution:
    """The phase S = 0: exact up to the average over labels."""
    finer = replace(saddle, rule=saddle.rule.refined())
    at = saddle.denoised(saddle.unlearned())
    coarse = saddle.quantities(at, saddle.rule.unlearned(saddle.problem).mean())[0]
    averages = finer.rule.unlearned(finer.problem)

    def values_of(one: Averages) -> Vector:
        x = finer.conjugates(one).pack()[0]
        return finer.quantities(finer.denoised(x), one)[0]

    values = values_of(averages.mean())
    bounds = np.abs(values - coarse)
    if finer.rule.independent:
        bounds += half_width(np.array([values_of(one) for one in averages.each()]))
    named: dict[str, Any] = dict(zip(QUANTITIES, map(float, values), strict=True))
    rough = np.any(bounds[ERRORS] > INACCURATE * np.abs(values[ERRORS]))
    return Solution(
        problem=saddle.problem,
        status=Status.INACCURATE if rough else Status.UNLEARNED,
        **named,
        quantile=None,
        antisymmetric=None,
        replicon=1.0,
        residual=0.0,
        iterations=0,
        errors={name: float(error) for name, error in zip(QUANTITIES, bounds, strict=True)},
        strengths=at.conjugates.strengths,
    )


def unsolved_solution(problem: Problem, outcome: Outcome) -> Solution:
    """A solve that left the domain or found no root."""
    status = Status.STEP_LIMIT if np.isfinite(outcome.residual) else Status.DIVERGED
    return failed_solution(problem, status, outcome.residual, outcome.steps)
