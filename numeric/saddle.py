"""The six saddle-point equations as a map of the conjugates, its solution, and the phase S = 0 (theory note, section 3).

Unknowns are the logarithms of (mh, qh, Vh): every value is in the domain, and the spectral side gives (m, q, V) that
exist. One application of the map costs one channel average.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from generated.tied_attention import float64 as generated
from numeric.channel import COARSE, ChannelAverages, Resolution, average, unlearned
from numeric.iterate import Anderson, Outcome, Vector, iterate
from numeric.problem import Problem
from numeric.solution import QUANTITIES, Solution, Status
from numeric.target_law import Energy

TOLERANCE = 1e-8  # relative change of the conjugates under one step: far below the quadrature error
MAX_STEPS = 200
ACCURACY = 1e-4  # relative error estimate at which the channel is fine enough
REFINEMENTS = 3  # of the channel; each costs about 2.5 times the one before
SAFETY = 4  # on the last change where refinement stopped short of ACCURACY: changes no longer fall geometrically there
INACCURATE = 1e-2  # relative error estimate above which a solution is not called converged


class Overlaps(NamedTuple):
    """Order parameters of the student that the spectral side gives."""

    m: float
    q: float
    V: float


class Reduced(NamedTuple):
    """Equivalent denoising problem: noise variance v, eigenvalue threshold b, gain c, and its spectral energy."""

    v: float
    b: float
    c: float
    energy: Energy


@dataclass(frozen=True)
class SaddleMap:
    """F(log conjugates) = log conjugates, at one channel resolution."""

    problem: Problem
    resolution: Resolution

    def reduced(self, x: Vector) -> Reduced:
        """Denoising problem at these conjugates."""
        mh, qh, Vh = np.exp(x)
        v, b, c = generated.reduced_variables(mh, qh, Vh, self.problem.lambda_, self.problem.width)
        return Reduced(float(v), float(b), float(c), self.problem.target.energy(float(v), float(b), self.problem.width))

    def overlaps(self, x: Vector) -> Overlaps:
        """Order parameters at these conjugates."""
        v, b, c, energy = self.reduced(x)
        return Overlaps(
            *(
                float(value)
                for value in generated.overlaps(energy.J, energy.J_v, energy.J_b, v, b, c, float(np.exp(x[2])))
            )
        )

    def channel(self, overlaps: Overlaps) -> ChannelAverages:
        """Channel averages; those of S = 0 where nothing is learned."""
        problem = self.problem
        if overlaps.q == 0:
            return unlearned(problem.rho, problem.beta, problem.beta0, self.resolution)
        return average(*overlaps, problem.rho, problem.beta, problem.beta0, self.resolution)

    def conjugates(self, channel: ChannelAverages) -> Vector:
        """Logarithms of (mh, qh, Vh); not finite where a sign is wrong, which ends the iteration."""
        values = np.array(generated.conjugates(self.problem.alpha, channel.dM_dm, channel.dM_dq, channel.dM_dV))
        return np.log(np.where(values > 0, values, np.nan))

    def __call__(self, x: Vector) -> Vector:
        """One application; not a number where the channel average does not exist or cannot be resolved."""
        try:
            return self.conjugates(self.channel(self.overlaps(x)))
        except (ArithmeticError, ValueError):
            return np.full_like(x, np.nan)


@np.errstate(divide="ignore", over="ignore", invalid="ignore")  # what overflows ends the solve with a status
def solve(problem: Problem, start: Solution | None = None, algorithm: Anderson | None = None) -> Solution:
    """Solve at one point, cold or from the solution at a nearby point; always returns, with a status.

    The channel is refined until two successive resolutions give the same solution within ACCURACY; their difference,
    plus what the residual allows, is the error estimate.
    """
    algorithm = algorithm or Anderson()
    saddle = SaddleMap(problem, COARSE)
    at_zero = saddle.conjugates(saddle.channel(Overlaps(0.0, 0.0, 0.0)))
    try:
        if nothing_learned(saddle, at_zero):
            return _solution(saddle, Outcome(at_zero, 0.0, 0, True))
    except (ArithmeticError, ValueError):  # parameters so extreme that the noisy law overflows
        return _failed(problem, Outcome(at_zero, float("inf"), 0, False))
    x = np.log([start.mh, start.qh, start.Vh]) if start and start.q > 0 else at_zero
    outcome = iterate(saddle, x, algorithm, tolerance=TOLERANCE, max_steps=MAX_STEPS)
    solution = _solution(saddle, outcome)
    for _ in range(REFINEMENTS):
        if not solution.trusted:
            break
        saddle = SaddleMap(problem, saddle.resolution.refined())
        before = outcome.steps
        outcome = iterate(saddle, outcome.point, algorithm, tolerance=TOLERANCE, max_steps=MAX_STEPS)
        outcome = outcome._replace(steps=before + outcome.steps)
        coarser, solution = solution, _solution(saddle, outcome)
        solution = replace(solution, errors=_errors(coarser, solution))
        if solution.error_estimate < ACCURACY:
            return solution
    solution = replace(solution, errors={name: SAFETY * error for name, error in solution.errors.items()})
    inaccurate = solution.trusted and solution.error_estimate > INACCURATE  # a step limit keeps its own advice
    return replace(solution, status=Status.INACCURATE) if inaccurate else solution


def nothing_learned(saddle: SaddleMap, at_zero: Vector) -> bool:
    """Whether S = 0 reproduces itself: no eigenvalue of Y exceeds the threshold that the conjugates of S = 0 set."""
    reduced = saddle.reduced(at_zero)
    return reduced.b >= saddle.problem.target.upper_edge(reduced.v)


def _errors(coarser: Solution, finer: Solution) -> dict[str, float]:
    """Absolute error of each quantity: change under refinement, and the residual as a relative error."""
    return {
        name: abs(getattr(finer, name) - getattr(coarser, name)) + finer.residual * abs(getattr(finer, name))
        for name in QUANTITIES
    }


def _failed(problem: Problem, outcome: Outcome) -> Solution:
    """A solve that left the domain: every value is not a number."""
    nothing: dict[str, Any] = dict.fromkeys(QUANTITIES, float("nan"))
    return Solution(
        problem, Status.DIVERGED, **nothing, quantile=None, residual=outcome.residual, iterations=outcome.steps
    )


def _solution(saddle: SaddleMap, outcome: Outcome) -> Solution:
    if not np.isfinite(outcome.residual):
        return _failed(saddle.problem, outcome)
    problem = saddle.problem
    mh, qh, Vh = np.exp(outcome.point)
    reduced, overlaps = saddle.reduced(outcome.point), saddle.overlaps(outcome.point)
    channel = saddle.channel(overlaps)
    e = generated.free_entropy(problem.alpha, channel.M, *overlaps, mh, qh, Vh, reduced.energy.J)
    return Solution(
        problem=problem,
        status=_status(outcome, overlaps),
        **overlaps._asdict(),
        mh=float(mh),
        qh=float(qh),
        Vh=float(Vh),
        delta=float(np.sqrt(reduced.v)),
        b=reduced.b,
        c=reduced.c,
        train_error=channel.train_error,
        test_error=channel.test_error,
        estimation_error=float(generated.estimation_error(problem.q0, overlaps.m, overlaps.q)),
        free_entropy=float(e),
        quantile=reduced.energy.quantile,
        residual=outcome.residual,
        iterations=outcome.steps,
    )


def _status(outcome: Outcome, overlaps: Overlaps) -> Status:
    if not outcome.converged:
        return Status.STEP_LIMIT
    return Status.UNLEARNED if overlaps.q == 0 else Status.CONVERGED
