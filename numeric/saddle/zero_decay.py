"""The limit lambda -> 0+ of factorised training (theory note, section 5).

Below interpolation the loss vanishes and the data leave a set of maps, of which weight decay picks that of least trace: V grows like
1/lambda, the channel becomes linear, and v and b solve two equations. Above interpolation b = 0 and nothing is singular. Without label
noise the target is recovered exactly beyond its threshold.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from numeric.laws.law import TRUSTED, BoundedDifference, Energy
from numeric.maths.replicates import Estimate
from numeric.prediction.prediction import prediction_of
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution, Status, failed_solution
from numeric.saddle.estimator import (
    DenoisingProblem,
    denoising_error_at,
    fitted_ratio,
    learned_overlaps,
    spectral_energy,
    upper_edge,
)
from numeric.saddle.replicon import spectral_factor
from numeric.saddle.zero_decay_errors import ROUNDED, PointEvaluation, bars
from numeric.thresholds.interpolation import interpolation
from numeric.thresholds.recovery import recovery

DIGITS = (
    12  # of the thresholds that separate the phases: closer to them double precision cannot tell
)
BRACKET = (1e-10, 1e6)  # of v over the second moment of the target and its noise
POINTS = 80  # of the search for sign changes: steps of a factor 1.6
TOLERANCE = 1e-13  # relative, of v and b
DOUBT = 1e-2  # relative, around the threshold found on the grid: there the proven one decides
SMALL = Fraction(1, 10**20)  # of the variance of a noise


def interpolates(problem: Problem) -> bool:
    """Whether the training loss vanishes as lambda -> 0+ (replica-symmetrically, for width < 1)."""
    law, width = problem.exact_law(), Fraction(problem.width)
    if problem.noise == 0 and width >= 1 - law.zero_mass:
        return True
    if not problem.is_indefinite:
        greatest = interpolation_bounds(problem)
        least, most = greatest.least * (1 - DOUBT), greatest.most * (1 + DOUBT)
        if not least <= problem.alpha <= most:
            return problem.alpha < least
    noise = (
        Fraction(problem.noise) or SMALL
    )  # a narrow student without noise: the limit of small noise
    return problem.alpha < float(interpolation(law, noise, problem.tokens, DIGITS, width))


class InterpolationBounds(NamedTuple):
    """Bounds of the interpolation threshold by the error of J, and the v at which it lies, in double precision."""

    least: float
    most: float
    v: float


def interpolation_bounds(problem: Problem) -> InterpolationBounds:
    """The interpolation threshold in double precision: the proven one takes seconds, and is seldom needed."""
    noise, q0, numbers = problem.noise, problem.q0, problem.label_numbers

    def objective(log_v: float, sign: int) -> float:
        v = float(np.exp(log_v))
        J = problem.target.energy(v, 0.0, problem.width).J * (1 + sign * TRUSTED)
        return float(problem.generated.interpolation_objective(J, v, noise, q0, numbers))

    grid = np.log(_grid(q0 + noise))
    values = [objective(log_v, +1) for log_v in grid]
    peak = int(np.argmax(values))
    around = grid[max(0, peak - 1)], grid[min(POINTS - 1, peak + 1)]
    top = scipy.optimize.minimize_scalar(
        lambda log_v: -objective(log_v, +1), bounds=around, method="bounded"
    ).x
    return InterpolationBounds(
        objective(top, -1), max(objective(top, +1), values[peak]), float(np.exp(top))
    )


def _grid(level: float) -> NDArray[np.float64]:
    """Values of v, shape (POINTS,), for a second moment of target and noise."""
    return level * np.geomspace(*BRACKET, POINTS)


def recovers(problem: Problem) -> bool:
    """Whether noise-free labels determine the target."""
    law, width = problem.exact_law(), Fraction(problem.width)
    if problem.noise > 0 or width < 1 - law.zero_mass:
        return False
    return problem.alpha >= float(recovery(law, problem.tokens, DIGITS, width))


def solve_interpolating(problem: Problem) -> Solution:
    """The phase of least loss; V is infinite and the conjugates zero, as they scale with 1/lambda and lambda."""
    generated = problem.generated
    gain = float(generated.interpolating_gain(problem.beta, problem.beta0))
    if recovers(problem):
        m, q = map(float, generated.multiple_overlaps(gain, problem.q0))
        return _solution(
            problem,
            gain,
            _Learned.at(problem, m, q, 0.0, 0.0, BoundedDifference(0.0, 0.0)),
            np.zeros(len(_Learned._fields)),
        )
    roots = list(interpolating_roots(problem))
    if not roots:
        return failed_solution(problem, Status.DIVERGED)
    v, b, energy = min(
        roots, key=lambda root: -root[2].J_b
    )  # weight decay picks the least trace, which is -J_b/2
    solution = _solution(
        problem, gain, _learned(problem, gain, v, b, energy), _bars(problem, gain, v, b)
    )
    residual = abs(float(_imbalance(problem, v))) / problem.rho
    solution = replace(solution, quantile=energy.quantile, residual=residual)
    spectral = spectral_factor(problem, DenoisingProblem(v, b, gain, energy, problem.target))
    stability = float(generated.interpolating_replicon(spectral, energy.J_v))
    return replace(
        solution, replicon=stability, status=Status.UNSTABLE if stability < 0 else Status.CONVERGED
    )


def interpolating_roots(problem: Problem) -> Iterator[tuple[float, float, Energy]]:
    """Solutions (v, b) with the spectral energy there, by sign changes of the balance along v; of any model, at any weight decay."""
    grid = _admissible(problem)
    values = [_imbalance(problem, v) for v in grid]
    for (low, left), (high, right) in pairwise(zip(grid, values, strict=True)):
        if left * right <= 0:  # never where one is not a number
            v = float(
                scipy.optimize.brentq(
                    partial(_imbalance, problem), low, high, xtol=1e-300, rtol=TOLERANCE
                )
            )
            b = _threshold(problem, v)
            yield v, b, spectral_energy(problem, v, b)


def _admissible(problem: Problem) -> list[float]:
    """A grid of v, with the ends of the ranges on which some threshold b >= 0 leaves as many numbers free as the labels fix."""
    grid = _grid(problem.q0 + problem.noise).tolist()
    ends = []
    for low, high in pairwise(grid):
        if (_freedom(problem, low) < 0) != (_freedom(problem, high) < 0):
            root = scipy.optimize.brentq(
                partial(_freedom, problem), low, high, xtol=1e-300, rtol=TOLERANCE
            )
            inside = [
                root * (1 + side * 4 * TOLERANCE) for side in (-1, 1)
            ]  # the root itself may fall on either side
            ends += [v for v in inside if _freedom(problem, v) >= 0]
    return sorted([*grid, *ends])


def _freedom(problem: Problem, v: float) -> float:
    """Sample ratio that the numbers free at b = 0 could fit, less the one given."""
    return fitted_ratio(problem, v, 0.0) - problem.alpha


def _imbalance(problem: Problem, v: float) -> float:
    """What vanishes at a solution, not a number where the data determine more than v leaves free."""
    b = _threshold(problem, v)
    if np.isnan(b):
        return float("nan")
    return _balance(problem, v, b, spectral_energy(problem, v, b))


def _balance(problem: Problem, v: float, b: float, energy: Energy) -> float:
    residual = problem.generated.interpolating_residual
    return float(residual(energy.J, energy.J_v, energy.J_b, v, b, problem.noise, problem.q0))


def _threshold(problem: Problem, v: float) -> float:
    """The eigenvalue threshold b >= 0 at which the fitted labels outnumber nothing: J_v(v, b) = 2 D alpha."""
    if _freedom(problem, v) < 0:
        return float("nan")
    top = upper_edge(problem, v)
    return float(
        scipy.optimize.brentq(
            lambda b: fitted_ratio(problem, v, b) - problem.alpha,
            0.0,
            top,
            xtol=1e-300,
            rtol=TOLERANCE,
        )
    )


class _Learned(NamedTuple):
    """What moves with the root: some of QUANTITIES; errors with what their own evaluation leaves."""

    m: float
    q: float
    delta: float
    b: float
    test_error: Estimate
    estimation_error: float
    denoising_error: BoundedDifference

    @classmethod
    def at(
        cls, problem: Problem, m: float, q: float, v: float, b: float, denoising: BoundedDifference
    ) -> Self:
        """At these overlaps."""
        test_error = prediction_of(problem).test_error(Overlaps(m, q, float("inf")))
        estimation = float(problem.generated.estimation_error(problem.q0, m, q))
        return cls(m, q, float(np.sqrt(v)), b, test_error, estimation, denoising)

    @property
    def values(self) -> NDArray[np.float64]:
        """The numbers alone."""
        return np.array([one[0] if isinstance(one, tuple) else one for one in self])


def _learned(problem: Problem, gain: float, v: float, b: float, energy: Energy) -> _Learned:
    m, q = learned_overlaps(problem, energy, v, b, gain)
    return _Learned.at(problem, m, q, v, b, denoising_error_at(problem, v, b, energy))


def _bars(problem: Problem, gain: float, v: float, b: float) -> NDArray[np.float64]:
    """Errors of what is learned at the root (v, b)."""

    def at(v: float, b: float, energy: Energy) -> PointEvaluation:
        counted = (
            float(problem.generated.interpolation_ratio(energy.J_v, problem.label_numbers))
            / problem.alpha
            - 1
        )
        balance = _balance(problem, v, b, energy) / problem.rho
        return PointEvaluation(
            np.array([counted, balance]), _learned(problem, gain, v, b, energy).values
        )

    cut = spectral_energy(problem, v, b).quantile
    ends = (
        problem.signed_targets(problem.target) if b > 0 else ()
    )  # at b = 0 all of the law is learned of either sign
    accuracy = max((end.accuracy(v, b if cut is None else cut) for end in ends), default=0.0)
    return bars(at, partial(spectral_energy, problem), np.array([v, b]), accuracy)


def _solution(
    problem: Problem, gain: float, learned: _Learned, spread: NDArray[np.float64]
) -> Solution:
    """The solution; `spread` are the errors of `learned` beside those of its own evaluation."""
    fitted = prediction_of(problem).fitted_error()
    values: dict[str, Any] = {
        **dict(zip(_Learned._fields, learned.values.tolist(), strict=True)),
        "V": float("inf"), "mh": 0.0, "qh": 0.0, "Vh": 0.0, "c": gain,
        "train_error": fitted.value, "free_entropy": problem.alpha * fitted.value,
    }  # fmt: skip
    errors = {name: ROUNDED * abs(value) for name, value in values.items() if np.isfinite(value)}
    errors |= dict(zip(_Learned._fields, spread.tolist(), strict=True))
    errors["test_error"] += learned.test_error.error
    errors["denoising_error"] += learned.denoising_error.rounding
    unfitted = fitted.error + ROUNDED  # a loss that vanishes is one of outputs that are rounded
    errors["train_error"] += unfitted
    errors["free_entropy"] += problem.alpha * unfitted
    return Solution(
        problem, Status.CONVERGED, **values, quantile=None, antisymmetric=None, replicon=float("nan"),
        residual=0.0, iterations=1, errors=errors,
    )  # fmt: skip
