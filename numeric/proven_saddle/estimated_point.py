"""A point of a learning curve to many digits where the channel is averaged numerically: estimated from two rules, not proven."""

import math
from typing import Any

from flint import arb

from numeric.maths.ball_systems import Linearised, Vector, approximate_inverse, product
from numeric.maths.balls import BITS_PER_DIGIT, START_BITS, Unresolved, around, working
from numeric.proven_saddle.decimal_point import DecimalPoint, decimals, quantities
from numeric.proven_saddle.exact_problem import ExactProblem
from numeric.proven_saddle.smooth_channel import SmoothAverages, Trapezoid, averages
from numeric.saddle.solve import solve

MOST_DIGITS = 40  # minutes beyond
BASIS = (
    "channel averages by trapezoidal rules of two steps and reaches agree on the digits; rounding in balls; "
    "the last step of the unknowns is relative {}"
)
STRIP = 1.15  # imaginary distance of singularities in standard deviations, at first
COARSE = Trapezoid(0.2, 8.5)  # for slopes, at which what the rule leaves does not matter
DIFFERENCE = 2.0**-24  # relative step of the slopes: central, so that they err by its square
FINER, REFINEMENTS = 1.2, 5  # ratio of the two steps; how often both are refined
STEPS = 30  # of the unknowns, each of which multiplies their error by that of the slopes
GUARD = 40  # bits


def estimated_point(problem: ExactProblem, digits: int = 30) -> DecimalPoint:
    """The saddle point of a smooth channel of one visible index per block.

    The start is the solution in float64. Digits are printed where the values of two rules agree on them with a margin of two.

    Raises:
        NoAnswer: there is no solution, its minimiser jumps, or the rules do not agree.
    """
    found = solve(problem.rounded).unwrap()
    with working(START_BITS):
        start = tuple(map(arb, (found.m, found.q, found.V)))
        inverse = approximate_inverse(_slopes(problem, start))
    step = 2 * math.pi * STRIP / (math.log(10) * (digits + 2))
    reach, farther = (math.sqrt(2 * math.log(10) * (digits + spare)) for spare in (3, 5))
    with working(round(digits * BITS_PER_DIGIT) + GUARD):
        goal, at = arb(10) ** -(digits + 2), start
        for _ in range(REFINEMENTS):
            at, rough, _ = _root(problem, at, inverse, Trapezoid(step, reach), goal)
            at, fine, last = _root(problem, at, inverse, Trapezoid(step / FINER, farther), goal)
            values = {name: around(value, 2 * abs(value - rough[name]) + value.rad()) for name, value in fine.items()}
            texts = decimals(values, digits)
            if texts is not None:
                return DecimalPoint(problem, texts, digits, "estimated", BASIS.format(f"{float(last):.0e}"))
            step = step / FINER
    raise Unresolved(f"alpha = {found.problem.alpha:g}: two rules do not agree to {digits} digits")


def _root(
    problem: ExactProblem, at: Vector, inverse: Any, rule: Trapezoid, goal: Any
) -> tuple[Vector, dict[str, Any], Any]:
    """The root with one rule, the quantities there, and the last step, relative."""
    for _ in range(STEPS):
        left, channel = _residual(problem, at, rule)
        change = product(inverse, left)
        size = max((abs(d / x).mid() for d, x in zip(change, at, strict=True)), key=float)
        if size < goal:
            return at, quantities(problem, at, channel), size
        at = tuple((x - d).mid() for x, d in zip(at, change, strict=True))
    raise Unresolved("the steps of the unknowns do not become small")


def _residual(problem: ExactProblem, at: Vector, rule: Trapezoid) -> tuple[Vector, SmoothAverages]:
    """What the saddle point leaves over at overlaps (m, q, V), and the channel there."""
    channel = averages(problem, at, rule)
    mh, qh, Vh = problem.call("conjugates", problem.alpha, channel.M_m, channel.M_q, channel.M_V)
    v, b, c = problem.call("reduced_variables", mh, qh, Vh)
    J, J_v, J_b, *_ = problem.energy(v, b)
    back = problem.call("overlaps", J, J_v, J_b, v, b, c, Vh)
    return tuple((x - y).mid() for x, y in zip(at, back, strict=True)), channel


def _slopes(problem: ExactProblem, at: Vector) -> Linearised:
    """Of the residual, by central differences with a coarse rule."""
    columns = []
    for k, x in enumerate(at):
        shift = x * DIFFERENCE
        ends = (tuple(y + side * shift if j == k else y for j, y in enumerate(at)) for side in (1, -1))
        above, below = (_residual(problem, end, COARSE)[0] for end in ends)
        columns.append([(one - other) / (2 * shift) for one, other in zip(above, below, strict=True)])
    return Linearised(at, tuple(zip(*columns, strict=True)))
