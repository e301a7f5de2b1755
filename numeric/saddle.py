"""The six saddle-point equations as a map of the conjugates, its solution, and the phase S = 0 (theory note, section 3).

Unknowns are the logarithms of (mh, qh, Vh): every value is in the domain, and the spectral side gives (m, q, V) that
exist. One application of the map costs one channel average.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from generated.tied_attention import float64 as generated
from numeric.channel import COARSE, FINE, ChannelAverages, Resolution, average, unlearned
from numeric.iterate import Anderson, Outcome, Vector, iterate
from numeric.problem import Problem
from numeric.solution import Solution, Status
from numeric.spectrum import Energy, spectral_energy, support

TOLERANCE = 1e-8  # relative change of the conjugates under one step: far below the quadrature error
MAX_STEPS = 200
INACCURATE = 1e-2  # relative error estimate above which a solution is not called converged
_REPORTED = (
    "m",
    "q",
    "V",
    "mh",
    "qh",
    "Vh",
    "delta",
    "b",
    "c",
    "train_error",
    "test_error",
    "estimation_error",
    "free_entropy",
)


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
        return Reduced(
            float(v), float(b), float(c), spectral_energy(float(v), float(b), self.problem.width, self.problem.target)
        )

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


def solve(problem: Problem, start: Solution | None = None, algorithm: Anderson | None = None) -> Solution:
    """Solve at one point, cold or from the solution at a nearby point; always returns, with a status.

    The error estimate is the difference between the solutions at two channel resolutions, plus what the residual allows.
    """
    algorithm = algorithm or Anderson()
    coarse, fine = SaddleMap(problem, COARSE), SaddleMap(problem, FINE)
    at_zero = coarse.conjugates(coarse.channel(Overlaps(0.0, 0.0, 0.0)))
    reduced = coarse.reduced(at_zero)
    if reduced.b >= support(reduced.v, problem.target)[-1][1]:
        return _solution(fine, Outcome(at_zero, 0.0, 1, True), {})
    warm = start is not None and start.problem.target == problem.target and start.q > 0
    x = np.log([start.mh, start.qh, start.Vh]) if warm and start else at_zero
    rough = iterate(coarse, x, algorithm, tolerance=TOLERANCE, max_steps=MAX_STEPS)
    if not rough.converged:
        return _solution(coarse, rough, {})
    exact = iterate(fine, rough.point, algorithm, tolerance=TOLERANCE, max_steps=MAX_STEPS)
    before, after = _solution(coarse, rough, {}), _solution(fine, exact, {})
    errors = {
        name: abs(getattr(after, name) - getattr(before, name)) + exact.residual * abs(getattr(after, name))
        for name in _REPORTED
    }
    return _solution(fine, exact, errors)


def _solution(saddle: SaddleMap, outcome: Outcome, errors: dict[str, float]) -> Solution:
    problem = saddle.problem
    (mh, qh, Vh), reduced, overlaps = (
        np.exp(outcome.point),
        saddle.reduced(outcome.point),
        saddle.overlaps(outcome.point),
    )
    channel = saddle.channel(overlaps)
    e = generated.free_entropy(problem.alpha, channel.M, *overlaps, mh, qh, Vh, reduced.energy.J)
    solution = Solution(
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
        errors=errors,
    )
    return solution


def _status(outcome: Outcome, overlaps: Overlaps) -> Status:
    if not outcome.converged:
        return Status.STEP_LIMIT if np.isfinite(outcome.residual) else Status.DIVERGED
    return Status.UNLEARNED if overlaps.q == 0 else Status.CONVERGED
