"""A point of a learning curve to many digits where the channel is averaged numerically: estimated from two rules, not proven."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from flint import arb

from numeric.maths.ball_systems import Linearised, Vector, approximate_inverse, product
from numeric.maths.balls import BITS_PER_DIGIT, START_BITS, Ball, Unresolved, around, working
from numeric.problem.problem import Problem
from numeric.proven_saddle import smooth_channel, smooth_pairs
from numeric.proven_saddle.decimal_point import DecimalPoint, decimals, quantities
from numeric.proven_saddle.exact_problem import ExactProblem
from numeric.proven_saddle.smooth_channel import SmoothAverages, Trapezoid
from numeric.saddle.solve import solve

BASIS = (
    "channel averages by trapezoidal rules of two steps and reaches agree on the digits; rounding {}; "
    "the last step of the unknowns is relative {}"
)
STRIP = 1.15  # imaginary distance of singularities in standard deviations, at first
ACROSS = (
    2.5  # how much coarser the part that the label does not see is, at first: it is narrow, and far from singularities
)
DIFFERENCE = 2.0**-24  # relative step of the slopes: central, so that they err by its square
FINER, REFINEMENTS = 1.2, 5  # ratio of the two steps; how often both are refined
STEPS = 30  # of the unknowns, each of which multiplies their error by that of the slopes
GUARD = 40  # bits


class Channel(NamedTuple):
    """A way to average: the averages, a coarse rule for slopes, the most digits, the least relative step that is not rounding."""

    averages: Callable[[ExactProblem, Vector, Trapezoid], SmoothAverages]
    coarse: Trapezoid
    most_digits: int
    floor: float
    rounding: str


ONE_INDEX = Channel(smooth_channel.averages, Trapezoid(0.2, 0.5, 8.5), 40, 0.0, "in balls")
TWO_INDICES = Channel(smooth_pairs.averages, Trapezoid(0.45, 0.9, 7.0), 12, 2e-14, "in float64")


def channel_of(problem: Problem) -> Channel | None:
    """How the channel of a problem is averaged to many digits, if it is."""
    if smooth_channel.applies(problem):
        return ONE_INDEX
    return TWO_INDICES if smooth_pairs.applies(problem) else None


def estimated_point(problem: ExactProblem, digits: int = 30) -> DecimalPoint:
    """The saddle point of a channel with `channel_of` and smooth minimisers.

    The start is the solution in float64. Digits are given where the values of two rules agree on them with a margin of two.

    Raises:
        ValueError: there is no such channel, or more digits than it can have.
        NoAnswer: there is no solution, its minimiser jumps, or the rules do not agree.
    """
    channel = channel_of(problem.rounded)
    if channel is None or digits > channel.most_digits:
        raise ValueError(f"{digits} digits of {problem.rounded.model}: see solver_of")
    found = solve(problem.rounded).unwrap()
    with working(START_BITS):
        start = tuple(map(arb, (found.m, found.q, found.V)))
        inverse = approximate_inverse(_slopes(problem, channel, start))
    step = 2 * math.pi * STRIP / (math.log(10) * (digits + 2))
    reach, farther = (math.sqrt(2 * math.log(10) * (digits + spare)) for spare in (3, 5))
    with working(round(digits * BITS_PER_DIGIT) + GUARD):
        goal, at = max(arb(10) ** -(digits + 2), arb(channel.floor)), start
        for _ in range(REFINEMENTS):
            at, rough, _ = _root(problem, channel, at, inverse, Trapezoid(step, ACROSS * step, reach), goal)
            at, fine, last = _root(
                problem, channel, at, inverse, Trapezoid(step / FINER, ACROSS * step / FINER, farther), goal
            )
            values = {name: around(value, 2 * abs(value - rough[name]) + value.rad()) for name, value in fine.items()}
            texts = decimals(values, digits)
            if texts is not None:
                return DecimalPoint(
                    problem, texts, digits, "estimated", BASIS.format(channel.rounding, f"{float(last):.0e}")
                )
            step = step / FINER
    raise Unresolved(f"alpha = {found.problem.alpha:g}: two rules do not agree to {digits} digits")


def _root(
    problem: ExactProblem, channel: Channel, at: Vector, inverse: Any, rule: Trapezoid, goal: Ball
) -> tuple[Vector, dict[str, Ball], Ball]:
    """The root with one rule, the quantities there, and the last step, relative."""
    for _ in range(STEPS):
        left, averages = _residual(problem, channel, at, rule)
        change = product(inverse, left)
        size = max((abs(d / x).mid() for d, x in zip(change, at, strict=True)), key=float)
        if size < goal:
            return at, quantities(problem, at, averages), size
        at = tuple((x - d).mid() for x, d in zip(at, change, strict=True))
    raise Unresolved("the steps of the unknowns do not become small")


def _residual(problem: ExactProblem, channel: Channel, at: Vector, rule: Trapezoid) -> tuple[Vector, SmoothAverages]:
    """What the saddle point leaves over at overlaps (m, q, V), and the channel there."""
    averages = channel.averages(problem, at, rule)
    mh, qh, Vh = problem.call("conjugates", problem.alpha, averages.M_m, averages.M_q, averages.M_V)
    v, b, c = problem.call("reduced_variables", mh, qh, Vh)
    J, J_v, J_b, *_ = problem.energy(v, b)
    back = problem.call("overlaps", J, J_v, J_b, v, b, c, Vh)
    return tuple((x - y).mid() for x, y in zip(at, back, strict=True)), averages


def _slopes(problem: ExactProblem, channel: Channel, at: Vector) -> Linearised:
    """Of the residual, by central differences with a coarse rule."""
    columns = []
    for k, x in enumerate(at):
        shift = x * DIFFERENCE
        ends = (tuple(y + side * shift if j == k else y for j, y in enumerate(at)) for side in (1, -1))
        above, below = (_residual(problem, channel, end, channel.coarse)[0] for end in ends)
        columns.append([(one - other) / (2 * shift) for one, other in zip(above, below, strict=True)])
    return Linearised(at, tuple(zip(*columns, strict=True)))
