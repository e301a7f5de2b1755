"""Solutions of models with a closed channel average, as roots of two equations.

The unknowns are v, the noise variance of the denoising problem, and V. Newton's method follows the
root to rounding, also near the recovery threshold, where the map of the conjugates contracts
slowly. For laws with an inverse Stieltjes transform in closed form the root is then proven in ball
arithmetic, which takes as long as the search. For other laws errors follow from linear response.

Source: theory note, sections 3 and 12.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from flint import arb

from numeric.exact.closed_equations import ClosedEquations
from numeric.exact.exact_problem import ExactProblem
from numeric.laws.law import Energy
from numeric.maths.ball_systems import newton, proven_near
from numeric.maths.balls import Unresolved, working
from numeric.maths.domain import OutsideDomain
from numeric.maths.fixed_point import Newton, Outcome, Vector, iterate
from numeric.model import call
from numeric.problem.conjugates import Conjugates
from numeric.problem.problem import Parametrisation, Problem
from numeric.problem.solution import QUANTITIES, Solution, Status
from numeric.proven_laws.rational import RationalLaw
from numeric.saddle.equations import SaddleMap
from numeric.saddle.error_bars import ROUNDED, quantity_rounding
from numeric.saddle.estimator import (
    DenoisingSolution,
    ReducedVariables,
    estimator_of,
    law_accuracy,
    spectral_energy,
    thresholded_solution,
)
from numeric.saddle.refine import DECISIVE, INACCURATE
from numeric.saddle.replicon import replicon
from numeric.saddle.root_errors import STEP, PointEvaluation, bars
from numeric.saddle.search import Search, extrapolated_root

DIFFERENCE = 1e-6  # of the logarithms of the unknowns, in the slopes of Newton's method
TOLERANCE = 1e-13  # of the relative balances; rounding may leave more
RESOLVED = 1e-3  # largest residual of a root that rounding leaves; error bars include it
STEPS, PATIENCE = 40, 6
BITS = 96  # of ball arithmetic: the cancellations of a proven root take at most 40
SAME = 1e-2  # largest relative distance of a proven root from the one in float64
STRONGER, STRONGEST = 10.0, 16  # factor between weight decays at the start, and their number
STAGES = 60  # weight decays of a continuation
LEAST_STEP, MOST_STEP = 0.05, 3.0  # of a continuation in log lambda


def has_closed_equations(problem: Problem) -> bool:
    """Return whether the saddle point has two equations in closed form."""
    return (
        problem.lambda_ > 0
        and not (problem.leading or problem.has_norms or problem.has_vocabulary)
        and problem.parametrisation is Parametrisation.FACTORISED
        and hasattr(problem.generated, "closed_balances")
    )


class ClosedPoint(NamedTuple):
    """Denoising solution at the unknowns, and the two balances relative to v and V."""

    at: DenoisingSolution
    balances: Vector


@dataclass(frozen=True)
class ClosedChannel:
    """Saddle-point equations in y = (log v, log V)."""

    saddle: SaddleMap

    @property
    def problem(self) -> Problem:
        """The problem."""
        return self.saddle.problem

    def point(self, y: Vector, energy: Energy | None = None) -> ClosedPoint:
        """Return the equations at a point.

        Args:
            y: logarithms of v and V.
            energy: spectral energy, by default that of the point.

        Raises:
            OutsideDomain: a value is outside the range of double precision.
        """
        problem, (v, V) = self.problem, map(float, np.exp(y))
        settings = problem.all_settings
        _, _, b, c, _ = map(float, call(problem.generated.closed_state, (V,), settings))
        if not (0 < v < np.inf and 0 < V < np.inf and b < np.inf and 0 < c < np.inf):
            raise OutsideDomain(f"no saddle point at v = {v:g}, V = {V:g}")
        energy = energy or spectral_energy(problem, v, b)
        spectral = energy.J, energy.J_v, energy.J_b
        values = call(
            problem.generated.closed_balances,
            (*spectral, v, b, V),
            settings | {"rho": problem.rho},
        )
        mh, qh, Vh = map(float, problem.generated.unreduced_variables(v, b, c, *problem.penalty))
        at = thresholded_solution(
            problem, Conjugates(mh, qh, Vh), ReducedVariables(v, b, c), energy
        )
        return ClosedPoint(at, np.array([float(values[0]) / v, float(values[1]) / V]))

    def root(self, begin: Vector) -> Outcome:
        """Return the root near a point, by Newton's method.

        Args:
            begin: logarithms of v and V.
        """

        def moved(y: Vector) -> Vector:
            try:
                return np.asarray(y + self.point(y).balances)
            except OutsideDomain:
                return np.full_like(y, np.nan)

        return iterate(
            moved, begin, Newton(DIFFERENCE),
            tolerance=TOLERANCE, max_steps=STEPS, patience=PATIENCE,
        )  # fmt: skip

    def coordinates(self, x: Vector) -> Vector:
        """Return log v and log V at logarithms x of the conjugates.

        Raises:
            OutsideDomain: no denoising problem has these conjugates.
        """
        at = self.saddle.denoised(x)
        return np.log([at.denoising.v, at.overlaps.V])

    def continued(self, search: Search) -> Outcome:
        """Follow the root from the least decay at which the search succeeds, down to the decay.

        Args:
            search: search for a root from S = 0.
        """
        goal = float(np.log(self.problem.lambda_))
        failed = Outcome(np.full(2, np.nan), float("inf"), 0, False)
        step = float(np.log(STRONGER))
        for stage in range(1, STRONGEST):
            there = self._at(goal + stage * step)
            zero = Conjugates.unpack(there.saddle.unlearned(), there.problem)
            if estimator_of(there.problem).vanishes(zero):
                return failed
            found = search.find(there.saddle, zero, cold=True)
            if found.converged:
                break
        else:
            return failed
        outcome = there.root(there.coordinates(found.point))
        roots = [(goal + stage * step, outcome.point)]
        for _ in range(STAGES):
            if roots[-1][0] == goal or step < LEAST_STEP:
                break
            trial = max(goal, roots[-1][0] - step)
            begin = extrapolated_root(roots, trial)
            moved = (self if trial == goal else self._at(trial)).root(begin)
            near = np.max(np.abs(moved.point - begin)) < 2 * step
            if moved.residual < RESOLVED and near:
                outcome, step = moved, min(2 * step, MOST_STEP)
                roots.append((trial, moved.point))
            else:
                step /= 2
        return outcome if roots[-1][0] == goal else failed

    def _at(self, log_decay: float) -> "ClosedChannel":
        problem = replace(self.problem, lambda_=float(np.exp(log_decay)))
        return ClosedChannel(replace(self.saddle, problem=problem))

    def solution(self, outcome: Outcome) -> Solution:
        """Return the solution at a root, with its error bars and its status.

        Args:
            outcome: the root.

        Raises:
            OutsideDomain: a value is outside the range of double precision.
        """
        problem, here = self.problem, self.point(outcome.point)
        proven = self._proven(outcome.point)
        if proven is None:
            averages = self.saddle.averages(here.at).mean()
            values = self.saddle.quantities(here.at, averages)[0]
            errors = self._errors(outcome.point) + quantity_rounding(
                self.saddle, here.at, averages, values
            )
        else:
            values, errors = proven
        stability = replicon(problem, here.at)
        energy, scale = here.at.denoising.energy, self.saddle.unlearned_averages().test_error
        solution = Solution(
            problem=problem,
            status=Status.UNSTABLE if stability < 0 else Status.CONVERGED,
            **dict(zip(QUANTITIES, values.tolist(), strict=True)),
            quantile=None if energy is None else energy.quantile,
            antisymmetric=None,
            replicon=stability,
            residual=outcome.residual,
            iterations=outcome.steps,
            errors=dict(zip(QUANTITIES, errors.tolist(), strict=True)),
            unlearned_error=float(scale[0]),
        )
        if not solution.relative_error(DECISIVE) <= INACCURATE:
            return replace(solution, status=Status.INACCURATE)
        return solution

    def _proven(self, y: Vector) -> tuple[Vector, Vector] | None:
        """Return values and error bounds of the quantities at the proven root near y.

        None if the law is not in closed form, or if the proof fails, as at a fold.
        """
        if self.problem.has_covariance or not isinstance(self.problem.exact_law(), RationalLaw):
            return None
        equations, guess = ClosedEquations(ExactProblem.of(self.problem)), np.exp(y)
        try:
            with working(BITS):
                start = tuple(arb(float(value)) for value in guess)
                box = proven_near(equations.system, newton(equations.system, start))
                if any(
                    abs(float(side.mid()) / value - 1) > SAME
                    for side, value in zip(box, guess, strict=True)
                ):
                    return None
                found = equations.quantities(box)
                values = np.array([float(found[name].mid()) for name in QUANTITIES])
                radii = np.array([float(found[name].rad()) for name in QUANTITIES])
        except Unresolved:
            return None
        return values, radii + np.finfo(float).eps * np.abs(values)

    def _errors(self, y: Vector) -> Vector:
        """Return errors of the quantities from those of the spectral energy and the residual."""

        def at(y: Vector, energy: Energy) -> PointEvaluation:
            here = self.point(y, energy)
            averages = self.saddle.averages(here.at).mean()
            return PointEvaluation(here.balances, self.saddle.quantities(here.at, averages)[0])

        def energy(y: Vector) -> Energy:
            denoising = self.point(y).at.denoising
            assert denoising.energy is not None
            return denoising.energy

        v, b, _, there, _ = self.point(y).at.denoising
        assert there is not None and b is not None
        accuracy = law_accuracy(self.problem, v, b, there.quantile)
        return bars(at, energy, y, np.full(2, STEP), max(accuracy, ROUNDED))
