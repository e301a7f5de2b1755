"""Proven roots of systems of equations in ball arithmetic, by Krawczyk's interval Newton method."""

from collections.abc import Callable
from typing import Any, NamedTuple

from flint import arb, arb_mat

from numeric.maths.balls import Ball, Unresolved, around, precision

Vector = tuple[Ball, ...]
_NEWTON_STEPS = 60  # maximum; from 8 digits to 10^4 digits takes 12
_INFLATIONS = 6  # maximum number of expansions of a trial box


class Linearised(NamedTuple):
    """Enclosures of the values and the slopes of a system over a box; one row for each equation."""

    values: Vector
    slopes: tuple[Vector, ...]


System = Callable[[Vector], Linearised]


def newton(system: System, start: Vector) -> Vector:
    """Return an approximate root at the working precision, without proof.

    The iteration ends when the steps are small and grow again because of rounding.

    Args:
        system: the equations.
        start: point near the root.

    Raises:
        Unresolved: the steps do not become small.
    """
    point, last = tuple(value.mid() for value in start), arb("inf")
    for _ in range(_NEWTON_STEPS):
        here = system(point)
        step = product(approximate_inverse(here), here.values)
        size = max(
            (abs(change / (1 + abs(x))).mid() for change, x in zip(step, point, strict=True)),
            key=float,
        )
        if not size.is_finite():
            break
        if size >= last and size < arb(2) ** (-precision() // 2):
            return point
        point, last = tuple((x - change).mid() for x, change in zip(point, step, strict=True)), size
    raise Unresolved("Newton's method does not converge")


def proven_near(system: System, centre: Vector) -> Vector:
    """Return a box that provably contains exactly one root, for all values in the input balls.

    Args:
        system: the equations.
        centre: point near the root.

    Raises:
        Unresolved: the centre is too far from a root, or the precision is too low.
    """
    here = system(centre)
    step = product(approximate_inverse(here), here.values)
    floor = arb(2) ** (8 - precision())
    radii = [
        abs(change).abs_upper() * 2 + abs(x) * floor for change, x in zip(step, centre, strict=True)
    ]
    for _ in range(_INFLATIONS):
        box = tuple(around(x, radius) for x, radius in zip(centre, radii, strict=True))
        image = krawczyk(system, box)
        if all(side.contains_interior(inner) for side, inner in zip(box, image, strict=True)):
            return image
        radii = [radius * 4 for radius in radii]
    raise Unresolved("no box is mapped into itself by the interval Newton step")


def krawczyk(system: System, box: Vector) -> Vector:
    """Return x - Y f(x) + (1 - Y f'(box))(box - x), with x the middle of the box.

    Y is an approximate inverse of the slopes. The image contains every root in the box. If it lies
    inside the box, there is exactly one root (Krawczyk 1969; Neumaier, Interval Methods for Systems
    of Equations, section 5.1).

    Args:
        system: the equations f.
        box: one ball for each unknown.
    """
    middle = tuple(side.mid() for side in box)
    here, wide = system(middle), system(box)
    inverse = approximate_inverse(here)
    identity = arb_mat([[int(i == j) for j in range(len(box))] for i in range(len(box))])
    rest = identity - inverse * arb_mat([list(row) for row in wide.slopes])
    spread = product(rest, tuple(side - x for side, x in zip(box, middle, strict=True)))
    moved = product(inverse, here.values)
    return tuple(x - change + width for x, change, width in zip(middle, moved, spread, strict=True))


def approximate_inverse(here: Linearised) -> Any:
    """Return an exact matrix close to the inverse of the slopes.

    Raises:
        Unresolved: the slopes are singular or not finite.
    """
    try:
        found = arb_mat([[value.mid() for value in row] for row in here.slopes]).inv()
    except ZeroDivisionError:
        raise Unresolved("the slopes of the system are singular") from None
    return arb_mat(found.nrows(), found.ncols(), [entry.mid() for entry in found.entries()])


def product(matrix: Any, vector: Vector) -> Vector:
    """Return a matrix times a vector.

    Args:
        matrix: an arb_mat.
        vector: a tuple of balls.
    """
    return tuple((matrix * arb_mat(len(vector), 1, list(vector))).entries())
