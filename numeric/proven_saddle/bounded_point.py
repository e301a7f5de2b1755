"""Point of a learning curve with a channel averaged in float64 and computed error bounds.

Errors of the five averages move the overlaps by linear response, and both move the quantities.
"""

import math
from functools import partial

import numpy as np
from flint import arb
from numpy.typing import NDArray

from numeric.exact.exact_problem import ExactProblem
from numeric.exact.quantities import quantities
from numeric.maths.ball_systems import Linearised, Vector, approximate_inverse
from numeric.maths.balls import START_BITS, Ball, Unresolved, working
from numeric.proven_saddle.contour_bound import COARSE, ContourBound
from numeric.proven_saddle.decimal_point import DecimalPoint, decimals
from numeric.proven_saddle.estimated_point import differences, find_root, residual
from numeric.proven_saddle.smooth_channel import averages_from_sums
from numeric.proven_saddle.smooth_pairs import Lattice, PairChannel, PairSums, applies
from numeric.saddle.solve import solve

Array = NDArray[np.float64]
BASIS = (
    "every value within 0.7 units of its last digit; errors bounded, relative to the value by "
    "{:.0e} at most, from norms of the channel average along shifted lines (evaluated "
    "numerically), its reach, rounding in float64 and slopes of the saddle point"
)
MOST_DIGITS = 12
SPARE = 2  # additional digits of averages
LINEAR = 1.1  # safety factor of slopes with four digits; higher orders are far smaller
PART = 0.2  # maximum error in units of the last digit, in addition to rounding


def bounded_point(problem: ExactProblem, digits: int = MOST_DIGITS) -> DecimalPoint:
    """Solve a problem whose channel has two visible indices and smooth minimisers.

    The start is the solution in float64. Each quantity has as many digits as its bound allows.

    Args:
        problem: the problem.
        digits: maximum number of digits, at most `MOST_DIGITS`.

    Raises:
        ValueError: the channel is of another kind, or `digits` is too large.
        NoAnswer: there is no solution, its minimiser jumps, its average has no bound, or the bound
            allows no digit.
    """
    if not applies(problem.rounded) or digits > MOST_DIGITS:
        raise ValueError(f"{digits} digits of {problem.rounded.model}: see solver_of")
    found = solve(problem.rounded).unwrap()
    with working(START_BITS):
        at = tuple(map(arb, (found.m, found.q, found.V)))
        by_overlaps = differences(
            lambda x: _residual_and_quantities(problem, x, _balls(_sums(problem, x, COARSE))), at
        )
        inverse = approximate_inverse(Linearised(at, by_overlaps[: len(at)]))
        bound = ContourBound.of(PairChannel.of(problem.rounded, at))
        goal = 10.0 ** -(digits + SPARE)
        tolerance, residual_at = arb(10 * goal), partial(_residual, problem)
        for share in (goal**0.7, goal):  # the coarser one costs a tenth and gives a better start
            lattice = bound.lattice(share)
            sums_at = partial(_sums, problem, lattice=lattice)
            at, sums, _ = find_root(sums_at, residual_at, at, inverse, tolerance)
        values = quantities(problem, at, averages_from_sums(problem, at, _balls(sums)))
        by_sums = differences(lambda x: _residual_and_quantities(problem, at, x), _balls(sums))
        bounds = bound.errors(lattice, sums)
        errors = _errors(by_overlaps, by_sums, residual_at(at, sums), bounds)
        counts = [
            _significant_digits(value, error, digits)
            for value, error in zip(values.values(), errors, strict=True)
        ]
        if min(counts) < 1:
            reason = "the error bound is too large for any digit"
            raise Unresolved(f"alpha = {found.problem.alpha:g}: {reason}")
        texts: dict[str, str | None] = {}
        for (name, value), count in zip(values.items(), counts, strict=True):
            texts |= decimals({name: value.mid()}, count) or {}
    worst = max(
        error / abs(float(value))
        for value, error in zip(values.values(), errors, strict=True)
        if value != 0
    )
    return DecimalPoint(problem, texts, min(counts), "bounded", BASIS.format(worst))


def _sums(problem: ExactProblem, at: Vector, lattice: Lattice) -> PairSums:
    return PairChannel.of(problem.rounded, at).sums(lattice)


def _balls(sums: PairSums) -> Vector:
    """Return the averages as balls of radius zero."""
    return tuple(map(arb, sums.averages.tolist()))


def _residual_and_quantities(problem: ExactProblem, at: Vector, sums: Vector) -> Vector:
    """Return the residual of the saddle point, then all quantities, from the five averages."""
    means = averages_from_sums(problem, at, sums)
    return (*residual(problem, at, means), *quantities(problem, at, means).values())


def _residual(problem: ExactProblem, at: Vector, sums: PairSums) -> Vector:
    return residual(problem, at, averages_from_sums(problem, at, _balls(sums)))


def _errors(
    by_overlaps: tuple[Vector, ...], by_sums: tuple[Vector, ...], left: Vector, sums: Array
) -> Array:
    """Return error bounds of all quantities to first order.

    `by_overlaps` and `by_sums` are slopes of `_residual_and_quantities`, `left` is the residual and
    `sums` are bounds of the errors of the averages.
    """
    n = len(left)
    overlaps, given = (
        np.array([[float(slope) for slope in row] for row in rows])
        for rows in (by_overlaps, by_sums)
    )
    through = overlaps[n:] @ np.linalg.inv(overlaps[:n])
    moved = np.abs(given[n:] - through @ given[:n]) @ sums
    return np.asarray(LINEAR * (moved + np.abs(through) @ np.abs([float(one) for one in left])))


def _significant_digits(value: Ball, error: float, digits: int) -> int:
    """Return the number of digits, at most `digits`, for which the error is below `PART`."""
    if value == 0:
        return digits
    last = math.ceil(math.log10(error / PART))
    return min(digits, math.floor(math.log10(abs(float(value)))) + 1 - last)
