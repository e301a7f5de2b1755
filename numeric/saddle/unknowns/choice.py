"""Choice of unknowns for a problem, at the start and near a solution."""

from collections.abc import Iterator

from numeric.maths.fixed_point import Vector
from numeric.problem.conjugates import Conjugates
from numeric.problem.problem import Problem
from numeric.saddle.unknowns.above_interpolation import AboveInterpolation
from numeric.saddle.unknowns.coordinates import Logarithms, Unknowns
from numeric.saddle.unknowns.free_directions import FreeDirections


def starts(problem: Problem, begin: Conjugates, cold: bool) -> Iterator[tuple[Unknowns, Vector]]:
    """Return the unknowns that are better than logarithms for a search, with its start in them.

    Args:
        problem: the problem.
        begin: conjugates from which the search starts.
        cold: True if these are the conjugates of S = 0.
    """
    above, free = AboveInterpolation.of(problem), FreeDirections(problem)
    if above:
        yield above, above.at_threshold() if cold else above.coordinates(begin)
    if free.are_suitable(begin):
        yield free, free.coordinates(begin)


def unknowns_at(problem: Problem, conjugates: Conjugates) -> Unknowns:
    """Return the unknowns suitable for a solution near given conjugates.

    Args:
        problem: the problem.
        conjugates: conjugates near the solution.
    """
    above, free = AboveInterpolation.of(problem), FreeDirections(problem)
    if above:
        return above
    return (
        free if free.are_suitable(conjugates) and free.contain(conjugates) else Logarithms(problem)
    )
