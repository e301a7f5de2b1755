"""A point of a learning curve whose channel is averaged in float64, each digit within a computed bound of all errors.

Errors of the five averages move the overlaps through the inverse slopes of the saddle point, and by both what is printed.
"""

import math
from functools import partial

import numpy as np
from flint import arb
from numpy.typing import NDArray

from numeric.maths.ball_systems import Linearised, Vector, approximate_inverse
from numeric.maths.balls import START_BITS, Ball, Unresolved, working
from numeric.proven_saddle.contour_bound import COARSE, ContourBound
from numeric.proven_saddle.decimal_point import DecimalPoint, decimals, quantities
from numeric.proven_saddle.estimated_point import differences, residual, root
from numeric.proven_saddle.exact_problem import ExactProblem
from numeric.proven_saddle.smooth_pairs import Lattice, PairChannel, PairSums, applies, averages
from numeric.saddle.solve import solve

Array = NDArray[np.float64]
BASIS = (
    "every value within 0.7 units of its last digit; errors bounded, relative to the value by {:.0e} at most, from norms of the "
    "channel average along shifted lines (evaluated numerically), its reach, rounding in float64 and slopes of the saddle point"
)
MOST_DIGITS = 12
SPARE = 2  # digits by which averages are better than what is asked
LINEAR = 1.1  # margin of slopes that have four digits; what is beyond first order is far smaller
PART = 0.2  # of a unit of the last digit that the error may take, besides the rounding to digits


def bounded_point(problem: ExactProblem, digits: int = MOST_DIGITS) -> DecimalPoint:
    """The saddle point of a channel of two visible indices with smooth minimisers, to at most `MOST_DIGITS` digits.

    The start is the solution in float64. Each quantity has the digits that its bound allows, and no more than are asked for.

    Raises:
        ValueError: there is no such channel, or more digits than it can have.
        NoAnswer: there is no solution, its minimiser jumps, its average has no bound, or the bound allows no digit.
    """
    if not applies(problem.rounded) or digits > MOST_DIGITS:
        raise ValueError(f"{digits} digits of {problem.rounded.model}: see solver_of")
    found = solve(problem.rounded).unwrap()
    with working(START_BITS):
        at = tuple(map(arb, (found.m, found.q, found.V)))
        by_overlaps = differences(
            lambda x: _outcome(problem, x, _five(_sums(problem, x, COARSE))), at
        )
        inverse = approximate_inverse(Linearised(at, by_overlaps[: len(at)]))
        bound = ContourBound.of(PairChannel.of(problem.rounded, at))
        goal = 10.0 ** -(digits + SPARE)
        settled = arb(10 * goal)  # what is left over counts in the errors
        for share in (goal**0.7, goal):  # the rougher one, which costs a tenth, for a better start
            lattice = bound.lattice(share)
            at, sums, _ = root(
                partial(_sums, problem, lattice=lattice),
                partial(_left, problem),
                at,
                inverse,
                settled,
            )
        values = quantities(problem, at, averages(problem, at, _five(sums)))
        by_sums = differences(lambda five: _outcome(problem, at, five), _five(sums))
        errors = _errors(
            by_overlaps, by_sums, _left(problem, at, sums), bound.errors(lattice, sums)
        )
        counts = [
            _allowed(value, error, digits)
            for value, error in zip(values.values(), errors, strict=True)
        ]
        if min(counts) < 1:
            raise Unresolved(
                f"alpha = {found.problem.alpha:g}: the bound of the error is too large for any digit"
            )
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


def _five(sums: PairSums) -> Vector:
    """The averages, as if exact."""
    return tuple(map(arb, sums.averages.tolist()))


def _outcome(problem: ExactProblem, at: Vector, five: Vector) -> Vector:
    """What the saddle point leaves over at overlaps, and after it all quantities, from the averages there."""
    means = averages(problem, at, five)
    return (*residual(problem, at, means), *quantities(problem, at, means).values())


def _left(problem: ExactProblem, at: Vector, sums: PairSums) -> Vector:
    return residual(problem, at, averages(problem, at, _five(sums)))


def _errors(
    by_overlaps: tuple[Vector, ...], by_sums: tuple[Vector, ...], left: Vector, sums: Array
) -> Array:
    """Bounds of the errors of all quantities, to first order: slopes of `_outcome`, what is left over, bounds of the sums."""
    n = len(left)
    overlaps, given = (
        np.array([[float(slope) for slope in row] for row in rows])
        for rows in (by_overlaps, by_sums)
    )
    through = overlaps[n:] @ np.linalg.inv(overlaps[:n])
    moved = np.abs(given[n:] - through @ given[:n]) @ sums
    return np.asarray(LINEAR * (moved + np.abs(through) @ np.abs([float(one) for one in left])))


def _allowed(value: Ball, error: float, digits: int) -> int:
    """Significant digits, up to so many, of whose last one the error is less than `PART` of a unit."""
    if value == 0:
        return digits
    return min(
        digits, math.floor(math.log10(abs(float(value)))) + 1 - math.ceil(math.log10(error / PART))
    )
