"""Point of a learning curve with many digits, estimated from two numerical channel rules."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from flint import arb

from numeric.exact.exact_problem import ExactProblem
from numeric.exact.quantities import quantities
from numeric.maths.ball_systems import Linearised, Vector, approximate_inverse, product
from numeric.maths.balls import BITS_PER_DIGIT, START_BITS, Ball, Unresolved, around, working
from numeric.proven_saddle.decimal_point import DecimalPoint, decimals
from numeric.proven_saddle.smooth_channel import SmoothAverages, Trapezoid, applies, averages
from numeric.saddle.solve import solve

BASIS = (
    "channel averages by trapezoidal rules of two steps and reaches agree on the digits; "
    "rounding in balls; the last step of the unknowns is relative {}"
)
MOST_DIGITS = 40
COARSE = Trapezoid(0.2, 0.5, 8.5)  # for slopes
STRIP = 1.15  # first estimate of the imaginary distance of singularities (standard deviations)
ACROSS = 2.5  # step of the field that the label does not see, relative to the other step
DIFFERENCE = 2.0**-24  # relative step of central differences
FINER, REFINEMENTS = 1.2, 5  # ratio of the steps of two rules; maximum number of refinements
STEPS = 30  # maximum number of iterations; each reduces the error by that of the slopes
GUARD = 40  # additional bits

T = TypeVar("T")


def estimated_point(problem: ExactProblem, digits: int = 30) -> DecimalPoint:
    """Solve a problem whose channel has one visible index per block and smooth minimisers.

    The start is the solution in float64. The digits are those on which two rules agree, with a
    safety factor of two.

    Args:
        problem: the problem.
        digits: number of digits, at most `MOST_DIGITS`.

    Raises:
        ValueError: the channel is of another kind, or `digits` is too large.
        NoAnswer: there is no solution, its minimiser jumps, or the rules do not agree.
    """
    if not applies(problem.rounded) or digits > MOST_DIGITS:
        raise ValueError(f"{digits} digits of {problem.rounded.model}: see solver_of")
    found, residual_at = solve(problem.rounded).unwrap(), partial(residual, problem)
    with working(START_BITS):
        start = tuple(map(arb, (found.m, found.q, found.V)))
        coarse = partial(averages, problem, rule=COARSE)
        rows = differences(lambda x: residual_at(x, coarse(x)), start)
        inverse = approximate_inverse(Linearised(start, rows))
    step = 2 * math.pi * STRIP / (math.log(10) * (digits + 2))
    reach, farther = (math.sqrt(2 * math.log(10) * (digits + spare)) for spare in (3, 5))
    with working(round(digits * BITS_PER_DIGIT) + GUARD):
        goal, at = arb(10) ** -(digits + 2), start
        for _ in range(REFINEMENTS):
            rules = (
                Trapezoid(step, ACROSS * step, reach),
                Trapezoid(step / FINER, ACROSS * step / FINER, farther),
            )
            found_by = []
            for rule in rules:
                means_at = partial(averages, problem, rule=rule)
                at, means, last = find_root(means_at, residual_at, at, inverse, goal)
                found_by.append(quantities(problem, at, means))
            rough, fine = found_by
            values = {
                name: around(value, 2 * abs(value - rough[name]) + value.rad())
                for name, value in fine.items()
            }
            texts = decimals(values, digits)
            if texts is not None:
                basis = BASIS.format(f"{float(last):.0e}")
                return DecimalPoint(problem, texts, digits, "estimated", basis)
            step = step / FINER
    raise Unresolved(f"alpha = {found.problem.alpha:g}: two rules do not agree to {digits} digits")


def find_root(
    means_at: Callable[[Vector], T],
    residual_at: Callable[[Vector, T], Vector],
    at: Vector,
    inverse: Any,
    goal: Ball,
) -> tuple[Vector, T, Ball]:
    """Find the root near given overlaps by iterations with fixed slopes.

    Args:
        means_at: channel averages as a function of the overlaps (m, q, V).
        residual_at: residual of the saddle point as a function of overlaps and averages.
        at: overlaps at the start.
        inverse: approximate inverse of the slopes of the residual.
        goal: relative size of the last step.

    Returns:
        The overlaps, the averages at them, and the relative size of the last step.

    Raises:
        Unresolved: the steps do not become small.
    """
    for _ in range(STEPS):
        means = means_at(at)
        change = tuple(step.mid() for step in product(inverse, residual_at(at, means)))
        size = max((abs(d / x).mid() for d, x in zip(change, at, strict=True)), key=float)
        if size < goal:
            return at, means, size
        at = tuple((x - d).mid() for x, d in zip(at, change, strict=True))
    raise Unresolved("the steps of the unknowns do not become small")


def residual(problem: ExactProblem, at: Vector, averages: SmoothAverages) -> Vector:
    """Return the residual of the saddle point, shape (3,).

    Args:
        problem: the problem.
        at: overlaps (m, q, V).
        averages: channel averages at these overlaps.
    """
    mh, qh, Vh = problem.call("conjugates", problem.alpha, averages.M_m, averages.M_q, averages.M_V)
    v, b, c = problem.call("reduced_variables", mh, qh, Vh)
    energy = problem.energy(v, b)
    back = problem.call("overlaps", energy.J, energy.J_v, energy.J_b, v, b, c, Vh)
    return tuple(x - y for x, y in zip(at, back, strict=True))


def differences(function: Callable[[Vector], Vector], at: Vector) -> tuple[Vector, ...]:
    """Return slopes by central differences, one row for each value of the function.

    Args:
        function: the function.
        at: point at which the slopes are computed.
    """
    columns = []
    for k, x in enumerate(at):
        shift = x * DIFFERENCE
        above = function((*at[:k], x + shift, *at[k + 1 :]))
        below = function((*at[:k], x - shift, *at[k + 1 :]))
        columns.append([(y - z).mid() / (2 * shift) for y, z in zip(above, below, strict=True)])
    return tuple(zip(*columns, strict=True))
