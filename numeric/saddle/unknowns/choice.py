"""Which unknowns suit a problem: to start from, and near a solution."""

from collections.abc import Iterator

from numeric.maths.fixed_point import Vector
from numeric.problem.conjugates import Conjugates
from numeric.problem.problem import Problem
from numeric.saddle.unknowns.above_interpolation import AboveInterpolation
from numeric.saddle.unknowns.coordinates import Logarithms, Unknowns
from numeric.saddle.unknowns.free_directions import FreeDirections


def starts(problem: Problem, begin: Conjugates, cold: bool) -> Iterator[tuple[Unknowns, Vector]]:
    """Unknowns better than logarithms for a search from these conjugates, with where it starts; `cold`: they are those of S = 0."""
    above, free = AboveInterpolation.of(problem), FreeDirections(problem)
    if above:
        yield above, above.at_threshold() if cold else above.coordinates(begin)
    if free.suit(begin):
        yield free, free.coordinates(begin)


def unknowns_at(problem: Problem, conjugates: Conjugates) -> Unknowns:
    """The unknowns that suit a solution near these conjugates."""
    above, free = AboveInterpolation.of(problem), FreeDirections(problem)
    if above:
        return above
    return free if free.suit(conjugates) and free.hold(conjugates) else Logarithms(problem)
