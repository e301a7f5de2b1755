"""Phase diagram: cells where each balance is valid, with exact boundaries, proven to tile space for
every gamma.

At one rational gamma the cells are polytopes with rational corners. Their dimension is the number
of parameters besides the large number. Exact arithmetic decides whether they cover space without
overlap.

The region bounded by the planes of a balance changes with gamma only where one of its corners
crosses another of these planes or goes to infinity; these are roots of polynomials in gamma. If the
planes bound nothing, one plane has on its far side all corners of the region bounded by the planes
before it, up to such a root. Between these values of gamma the same balances are valid somewhere.
As long as no corner of a cell crosses a plane of another cell, planes that separate two cells
continue to do so, and touching faces remain in contact. The arrangement of cells is then the same,
and one check proves it for all gamma in the interval.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key, lru_cache
from itertools import combinations, groupby, pairwise
from typing import TypeVar

import sympy as sp
from flint import fmpq, fmpq_poly, fmpz_poly

from derive.language.errors import DerivationError
from derive.scaling.balance import Form, Solution, System, solve
from derive.scaling.polytopes import (
    HalfSpace,
    Polytope,
    are_separated,
    box,
    cut,
    facets,
    independent_planes,
    overlap,
    volume,
)
from derive.scaling.rational_functions import Integers, Row, integers, over_common_denominator

SIZE = (
    12  #: |log parameter / log large number| is at most SIZE (1 + gamma), far beyond every corner
)


@dataclass(frozen=True)
class Cell:
    """Region where one balance is valid, for the gammas of one interval; `margins` are its
    boundaries, none of them redundant.
    """

    solution: Solution
    margins: tuple[Form, ...]


@dataclass(frozen=True)
class Phase:
    """Interval of gamma (ends exclusive, the last one None) with the cells that tile space in
    it.
    """

    low: sp.Expr
    high: sp.Expr | None
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Diagram:
    """Phase diagram of a system."""

    system: System
    phases: tuple[Phase, ...]

    def at(self, gamma: Fraction) -> Phase:
        """Return the phase at one gamma; at a critical value, the one just below it.

        Raises:
            ValueError: gamma is not above the least one.
        """
        for phase in self.phases:
            if phase.low < gamma and (phase.high is None or gamma <= phase.high):
                return phase
        raise ValueError(f"gamma = {gamma}: must exceed {self.system.least_gamma}")


class Plane:
    """Form as polynomials in gamma over a common denominator."""

    def __init__(self, form: Form, gamma: sp.Symbol) -> None:
        self.coefficients, self.denominator = over_common_denominator(form, gamma)

    def at(self, gamma: Fraction) -> HalfSpace:
        """Return the half-space in which the form is nonnegative at one gamma; None at a pole. The
        large number has logarithm one.
        """
        point = _exact(gamma)
        scale = self.denominator(point)  # only its sign matters
        return tuple(coefficient(point) * scale for coefficient in self.coefficients)


def _exact(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


@lru_cache(maxsize=4096)
def _plane(form: Form, gamma: sp.Symbol) -> Plane:
    return Plane(form, gamma)


def _bounds(system: System, margins: Iterable[Form]) -> tuple[Form, ...]:
    """Return the frame (in the order of the planes of a box), the domain, and the margins."""
    dimension, size = len(system.parameters) - 1, SIZE * (1 + system.gamma)
    frame = [
        (*(side * (i == k) for i in range(dimension)), size)
        for k in range(dimension)
        for side in (sp.Integer(1), sp.Integer(-1))
    ]
    return (*frame, *system.forms(system.domain), *margins)


def polytope(margins: tuple[Form, ...], system: System, gamma: Fraction) -> Polytope:
    """Return the region within the frame where all margins and the domain are valid; its planes are
    in the order of `_bounds`.
    """
    *_, last = _cuts(margins, system, gamma)
    return last


def _cuts(margins: tuple[Form, ...], system: System, gamma: Fraction) -> Iterator[Polytope]:
    """Yield the frame, and the part of it that remains after each further plane."""
    dimension = len(system.parameters) - 1
    found = box(SIZE * (1 + _exact(gamma)), dimension)
    yield found
    for form in _bounds(system, margins)[2 * dimension :]:
        found = cut(found, _plane(form, system.gamma).at(gamma))
        yield found


@lru_cache(maxsize=16)
def phase_diagram(system: System) -> Diagram:
    """Solve a system, and prove that its cells tile space.

    Raises:
        DerivationError: the cells leave a gap or overlap.
    """
    own = [tuple(_merged(_phases_of_solution(system, solution))) for solution in solve(system)]
    ends = sorted({phase.low for phases in own for phase in phases})
    asked = [
        Phase(low, high, sum((_cells(phases, low) for phases in own), ()))
        for low, high in pairwise((*ends, None))
    ]
    proven = (
        piece
        for phase in _merged(asked)
        for piece in _checked_phases(system, phase.cells, phase.low, phase.high)
    )
    return Diagram(system, tuple(_merged(proven)))


def _cells(phases: tuple[Phase, ...], low: sp.Expr) -> tuple[Cell, ...]:
    """Return the cells of the phase just above a value of gamma."""
    return next(phase.cells for phase in reversed(phases) if not is_less(low, phase.low))


def _phases_of_solution(system: System, solution: Solution) -> Iterator[Phase]:
    """Yield the region of a balance, one cell or none, for every gamma."""
    planes = _planes(system, solution.margins)

    def at(gamma: Fraction) -> tuple[tuple[Cell, ...], set[sp.Expr]]:
        shapes = list(_cuts(solution.margins, system, gamma))
        bounded = next(shape for shape in reversed(shapes) if shape.corners)
        asked = planes[: len(bounded.planes) + 1]  # includes the plane that leaves nothing
        cells = (_cell(system, solution, bounded),) if bounded is shapes[-1] else ()
        return cells, _roots_of(system, _crossings([asked], [bounded]))

    for low, high, cells in _intervals(at, system.least_gamma, None):
        yield Phase(low, high, cells)


def _cell(system: System, solution: Solution, shape: Polytope) -> Cell:
    """Return the cell of a balance, which is a polytope at one gamma: one margin for each of its
    faces.
    """
    first = len(_bounds(system, ()))
    faces = (k for k in facets(shape) if k >= first)
    return Cell(
        solution, tuple(_scaled(solution.margins[k - first], shape.planes[k]) for k in faces)
    )


def _scaled(margin: Form, plane: HalfSpace) -> Form:
    """Return the margin divided by the absolute value of its first coefficient, whose sign follows
    from its value at one gamma.
    """
    k = next(k for k, value in enumerate(plane) if value)
    size = margin[k] if plane[k] > 0 else -margin[k]
    return tuple(sp.cancel(value / size) for value in margin)


def _checked_phases(
    system: System, cells: tuple[Cell, ...], low: sp.Expr, high: sp.Expr | None
) -> Iterator[Phase]:
    """Yield the cells over an interval of gamma, split where their arrangement changes; each piece
    is checked at a gamma inside.
    """
    bounds = [_planes(system, cell.margins) for cell in cells]

    def at(gamma: Fraction) -> tuple[tuple[Fraction, list[Polytope]], set[sp.Expr]]:
        shapes = [polytope(cell.margins, system, gamma) for cell in cells]
        return (gamma, shapes), _roots_of(system, _crossings(bounds, shapes))

    for start, end, (gamma, shapes) in _intervals(at, low, high):
        _require_tiling(system, cells, shapes, gamma)
        yield Phase(start, end, cells)


def is_less(left: sp.Expr | Fraction, right: sp.Expr | Fraction) -> bool:
    """Return whether left < right: by floats if these differ clearly, otherwise exactly.

    Args:
        left: first number.
        right: second number.
    """
    x, y = _float(left), _float(right)
    return x < y if abs(x - y) > 1e-9 * max(1, abs(x), abs(y)) else bool(left < right)


_ORDER = cmp_to_key(lambda x, y: is_less(y, x) - is_less(x, y))


@lru_cache(maxsize=4096)  # evaluation of an algebraic number is slow
def _float(value: sp.Expr | Fraction) -> float:
    return float(value)


Found = TypeVar("Found")


def _intervals(
    at: Callable[[Fraction], tuple[Found, set[sp.Expr]]], low: sp.Expr, high: sp.Expr | None
) -> Iterator[tuple[sp.Expr, sp.Expr | None, Found]]:
    """Split an interval of gamma.

    Each piece comes with the result of `at` at one gamma inside. `at` also returns the values where
    its result may change.
    """
    gamma = _rational_between(low, high)
    found, changes = at(gamma)
    inside = [
        value for value in changes if is_less(low, value) and (high is None or is_less(value, high))
    ]
    start = max((x for x in inside if not is_less(gamma, x)), default=low, key=_ORDER)
    end = min((x for x in inside if not is_less(x, gamma)), default=high, key=_ORDER)
    if start != low:
        yield from _intervals(at, low, start)
    if start != end:
        yield start, end, found
    if end != high:
        yield from _intervals(at, end, high)


def _require_tiling(
    system: System, cells: tuple[Cell, ...], shapes: list[Polytope], gamma: Fraction
) -> None:
    for (left, a), (right, b) in combinations(zip(cells, shapes, strict=True), 2):
        if not are_separated(a, b):
            places = "the same place" if overlap(a, b) > 0 else "places that no face keeps apart"
            dominant = f"{left.solution.dominant} and {right.solution.dominant}"
            raise DerivationError(f"gamma = {gamma}: balances {dominant} hold at {places}")
    whole = volume(polytope((), system, gamma))
    if (missing := whole - sum(map(volume, shapes))) != 0:
        raise DerivationError(
            f"gamma = {gamma}: no balance holds on {float(missing / whole):.1%} of all places"
        )


def _merged(phases: Iterable[Phase]) -> Iterator[Phase]:
    """Join consecutive phases with equal cells and boundaries."""
    for _, group in groupby(phases, key=lambda phase: phase.cells):
        first, *_, last = [*group] * 2
        yield Phase(first.low, last.high, first.cells)


@lru_cache(maxsize=1024)  # every balance uses it
def _rational_between(low: sp.Expr, high: sp.Expr | None) -> Fraction:
    """Return a rational number in an interval, near its middle and with a small denominator."""
    if high is None:
        return Fraction(int(sp.floor(low)) + 1)
    middle = Fraction(float((low + high) / 2))
    for digits in range(1, 16):
        found = middle.limit_denominator(10**digits)
        if low < sp.Rational(found) < high:
            return found
    raise DerivationError(f"critical gammas {low} and {high} are too close to tell apart")


def _roots_of(system: System, polynomials: Iterable[fmpq_poly]) -> set[sp.Expr]:
    """Return the values of gamma, above the least one, at which one of the polynomials vanishes
    without being zero.
    """
    factors = set().union(*map(_factors, set(map(_integers, polynomials)) - {()}))
    return {root for factor in factors for root in _roots(factor, system.least_gamma)}


def _planes(system: System, margins: tuple[Form, ...]) -> list[Plane]:
    return [_plane(form, system.gamma) for form in _bounds(system, margins)]


def _crossings(bounds: list[list[Plane]], shapes: list[Polytope]) -> Iterator[fmpq_poly]:
    """Yield polynomials that vanish where a plane has a pole, or a corner of a shape goes to
    infinity or crosses a plane of any shape.
    """
    planes = {plane for several in bounds for plane in several}
    corners = {
        tuple(own[k] for k in independent_planes(shape, on))
        for own, shape in zip(bounds, shapes, strict=True)
        for _, on in shape.corners
    }
    for plane in planes:
        yield plane.denominator
    for place in map(_corner, corners):
        yield place[-1]
        yield from (_height(plane, place) for plane in planes)


def _height(plane: Plane, corner: Row) -> fmpq_poly:
    return sum((a * x for a, x in zip(plane.coefficients, corner, strict=True)), fmpq_poly([0]))


def _corner(planes: tuple[Plane, ...]) -> Row:
    """Return the homogeneous coordinates of the common point of as many planes as there are
    dimensions: minors with signs.
    """
    columns = tuple(range(len(planes) + 1))
    return tuple((-1) ** k * _minor(planes, (*columns[:k], *columns[k + 1 :])) for k in columns)


@lru_cache(maxsize=1 << 16)
def _minor(planes: tuple[Plane, ...], columns: tuple[int, ...]) -> fmpq_poly:
    """Return the determinant of these columns of the planes' coefficients."""
    first, rest = planes[0].coefficients, planes[1:]
    if not rest:
        return first[columns[0]]
    total = fmpq_poly([0])
    for k, column in enumerate(columns):
        if first[column].degree() >= 0:  # the degree of zero is -1
            total += (-1) ** k * first[column] * _minor(rest, (*columns[:k], *columns[k + 1 :]))
    return total


def _integers(polynomial: fmpq_poly) -> Integers:
    """Return the polynomial up to a constant factor, which does not change its roots; many
    polynomials are then equal.
    """
    return integers(polynomial.numer()) if polynomial.degree() > 0 else ()


@lru_cache(maxsize=1 << 16)
def _factors(coefficients: Integers) -> frozenset[Integers]:
    """Return the irreducible factors that are not constant."""
    return frozenset(
        map(integers, (factor for factor, _ in fmpz_poly(list(coefficients)).factor()[1]))
    )


@lru_cache(maxsize=4096)
def _roots(coefficients: Integers, least: sp.Rational) -> tuple[sp.Expr, ...]:
    """Return the real roots above the least one."""
    beyond = fmpq_poly(list(coefficients))(fmpq_poly([fmpq(int(least.p), int(least.q)), 1]))
    if len({value > 0 for value in beyond.coeffs() if value != 0}) == 1:
        return ()  # no change of sign, so no positive root (Descartes)
    if len(coefficients) == 2:
        root = sp.Rational(-coefficients[0], coefficients[1])
        return (root,) if root > least else ()
    return tuple(
        root for root in sp.real_roots(sp.Poly(coefficients[::-1], sp.Symbol("x"))) if root > least
    )
