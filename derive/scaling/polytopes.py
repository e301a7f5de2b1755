"""Convex polytopes with rational corners in any dimension: cut by half-spaces, measured, compared, without rounding.

Each corner knows the half-spaces on whose boundary it lies (double description), so that edges and faces are read off these sets.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from math import factorial

from flint import fmpq, fmpq_mat

Point = tuple[fmpq, ...]
HalfSpace = tuple[fmpq, ...]  #: coefficients and constant of a form that is not negative there


@dataclass(frozen=True)
class Polytope:
    """`corners`: each with the indices of the `planes` it lies on; none where no volume is left."""

    planes: tuple[HalfSpace, ...]
    corners: tuple[tuple[Point, frozenset[int]], ...]

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return len(self.planes[0]) - 1


def box(size: fmpq, dimension: int) -> Polytope:
    """The cube in which no coordinate exceeds `size` in absolute value."""
    unit = [tuple(fmpq(i == k) for i in range(dimension)) for k in range(dimension)]
    planes = [(*(side * x for x in axis), size) for axis in unit for side in (1, -1)]
    # The plane 2 k is where coordinate k is -size, 2 k + 1 where it is size.
    corners = [
        (tuple(side * size for side in sides), frozenset(2 * k + (side > 0) for k, side in enumerate(sides)))
        for sides in product((-1, 1), repeat=dimension)
    ]
    return Polytope(tuple(planes), tuple(corners))


def height(plane: HalfSpace, point: Point) -> fmpq:
    """The form at a point."""
    return sum((a * x for a, x in zip(plane, point, strict=False)), plane[-1])


def cut(polytope: Polytope, plane: HalfSpace) -> Polytope:
    """What of the polytope lies in the half-space, empty if that has no volume."""
    new, heights = len(polytope.planes), [height(plane, point) for point, _ in polytope.corners]
    planes = (*polytope.planes, plane)
    if not any(value > 0 for value in heights):
        return Polytope(planes, ())
    placed = list(zip(polytope.corners, heights, strict=True))
    kept = [(point, on | {new} if value == 0 else on) for (point, on), value in placed if value >= 0]
    above, below = ([part for part in placed if side * part[1] > 0] for side in (1, -1))
    for ((a, on_a), high), ((b, on_b), low) in product(above, below):
        edge = on_a & on_b
        if len(edge) >= polytope.dimension - 1 and sum(edge <= on for _, on in polytope.corners) == 2:
            share = high / (high - low)
            kept.append((tuple(x + share * (y - x) for x, y in zip(a, b, strict=True)), edge | {new}))
    return Polytope(planes, tuple(kept))


def volume(polytope: Polytope) -> fmpq:
    """By simplices from one corner."""
    if not polytope.corners:
        return fmpq(0)
    simplices = _simplices(polytope.corners, polytope.dimension)
    return sum((abs(_edges(simplex).det()) for simplex in simplices), fmpq(0)) / factorial(polytope.dimension)


def _simplices(corners: tuple[tuple[Point, frozenset[int]], ...], dimension: int) -> Iterator[tuple[Point, ...]]:
    """Simplices of a face of this dimension: its first corner and those of the faces that do not hold it."""
    apex, on = corners[0]
    if dimension == 0:
        yield (apex,)
        return
    others = sorted(frozenset().union(*(planes for _, planes in corners)) - on)
    faces = dict.fromkeys(tuple(corner for corner in corners if plane in corner[1]) for plane in others)
    for face in faces:
        if _rank([point for point, _ in face]) == dimension - 1:
            yield from ((apex, *simplex) for simplex in _simplices(face, dimension - 1))


def _edges(points: tuple[Point, ...] | list[Point]) -> fmpq_mat:
    return fmpq_mat([[x - y for x, y in zip(point, points[0], strict=True)] for point in points[1:]])


def _rank(points: list[Point]) -> int:
    return int(_edges(points).rank()) if len(points) > 1 else len(points) - 1


def overlap(left: Polytope, right: Polytope) -> fmpq:
    """Volume that two polytopes share."""
    for plane in right.planes:
        left = cut(left, plane)
    return volume(left)


def facets(polytope: Polytope) -> tuple[int, ...]:
    """Indices of the planes on which a face of full dimension lies, the first of equal ones."""
    found: dict[tuple[Point, ...], int] = {}
    for index in range(len(polytope.planes)):
        face = [point for point, on in polytope.corners if index in on]
        if _rank(face) == polytope.dimension - 1:
            found.setdefault(tuple(face), index)
    return tuple(found.values())


def separated(left: Polytope, right: Polytope) -> bool:
    """Whether the plane of a face of one keeps the other on its far side."""
    return any(
        all(height(one.planes[face], point) <= 0 for point, _ in other.corners)
        for one, other in ((left, right), (right, left))
        for face in facets(one)
    )


def independent(polytope: Polytope, on: frozenset[int]) -> tuple[int, ...]:
    """As many of the planes through a corner as fix it."""
    for chosen in combinations(sorted(on), polytope.dimension):
        if fmpq_mat([list(polytope.planes[index][:-1]) for index in chosen]).det() != 0:
            return chosen
    raise ValueError("these planes meet in more than a point")
