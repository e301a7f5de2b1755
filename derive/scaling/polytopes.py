"""Convex polytopes with rational corners in any dimension: intersection with half-spaces, volume
and comparison, without rounding.

Each corner has the set of half-spaces on whose boundary it lies (double description). Edges and
faces follow from these sets.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from math import factorial

from flint import fmpq, fmpq_mat

Point = tuple[fmpq, ...]
HalfSpace = tuple[
    fmpq, ...
]  #: coefficients and constant of a form that is nonnegative in the half-space


@dataclass(frozen=True)
class Polytope:
    """Polytope: `corners`, each with the indices of the `planes` it lies on; no corners if it has
    no volume.
    """

    planes: tuple[HalfSpace, ...]
    corners: tuple[tuple[Point, frozenset[int]], ...]

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return len(self.planes[0]) - 1


def box(size: fmpq, dimension: int) -> Polytope:
    """Return the cube in which no coordinate exceeds `size` in absolute value.

    Args:
        size: half of the edge.
        dimension: number of coordinates.
    """
    unit = [tuple(fmpq(i == k) for i in range(dimension)) for k in range(dimension)]
    planes = [(*(side * x for x in axis), size) for axis in unit for side in (1, -1)]
    # On plane 2 k coordinate k is -size, on plane 2 k + 1 it is size.
    corners = [
        (
            tuple(side * size for side in sides),
            frozenset(2 * k + (side > 0) for k, side in enumerate(sides)),
        )
        for sides in product((-1, 1), repeat=dimension)
    ]
    return Polytope(tuple(planes), tuple(corners))


def height(plane: HalfSpace, point: Point) -> fmpq:
    """Return the value of the form at a point.

    Args:
        plane: the form.
        point: the point.
    """
    return sum((a * x for a, x in zip(plane, point, strict=False)), plane[-1])


def cut(polytope: Polytope, plane: HalfSpace) -> Polytope:
    """Return the part of the polytope in the half-space; empty if it has no volume.

    Args:
        polytope: the polytope.
        plane: the half-space.
    """
    new, heights = len(polytope.planes), [height(plane, point) for point, _ in polytope.corners]
    planes = (*polytope.planes, plane)
    if not any(value > 0 for value in heights):
        return Polytope(planes, ())
    placed = list(zip(polytope.corners, heights, strict=True))
    kept = [
        (point, on | {new} if value == 0 else on) for (point, on), value in placed if value >= 0
    ]
    above, below = ([part for part in placed if side * part[1] > 0] for side in (1, -1))
    for ((a, on_a), high), ((b, on_b), low) in product(above, below):
        edge = on_a & on_b
        if (
            len(edge) >= polytope.dimension - 1
            and sum(edge <= on for _, on in polytope.corners) == 2
        ):
            share = high / (high - low)
            kept.append(
                (tuple(x + share * (y - x) for x, y in zip(a, b, strict=True)), edge | {new})
            )
    return Polytope(planes, tuple(kept))


def volume(polytope: Polytope) -> fmpq:
    """Return the volume, as a sum over simplices from one corner."""
    if not polytope.corners:
        return fmpq(0)
    simplices = _simplices(polytope.corners, polytope.dimension)
    return sum((abs(_edges(simplex).det()) for simplex in simplices), fmpq(0)) / factorial(
        polytope.dimension
    )


def _simplices(
    corners: tuple[tuple[Point, frozenset[int]], ...], dimension: int
) -> Iterator[tuple[Point, ...]]:
    """Yield the simplices of a face of this dimension: its first corner with those of its faces
    that do not contain this corner.
    """
    apex, on = corners[0]
    if dimension == 0:
        yield (apex,)
        return
    others = sorted(frozenset().union(*(planes for _, planes in corners)) - on)
    faces = dict.fromkeys(
        tuple(corner for corner in corners if plane in corner[1]) for plane in others
    )
    for face in faces:
        if _rank([point for point, _ in face]) == dimension - 1:
            yield from ((apex, *simplex) for simplex in _simplices(face, dimension - 1))


def _edges(points: tuple[Point, ...] | list[Point]) -> fmpq_mat:
    return fmpq_mat(
        [[x - y for x, y in zip(point, points[0], strict=True)] for point in points[1:]]
    )


def _rank(points: list[Point]) -> int:
    return int(_edges(points).rank()) if len(points) > 1 else len(points) - 1


def overlap(left: Polytope, right: Polytope) -> fmpq:
    """Return the volume of the intersection of two polytopes."""
    for plane in right.planes:
        left = cut(left, plane)
    return volume(left)


def facets(polytope: Polytope) -> tuple[int, ...]:
    """Return the indices of the planes that contain a face of full dimension, the first of equal
    ones.
    """
    found: dict[tuple[Point, ...], int] = {}
    for index in range(len(polytope.planes)):
        face = [point for point, on in polytope.corners if index in on]
        if _rank(face) == polytope.dimension - 1:
            found.setdefault(tuple(face), index)
    return tuple(found.values())


def are_separated(left: Polytope, right: Polytope) -> bool:
    """Return whether the plane of a face of one polytope has the other on its far side."""
    return any(
        all(height(one.planes[face], point) <= 0 for point, _ in other.corners)
        for one, other in ((left, right), (right, left))
        for face in facets(one)
    )


def independent_planes(polytope: Polytope, on: frozenset[int]) -> tuple[int, ...]:
    """Return the indices of as many planes through a corner as determine it.

    Args:
        polytope: the polytope.
        on: indices of the planes through the corner.
    """
    for chosen in combinations(sorted(on), polytope.dimension):
        if fmpq_mat([list(polytope.planes[index][:-1]) for index in chosen]).det() != 0:
            return chosen
    raise ValueError("these planes meet in more than a point")
