"""A point of a learning curve to many digits where the channel is averaged numerically: estimated from two rules, not proven."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from flint import arb

from numeric.maths.ball_systems import Linearised, Vector, approximate_inverse, product
from numeric.maths.balls import BITS_PER_DIGIT, START_BITS, Ball, Unresolved, around, working
from numeric.proven_saddle.decimal_point import DecimalPoint, decimals, quantities
from numeric.proven_saddle.exact_problem import ExactProblem
from numeric.proven_saddle.smooth_channel import SmoothAverages, Trapezoid, applies, averages
from numeric.saddle.solve import solve

BASIS = (
    "channel averages by trapezoidal rules of two steps and reaches agree on the digits; rounding in balls; "
    "the last step of the unknowns is relative {}"
)
MOST_DIGITS = 40
COARSE = Trapezoid(0.2, 0.5, 8.5)  # for slopes
STRIP = 1.15  # imaginary distance of singularities in standard deviations, at first
ACROSS = 2.5  # how much coarser the part that the label does not see is, at first: it is narrow, and far from singularities
DIFFERENCE = 2.0**-24  # relative step of the slopes: central, so that they err by its square
FINER, REFINEMENTS = 1.2, 5  # ratio of the two steps; how often both are refined
STEPS = 30  # of the unknowns, each of which multiplies their error by that of the slopes
GUARD = 40  # bits

T = TypeVar("T")


def estimated_point(problem: ExactProblem, digits: int = 30) -> DecimalPoint:
    """The saddle point of a channel of one visible index a block with smooth minimisers, to at most `MOST_DIGITS` digits.

    The start is the solution in float64. Digits are given where the values of two rules agree on them with a margin of two.

    Raises:
        ValueError: there is no such channel, or more digits than it can have.
        NoAnswer: there is no solution, its minimiser jumps, or the rules do not agree.
    """
    if not applies(problem.rounded) or digits > MOST_DIGITS:
        raise ValueError(f"{digits} digits of {problem.rounded.model}: see solver_of")
    found, left = solve(problem.rounded).unwrap(), partial(residual, problem)
    with working(START_BITS):
        start = tuple(map(arb, (found.m, found.q, found.V)))
        coarse = partial(averages, problem, rule=COARSE)
        rows = differences(lambda x: residual(problem, x, coarse(x)), start)
        inverse = approximate_inverse(Linearised(start, rows))
    step = 2 * math.pi * STRIP / (math.log(10) * (digits + 2))
    reach, farther = (math.sqrt(2 * math.log(10) * (digits + spare)) for spare in (3, 5))
    with working(round(digits * BITS_PER_DIGIT) + GUARD):
        goal, at = arb(10) ** -(digits + 2), start
        for _ in range(REFINEMENTS):
            rule = Trapezoid(step, ACROSS * step, reach)
            at, means, _ = root(partial(averages, problem, rule=rule), left, at, inverse, goal)
            rough = quantities(problem, at, means)
            rule = Trapezoid(step / FINER, ACROSS * step / FINER, farther)
            at, means, last = root(partial(averages, problem, rule=rule), left, at, inverse, goal)
            fine = quantities(problem, at, means)
            values = {
                name: around(value, 2 * abs(value - rough[name]) + value.rad())
                for name, value in fine.items()
            }
            texts = decimals(values, digits)
            if texts is not None:
                return DecimalPoint(
                    problem, texts, digits, "estimated", BASIS.format(f"{float(last):.0e}")
                )
            step = step / FINER
    raise Unresolved(f"alpha = {found.problem.alpha:g}: two rules do not agree to {digits} digits")


def root(
    means_at: Callable[[Vector], T],
    left_by: Callable[[Vector, T], Vector],
    at: Vector,
    inverse: Any,
    goal: Ball,
) -> tuple[Vector, T, Ball]:
    """The overlaps (m, q, V) next to `at`, the averages there, and the last step, relative and below `goal`."""
    for _ in range(STEPS):
        means = means_at(at)
        change = tuple(step.mid() for step in product(inverse, left_by(at, means)))
        size = max((abs(d / x).mid() for d, x in zip(change, at, strict=True)), key=float)
        if size < goal:
            return at, means, size
        at = tuple((x - d).mid() for x, d in zip(at, change, strict=True))
    raise Unresolved("the steps of the unknowns do not become small")


def residual(problem: ExactProblem, at: Vector, averages: SmoothAverages) -> Vector:
    """What the saddle point leaves over at overlaps (m, q, V), from the averages there."""
    mh, qh, Vh = problem.call("conjugates", problem.alpha, averages.M_m, averages.M_q, averages.M_V)
    v, b, c = problem.call("reduced_variables", mh, qh, Vh)
    energy = problem.energy(v, b)
    back = problem.call("overlaps", energy.J, energy.J_v, energy.J_b, v, b, c, Vh)
    return tuple(x - y for x, y in zip(at, back, strict=True))


def differences(function: Callable[[Vector], Vector], at: Vector) -> tuple[Vector, ...]:
    """Slopes of a function, a row for each of its values, by central differences."""
    columns = []
    for k, x in enumerate(at):
        shift = x * DIFFERENCE
        ends = (
            tuple(y + side * shift if j == k else y for j, y in enumerate(at)) for side in (1, -1)
        )
        above, below = map(function, ends)
        columns.append(
            [(one - other).mid() / (2 * shift) for one, other in zip(above, below, strict=True)]
        )
    return tuple(zip(*columns, strict=True))
