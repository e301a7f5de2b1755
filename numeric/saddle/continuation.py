"""Branches of solutions of the saddle-point equations along the sample ratio or the weight decay, through folds.

Where the problem is not convex (a rank limit below 1, sharp labels) several solutions may coexist. The physical one is that of the
smallest free entropy, which is the minimum of the training objective (theory note, section 2).
"""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from numeric.channel.rules import ChannelRule, coarse_rules
from numeric.maths.arclength import End, Gap, PseudoArclength, Trace
from numeric.maths.fixed_point import Vector
from numeric.problem.problem import Problem
from numeric.problem.solution import NotConverged, Solution
from numeric.saddle.equations import SaddleMap
from numeric.saddle.solve import solve, solve_near

Parameter = Literal["alpha", "lambda_"]

STEPS = PseudoArclength(
    tolerance=1e-6
)  # relative, of the conjugates: two folds may lie within 1e-4 of each other
SAME = (
    1e-2  # distance of the logarithms up to which two roots of the coarsest rule are taken for one
)


class BranchPoint(NamedTuple):
    """One solution on a branch, on the coarsest channel rule: parameter, logarithms of the conjugates, and whether p turns there."""

    value: float
    conjugates: Vector
    fold: bool


@dataclass(frozen=True)
class Branch:
    """A curve of solutions in the order of arclength, and why it ends at either end."""

    problem: Problem
    parameter: Parameter
    points: tuple[BranchPoint, ...]
    ends: tuple[End, End]

    @property
    def folds(self) -> tuple[float, ...]:
        """Values of the parameter where the branch turns around."""
        return tuple(point.value for point in self.points if point.fold)

    def crossings(self, value: float) -> list[Vector]:
        """Conjugates (logarithms) where the branch passes a value of the parameter, interpolated, in the order of arclength."""
        found = []
        for left, right in zip(self.points, self.points[1:], strict=False):
            if (
                left.value != right.value
                and (left.value - value) * (right.value - value) <= 0
                and right.value != value
            ):
                part = np.log(value / left.value) / np.log(right.value / left.value)
                found.append((1 - part) * left.conjugates + part * right.conjugates)
        if self.points[-1].value == value:
            found.append(self.points[-1].conjugates)
        return found


def _at(problem: Problem, parameter: Parameter, value: float) -> Problem:
    return problem.at(value) if parameter == "alpha" else replace(problem, lambda_=value)


def gap_along(problem: Problem, parameter: Parameter, rule: ChannelRule) -> Gap:
    """F(x; p) - x as a function of y = (x, log p); not a number where the channel average does not exist."""

    def gap(position: Vector) -> Vector:
        at = _at(problem, parameter, float(np.exp(position[-1])))
        return SaddleMap(at, rule)(position[:-1]) - position[:-1]

    return gap


def follow(
    start: Solution, parameter: Parameter, low: float, high: float, steps: PseudoArclength = STEPS
) -> Branch:
    """The branch through a solution, both ways, as long as the parameter stays in [low, high].

    Args:
        start: its problem states the other parameters; its value of `parameter` lies in the range.
        parameter: "alpha" or "lambda_", positive.

    Raises:
        NotConverged: `start` is not to be trusted, or is none on the coarsest channel rule.
        ValueError: the range is empty or does not hold the start.
    """
    problem = start.unwrap().problem
    value = getattr(problem, parameter)
    if not 0 < low <= value <= high or low == high:
        raise ValueError(
            f"{parameter} = {value!r}: must lie in a range of positive numbers, got {low!r} to {high!r}"
        )
    gap = gap_along(problem, parameter, coarse_rules(problem)[0])
    begin = np.append(start.conjugates.pack(), np.log(value))
    down, up = (
        steps.follow(gap, begin, sign, float(np.log(low)), float(np.log(high)))
        for sign in (-1.0, 1.0)
    )
    if not down.points:
        raise NotConverged(
            f"{parameter} = {value:g}: no solution near the start on the coarsest channel rule"
        )
    return Branch(problem, parameter, _joined(down, up), (down.end, up.end))


def _joined(down: Trace, up: Trace) -> tuple[BranchPoint, ...]:
    points = [*down.points[::-1], *up.points[1:]]
    return tuple(
        BranchPoint(float(np.exp(point.position[-1])), point.position[:-1], point.fold)
        for point in points
    )


def branches(problem: Problem, parameter: Parameter, low: float, high: float) -> list[Branch]:
    """Branches of solutions from both ends of a range; one if the ends are connected.

    A branch that meets neither end is not found.

    Args:
        problem: its own value of `parameter` is not used.
    """
    found: list[Branch] = []
    for value in (high, low):
        start = solve(_at(problem, parameter, value))
        if start.trusted and not any(_meets(branch, start, value) for branch in found):
            found.append(follow(start, parameter, low, high))
    return found


def _meets(branch: Branch, start: Solution, value: float) -> bool:
    return any(np.max(np.abs(x - start.conjugates.pack())) < SAME for x in branch.crossings(value))


def coexisting(found: list[Branch], value: float) -> list[Solution]:
    """All solutions where the branches pass a value of their parameter, the physical one (smallest free entropy) first."""
    solutions = [
        solve_near(_at(branch.problem, branch.parameter, value), x)
        for branch in found
        for x in branch.crossings(value)
    ]
    return sorted(
        (solution for solution in solutions if solution.trusted),
        key=lambda found: found.free_entropy,
    )
