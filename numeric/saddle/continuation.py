"""Branches of solutions along the sample ratio or the weight decay, through folds.

If the problem is not convex (rank limit below 1, sharp labels), several solutions may coexist. The
physical one has the smallest free entropy: it is the minimum of the training objective (theory
note, section 2).
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from numeric.channel.interfaces import ChannelRule
from numeric.channel.rules import coarse_rules
from numeric.maths.arclength import End, Gap, PseudoArclength
from numeric.maths.fixed_point import Vector
from numeric.problem.problem import Problem
from numeric.problem.solution import NotConverged, Solution, physical_first
from numeric.saddle.equations import SaddleMap
from numeric.saddle.solve import solve, solve_near

Parameter = Literal["alpha", "lambda_"]

# The tolerance is relative, of the conjugates: two folds may lie within 1e-4 of each other.
STEPS = PseudoArclength(tolerance=1e-6)
SAME = 1e-2  # maximum distance of logarithms at which two roots on the coarsest rule are identified


class BranchPoint(NamedTuple):
    """Solution on a branch, on the coarsest channel rule.

    Attributes:
        value: value of the parameter.
        conjugates: logarithms of the conjugates, shape (unknowns,).
        fold: True if the branch turns around here.
    """

    value: float
    conjugates: Vector
    fold: bool


@dataclass(frozen=True)
class Branch:
    """Curve of solutions in the order of arclength, with the reason of each end."""

    problem: Problem
    parameter: Parameter
    points: tuple[BranchPoint, ...]
    ends: tuple[End, End]

    @property
    def folds(self) -> tuple[float, ...]:
        """Values of the parameter at which the branch turns around."""
        return tuple(point.value for point in self.points if point.fold)

    def crossings(self, value: float) -> list[Vector]:
        """Return the interpolated logarithms of the conjugates at a value of the parameter.

        There is one entry for each crossing, in the order of arclength.
        """
        found = []
        for left, right in pairwise(self.points):
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
    """Return F(x; p) - x as a function of y = (x, log p), NaN where the average does not exist.

    Args:
        problem: defines the other parameters.
        parameter: "alpha" or "lambda_".
        rule: rule of the channel average.
    """

    def gap(position: Vector) -> Vector:
        at = _at(problem, parameter, float(np.exp(position[-1])))
        return SaddleMap(at, rule)(position[:-1]) - position[:-1]

    return gap


def follow(
    start: Solution, parameter: Parameter, low: float, high: float, steps: PseudoArclength = STEPS
) -> Branch:
    """Follow the branch through a solution in both directions, within a range of the parameter.

    Args:
        start: solution whose problem defines the other parameters.
        parameter: "alpha" or "lambda_".
        low: lower end of the range, positive.
        high: upper end of the range.
        steps: step control.

    Raises:
        NotConverged: `start` is not trusted, or not a solution on the coarsest channel rule.
        ValueError: the range is empty or does not contain the start.
    """
    problem = start.unwrap().problem
    value = getattr(problem, parameter)
    if not 0 < low <= value <= high or low == high:
        rule = f"must lie in a range of positive numbers, got {low!r} to {high!r}"
        raise ValueError(f"{parameter} = {value!r}: {rule}")
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
    points = tuple(
        BranchPoint(float(np.exp(point.position[-1])), point.position[:-1], point.fold)
        for point in (*down.points[::-1], *up.points[1:])
    )
    return Branch(problem, parameter, points, (down.end, up.end))


def branches(problem: Problem, parameter: Parameter, low: float, high: float) -> list[Branch]:
    """Return the branches through both ends of a range; one if the ends are connected.

    Branches that reach neither end are not found.

    Args:
        problem: defines the other parameters.
        parameter: "alpha" or "lambda_".
        low: lower end of the range, positive.
        high: upper end of the range.
    """
    found: list[Branch] = []
    for value in (high, low):
        start = solve(_at(problem, parameter, value))
        if start.trusted and not any(
            np.max(np.abs(x - start.conjugates.pack())) < SAME
            for branch in found
            for x in branch.crossings(value)
        ):
            found.append(follow(start, parameter, low, high))
    return found


def coexisting(found: list[Branch], value: float) -> list[Solution]:
    """Return all solutions at a value of the parameter, the physical one (see above) first.

    Args:
        found: branches, as returned by `branches`.
        value: value of their parameter.
    """
    solutions = [
        solve_near(_at(branch.problem, branch.parameter, value), x)
        for branch in found
        for x in branch.crossings(value)
    ]
    return physical_first(*solutions)
