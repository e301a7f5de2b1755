"""Roots of systems of equations in ball arithmetic, proven by interval Newton in the form of Krawczyk."""

from collections.abc import Callable
from typing import Any, NamedTuple

from flint import arb, arb_mat

from numeric.maths.balls import Ball, Unresolved, around, precision

Vector = tuple[Ball, ...]
_NEWTON_STEPS = 60  # from eight digits to 10^4 takes twelve
_INFLATIONS = 6  # widenings of a trial box


class Linearised(NamedTuple):
    """Enclosures of the values of a system over a box, and of its slopes there, a row for each equation."""

    values: Vector
    slopes: tuple[Vector, ...]


System = Callable[[Vector], Linearised]


def newton(system: System, start: Vector) -> Vector:
    """An approximate root at the working precision, without proof: steps until they grow again, which rounding makes them do.

    Raises:
        Unresolved: the steps never become small.
    """
    point, last = tuple(value.mid() for value in start), arb("inf")
    for _ in range(_NEWTON_STEPS):
        step = product(approximate_inverse(system(point)), system(point).values)
        size = max(
            (abs(change / (1 + abs(x))).mid() for change, x in zip(step, point, strict=True)),
            key=float,
        )
        if not size.is_finite():
            break
        if size >= last and size < arb(2) ** (-precision() // 2):
            return point
        point, last = tuple((x - change).mid() for x, change in zip(point, step, strict=True)), size
    raise Unresolved("Newton's method does not settle")


def proven_near(system: System, centre: Vector) -> Vector:
    """A box around `centre` proven to hold exactly one root, for every selection of the inputs.

    Raises:
        Unresolved: no trial box is mapped into itself: the centre is too far from a root, or the precision too low.
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
    """The image of a box: x - Y f(x) + (1 - Y f'(box))(box - x) at its middle x, with Y an approximate inverse of the slopes.

    It holds every root in the box. If it lies inside the box, there is exactly one (Krawczyk 1969; Neumaier, Interval Methods for
    Systems of Equations, section 5.1).
    """
    middle = tuple(side.mid() for side in box)
    here, wide = system(middle), system(box)
    inverse = approximate_inverse(here)
    rest = arb_mat(
        inverse.nrows(),
        inverse.nrows(),
        [int(i == j) for i in range(len(box)) for j in range(len(box))],
    )
    rest = rest - inverse * arb_mat([list(row) for row in wide.slopes])
    spread = product(rest, tuple(side - x for side, x in zip(box, middle, strict=True)))
    moved = product(inverse, here.values)
    return tuple(x - change + width for x, change, width in zip(middle, moved, spread, strict=True))


def approximate_inverse(here: Linearised) -> Any:
    """An exact matrix close to the inverse of the slopes.

    Raises:
        Unresolved: they are singular, or no numbers.
    """
    try:
        found = arb_mat([[value.mid() for value in row] for row in here.slopes]).inv()
    except ZeroDivisionError:
        raise Unresolved("the slopes of the system are singular") from None
    return arb_mat(found.nrows(), found.ncols(), [entry.mid() for entry in found.entries()])


def product(matrix: Any, vector: Vector) -> Vector:
    """A matrix times a vector."""
    return tuple((matrix * arb_mat(len(vector), 1, list(vector))).entries())
