"""Limit lambda -> 0+ of factorised training (theory note, section 5).

Below interpolation the loss vanishes on a set of matrices, and weight decay selects the one of
least trace: V grows like 1/lambda, the channel becomes linear, and v and b solve two equations.
Above interpolation b = 0 and the equations are regular. Without label noise the target is recovered
exactly above the recovery threshold.
"""

from collections.abc import Callable, Iterator
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
    law_accuracy,
    learned_overlaps,
    spectral_energy,
    upper_edge,
)
from numeric.saddle.replicon import spectral_factor
from numeric.saddle.root_errors import ROUNDED, STEP, PointEvaluation, bars
from numeric.thresholds.interpolation import interpolation
from numeric.thresholds.recovery import recovery

DIGITS = 12  # of the thresholds between phases; double precision does not resolve more
BRACKET = (1e-10, 1e6)  # range of v relative to the second moment of the target and its noise
POINTS = 80  # grid points in the search for sign changes: steps of a factor 1.6
TOLERANCE = 1e-13  # relative tolerance of v and b
DOUBT = 1e-2  # relative distance from the float64 threshold within which the proven one is used
SMALL = Fraction(1, 10**20)  # noise variance that replaces 0 for a narrow student


def interpolates(problem: Problem) -> bool:
    """Return whether the training loss vanishes as lambda -> 0+.

    The result is replica symmetric for width < 1.
    """
    law, width = problem.exact_law(), Fraction(problem.width)
    if problem.noise == 0 and width >= 1 - law.zero_mass:
        return True
    if not problem.is_indefinite:
        greatest = interpolation_bounds(problem)
        least, most = greatest.least * (1 - DOUBT), greatest.most * (1 + DOUBT)
        if not least <= problem.alpha <= most:
            return problem.alpha < least
    noise = Fraction(problem.noise) or SMALL
    return problem.alpha < float(interpolation(law, noise, problem.tokens, DIGITS, width))


class InterpolationBounds(NamedTuple):
    """Bounds of the interpolation threshold from the error of J, and its v, in double precision."""

    least: float
    most: float
    v: float


def interpolation_bounds(problem: Problem) -> InterpolationBounds:
    """Return the interpolation threshold in double precision; the proven one takes seconds."""
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
    """Return values of v, shape (POINTS,), for a second moment of target and noise."""
    return level * np.geomspace(*BRACKET, POINTS)


def recovers(problem: Problem) -> bool:
    """Return whether noise-free labels determine the target."""
    target, width = problem.target, Fraction(problem.width)
    if problem.noise > 0 or width < 1 - problem.exact_law().zero_mass:
        return False
    found = recovery(target, problem.tokens, DIGITS, width, model=problem.model)
    return problem.alpha >= float(found)


def solve_interpolating(problem: Problem) -> Solution:
    """Solve the interpolating phase, in which V is infinite and the conjugates are zero."""
    generated = problem.generated
    gain = float(generated.interpolating_gain(problem.beta, problem.beta0))
    if recovers(problem):
        m, q = map(float, generated.multiple_overlaps(gain, problem.q0))
        learned = _Quantities.at(problem, m, q, 0.0, 0.0, BoundedDifference(0.0, 0.0))
        # The indices of student and target are equal up to the gain, so that the loss is that of a
        # student with the visible index of the label.
        learned = learned._replace(test_error=prediction_of(problem).fitted_error())
        return _solution(problem, gain, learned, np.zeros(len(learned)))
    roots = list(interpolating_roots(problem))
    if not roots:
        return failed_solution(problem, Status.DIVERGED)
    # Weight decay selects the least trace, which is -J_b/2.
    v, b, energy = min(roots, key=lambda root: -root[2].J_b)
    learned = _quantities(problem, gain, v, b, energy)
    solution = _solution(problem, gain, learned, _bars(problem, gain, v, b))
    residual = abs(float(_imbalance(problem, v))) / problem.rho
    solution = replace(solution, quantile=energy.quantile, residual=residual)
    spectral = spectral_factor(problem, DenoisingProblem(v, b, gain, energy, problem.target))
    stability = float(generated.interpolating_replicon(spectral, energy.J_v))
    status = Status.UNSTABLE if stability < 0 else Status.CONVERGED
    return replace(solution, replicon=stability, status=status)


def interpolating_roots(problem: Problem) -> Iterator[tuple[float, float, Energy]]:
    """Return the roots (v, b) with their spectral energy, by sign changes of the balance in v."""
    grid = _admissible_grid(problem)
    values = [_imbalance(problem, v) for v in grid]
    for (low, left), (high, right) in pairwise(zip(grid, values, strict=True)):
        if left * right <= 0:  # False if one is NaN
            v = _root(partial(_imbalance, problem), low, high)
            b = _threshold(problem, v)
            yield v, b, spectral_energy(problem, v, b)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    return float(scipy.optimize.brentq(function, low, high, xtol=1e-300, rtol=TOLERANCE))


def _admissible_grid(problem: Problem) -> list[float]:
    """Return a grid of v with the ends of the ranges in which a threshold b >= 0 exists."""
    grid = _grid(problem.q0 + problem.noise).tolist()
    ends = []
    for low, high in pairwise(grid):
        if (_freedom(problem, low) < 0) != (_freedom(problem, high) < 0):
            root = _root(partial(_freedom, problem), low, high)
            # The root itself may be on either side.
            inside = [root * (1 + side * 4 * TOLERANCE) for side in (-1, 1)]
            ends += [v for v in inside if _freedom(problem, v) >= 0]
    return sorted([*grid, *ends])


def _freedom(problem: Problem, v: float) -> float:
    """Return the sample ratio that the directions free at b = 0 can fit, minus the given one."""
    return fitted_ratio(problem, v, 0.0) - problem.alpha


def _imbalance(problem: Problem, v: float) -> float:
    """Return the balance of v, zero at a solution; NaN if no threshold exists."""
    b = _threshold(problem, v)
    if np.isnan(b):
        return float("nan")
    return _balance(problem, v, b, spectral_energy(problem, v, b))


def _balance(problem: Problem, v: float, b: float, energy: Energy) -> float:
    residual = problem.generated.interpolating_residual
    return float(residual(energy.J, energy.J_v, energy.J_b, v, b, problem.noise, problem.q0))


def _threshold(problem: Problem, v: float) -> float:
    """Return the threshold b >= 0 at which all free directions are fixed, J_v(v, b) = 2 D alpha."""
    if _freedom(problem, v) < 0:
        return float("nan")
    top = upper_edge(problem, v)
    return _root(lambda b: fitted_ratio(problem, v, b) - problem.alpha, 0.0, top)


class _Quantities(NamedTuple):
    """QUANTITIES that depend on the root; errors include their own evaluation error."""

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
        """Return the quantities at a root.

        Args:
            problem: the problem.
            m: overlap with the target (eigenvalue^2).
            q: self-overlap (eigenvalue^2).
            v: noise variance (eigenvalue^2).
            b: eigenvalue threshold.
            denoising: denoising error with its rounding error.
        """
        test_error = prediction_of(problem).test_error(Overlaps(m, q, float("inf")))
        estimation = float(problem.generated.estimation_error(problem.q0, m, q))
        return cls(m, q, float(np.sqrt(v)), b, test_error, estimation, denoising)

    @property
    def values(self) -> NDArray[np.float64]:
        """Values without errors, shape (quantities,)."""
        return np.array([one[0] if isinstance(one, tuple) else one for one in self])


def _quantities(problem: Problem, gain: float, v: float, b: float, energy: Energy) -> _Quantities:
    m, q = learned_overlaps(problem, energy, v, b, gain)
    error = denoising_error_at(problem, problem.target, v, b, energy)
    return _Quantities.at(problem, m, q, v, b, error)


def _bars(problem: Problem, gain: float, v: float, b: float) -> NDArray[np.float64]:
    """Return the errors of the quantities at the root (v, b)."""

    def at(root: NDArray[np.float64], energy: Energy) -> PointEvaluation:
        v, b = map(float, root)
        fitted = problem.generated.interpolation_ratio(energy.J_v, problem.label_numbers)
        balance = _balance(problem, v, b, energy) / problem.rho
        equations = np.array([float(fitted) / problem.alpha - 1, balance])
        return PointEvaluation(equations, _quantities(problem, gain, v, b, energy).values)

    # At b = 0 the whole law is learned.
    accuracy = law_accuracy(problem, v, b, spectral_energy(problem, v, b).quantile)
    moves = np.array([v * np.expm1(STEP), STEP * np.sqrt(v)])
    root = np.array([v, b])
    return bars(at, lambda root: spectral_energy(problem, *map(float, root)), root, moves, accuracy)


def _solution(
    problem: Problem, gain: float, learned: _Quantities, spread: NDArray[np.float64]
) -> Solution:
    """Return the solution; `spread` are the errors of `learned` without its evaluation error."""
    fitted = prediction_of(problem).fitted_error()
    values: dict[str, Any] = {
        **dict(zip(learned._fields, learned.values.tolist(), strict=True)),
        "V": float("inf"), "mh": 0.0, "qh": 0.0, "Vh": 0.0, "c": gain,
        "train_error": fitted.value, "free_entropy": problem.alpha * fitted.value,
    }  # fmt: skip
    errors = {name: ROUNDED * abs(value) for name, value in values.items() if np.isfinite(value)}
    errors |= dict(zip(learned._fields, spread.tolist(), strict=True))
    errors["test_error"] += learned.test_error.error
    errors["denoising_error"] += learned.denoising_error.rounding
    unfitted = fitted.error + ROUNDED  # outputs are rounded, also where the loss vanishes
    errors["train_error"] += unfitted
    errors["free_entropy"] += problem.alpha * unfitted
    values |= {"quantile": None, "antisymmetric": None, "replicon": float("nan")}
    unlearned = prediction_of(problem).test_error(Overlaps(0.0, 0.0, float("inf"))).value
    return Solution(
        problem, Status.CONVERGED, **values, residual=0.0, iterations=1, errors=errors,
        unlearned_error=unlearned,
    )  # fmt: skip
