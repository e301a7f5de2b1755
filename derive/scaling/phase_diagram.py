"""Which balance holds where: cells of a phase diagram with exact boundaries, proven to tile space for every gamma.

At one rational gamma the cells are polytopes with rational corners, in as many dimensions as there are parameters besides the large
number, so that whether they cover space without overlap is exact arithmetic. What a balance's own planes bound changes only where one
of its corners crosses one more of them or goes to infinity: roots of polynomials in gamma. Where the planes bound nothing, one of them
has all corners of what the planes before it bound on its far side, and it keeps them there up to such a root. Between these values the
same balances hold somewhere. While no corner of a cell crosses a plane of another, planes that keep two cells apart go on to do so,
and faces that lie on each other stay there: the arrangement of cells is the same, and one check there is a proof for all.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, groupby, pairwise
from typing import TypeVar

import sympy as sp
from flint import fmpq, fmpq_poly, fmpz_poly

from derive.language.errors import DerivationError
from derive.scaling.balance import Form, Solution, System, solve
from derive.scaling.polytopes import HalfSpace, Polytope, box, cut, facets, independent, overlap, separated, volume
from derive.scaling.rational_functions import Integers, Row, integers, over_common_denominator

SIZE = 12  #: logarithms of the parameters over that of the large number lie within SIZE (1 + gamma): far beyond every corner


@dataclass(frozen=True)
class Cell:
    """Where one balance holds, for the gammas of one interval: `margins` are its boundaries, none of them redundant."""

    solution: Solution
    margins: tuple[Form, ...]


@dataclass(frozen=True)
class Phase:
    """An interval of gamma (ends exclusive, the last one None) with the cells that tile space there."""

    low: sp.Expr
    high: sp.Expr | None
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Diagram:
    """The phase diagram of a system."""

    system: System
    phases: tuple[Phase, ...]

    def at(self, gamma: Fraction) -> Phase:
        """The cells at one gamma; at a critical value those just below it, which end where the others begin.

        Raises:
            ValueError: gamma is not above the least one.
        """
        for phase in self.phases:
            if phase.low < gamma and (phase.high is None or gamma <= phase.high):
                return phase
        raise ValueError(f"gamma = {gamma}: must exceed {self.system.least_gamma}")


class Plane:
    """A form as polynomials in gamma over a common denominator."""

    def __init__(self, form: Form, gamma: sp.Symbol) -> None:
        self.coefficients, self.denominator = over_common_denominator(form, gamma)

    def at(self, gamma: Fraction) -> HalfSpace:
        """Where the form is not negative, at one gamma, with the large number of logarithm one; nothing at a pole."""
        point = _exact(gamma)
        scale = self.denominator(point)  # its sign matters, not its size
        return tuple(coefficient(point) * scale for coefficient in self.coefficients)


def _exact(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


@lru_cache(maxsize=4096)
def _plane(form: Form, gamma: sp.Symbol) -> Plane:
    return Plane(form, gamma)


def _bounds(system: System, margins: Iterable[Form]) -> tuple[Form, ...]:
    """The frame, in the order of the planes of a box, the domain, and the margins."""
    dimension, size = len(system.parameters) - 1, SIZE * (1 + system.gamma)
    frame = [
        (*(side * (i == k) for i in range(dimension)), size)
        for k in range(dimension)
        for side in (sp.Integer(1), sp.Integer(-1))
    ]
    return (*frame, *system.forms(system.domain), *margins)


def polytope(margins: tuple[Form, ...], system: System, gamma: Fraction) -> Polytope:
    """Where all margins and the domain hold, within the frame; its planes are in the order of `_bounds`."""
    *_, last = _cuts(margins, system, gamma)
    return last


def _cuts(margins: tuple[Form, ...], system: System, gamma: Fraction) -> Iterator[Polytope]:
    """The frame, and what each further plane leaves of it."""
    dimension = len(system.parameters) - 1
    found = box(SIZE * (1 + _exact(gamma)), dimension)
    yield found
    for form in _bounds(system, margins)[2 * dimension :]:
        found = cut(found, _plane(form, system.gamma).at(gamma))
        yield found


@lru_cache(maxsize=16)
def phase_diagram(system: System) -> Diagram:
    """Solve a system and prove that its cells tile space.

    Raises:
        DerivationError: they leave a gap or overlap.
    """
    own = [tuple(_joined(_phases(system, solution))) for solution in solve(system)]
    ends = sorted({phase.low for phases in own for phase in phases})
    asked = [
        Phase(low, high, sum((_cells(phases, low) for phases in own), ())) for low, high in pairwise((*ends, None))
    ]
    proven = (piece for phase in _joined(asked) for piece in _proven(system, phase.cells, phase.low, phase.high))
    return Diagram(system, tuple(_joined(proven)))


def _cells(phases: tuple[Phase, ...], low: sp.Expr) -> tuple[Cell, ...]:
    """Those of the phase that holds just above a value of gamma."""
    return next(phase.cells for phase in reversed(phases) if phase.low <= low)


def _phases(system: System, solution: Solution) -> Iterator[Phase]:
    """Where a balance holds, one cell or none, for every gamma."""
    planes = _planes(system, solution.margins)

    def at(gamma: Fraction) -> tuple[tuple[Cell, ...], set[sp.Expr]]:
        shapes = list(_cuts(solution.margins, system, gamma))
        bounded = next(shape for shape in reversed(shapes) if shape.corners)
        asked = planes[: len(bounded.planes) + 1]  # with the one that leaves nothing
        cells = (_cell(system, solution, bounded),) if bounded is shapes[-1] else ()
        return cells, _roots_of(system, _crossings([asked], [bounded]))

    for low, high, cells in _intervals(at, system.least_gamma, None):
        yield Phase(low, high, cells)


def _cell(system: System, solution: Solution, shape: Polytope) -> Cell:
    """Where a balance holds, which is a polytope at one gamma: margins on whose planes its faces lie, one per plane."""
    first = len(_bounds(system, ()))
    faces = (k for k in facets(shape) if k >= first)
    return Cell(solution, tuple(_scaled(solution.margins[k - first], shape.planes[k]) for k in faces))


def _scaled(margin: Form, plane: HalfSpace) -> Form:
    """The margin over the size of its first coefficient, whose sign its value at one gamma shows."""
    k = next(k for k, value in enumerate(plane) if value)
    size = margin[k] if plane[k] > 0 else -margin[k]
    return tuple(sp.cancel(value / size) for value in margin)


def _proven(system: System, cells: tuple[Cell, ...], low: sp.Expr, high: sp.Expr | None) -> Iterator[Phase]:
    """The cells over an interval of gamma, cut where their arrangement changes, each piece checked at a gamma inside."""
    bounds = [_planes(system, cell.margins) for cell in cells]

    def at(gamma: Fraction) -> tuple[tuple[Fraction, list[Polytope]], set[sp.Expr]]:
        shapes = [polytope(cell.margins, system, gamma) for cell in cells]
        return (gamma, shapes), _roots_of(system, _crossings(bounds, shapes))

    for start, end, (gamma, shapes) in _intervals(at, low, high):
        _require_tiling(system, cells, shapes, gamma)
        yield Phase(start, end, cells)


Found = TypeVar("Found")


def _intervals(
    at: Callable[[Fraction], tuple[Found, set[sp.Expr]]], low: sp.Expr, high: sp.Expr | None
) -> Iterator[tuple[sp.Expr, sp.Expr | None, Found]]:
    """An interval of gamma in pieces, each with what `at` finds at one gamma inside, beside the values where that may change."""
    gamma = _between(low, high)
    found, changes = at(gamma)
    inside = [value for value in changes if low < value and (high is None or value < high)]
    start = max((value for value in inside if value <= gamma), default=low)
    end = min((value for value in inside if value >= gamma), default=high)
    if start != low:
        yield from _intervals(at, low, start)
    if start != end:
        yield start, end, found
    if end != high:
        yield from _intervals(at, end, high)


def _require_tiling(system: System, cells: tuple[Cell, ...], shapes: list[Polytope], gamma: Fraction) -> None:
    for (left, a), (right, b) in combinations(zip(cells, shapes, strict=True), 2):
        if not separated(a, b):
            places = "the same place" if overlap(a, b) > 0 else "places that no face keeps apart"
            dominant = f"{left.solution.dominant} and {right.solution.dominant}"
            raise DerivationError(f"gamma = {gamma}: balances {dominant} hold at {places}")
    whole = volume(polytope((), system, gamma))
    if (missing := whole - sum(map(volume, shapes))) != 0:
        raise DerivationError(f"gamma = {gamma}: no balance holds on {float(missing / whole):.1%} of all places")


def _joined(phases: Iterable[Phase]) -> Iterator[Phase]:
    """Phases of equal cells and boundaries in one."""
    for _, group in groupby(phases, key=lambda phase: phase.cells):
        first, *_, last = [*group] * 2
        yield Phase(first.low, last.high, first.cells)


@lru_cache(maxsize=1024)  # every balance asks for it
def _between(low: sp.Expr, high: sp.Expr | None) -> Fraction:
    """A rational number in an interval, near its middle and with a small denominator."""
    if high is None:
        return Fraction(int(sp.floor(low)) + 1)
    middle = Fraction(float((low + high) / 2))
    for digits in range(1, 16):
        found = middle.limit_denominator(10**digits)
        if low < sp.Rational(found) < high:
            return found
    raise DerivationError(f"critical gammas {low} and {high} are too close to tell apart")


def _roots_of(system: System, polynomials: Iterable[fmpq_poly]) -> set[sp.Expr]:
    """Values of gamma, above the least one, at which one of them vanishes without being zero."""
    factors = set().union(*map(_factors, set(map(_integers, polynomials)) - {()}))
    return {root for factor in factors for root in _roots(factor, system.least_gamma)}


def _planes(system: System, margins: tuple[Form, ...]) -> list[Plane]:
    return [_plane(form, system.gamma) for form in _bounds(system, margins)]


def _crossings(bounds: list[list[Plane]], shapes: list[Polytope]) -> Iterator[fmpq_poly]:
    """Polynomials that vanish where a plane has a pole, or a corner of a shape goes to infinity or crosses a plane of any."""
    planes = {plane for several in bounds for plane in several}
    corners = {
        tuple(own[k] for k in independent(shape, on))
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
    """Homogeneous coordinates of the point that as many planes as there are dimensions share: minors, with signs."""
    columns = tuple(range(len(planes) + 1))
    return tuple((-1) ** k * _minor(planes, (*columns[:k], *columns[k + 1 :])) for k in columns)


@lru_cache(maxsize=1 << 16)
def _minor(planes: tuple[Plane, ...], columns: tuple[int, ...]) -> fmpq_poly:
    """Determinant of these columns of the planes' coefficients."""
    first, rest = planes[0].coefficients, planes[1:]
    if not rest:
        return first[columns[0]]
    total = fmpq_poly([0])
    for k, column in enumerate(columns):
        if first[column].degree() >= 0:  # minus one for zero
            total += (-1) ** k * first[column] * _minor(rest, (*columns[:k], *columns[k + 1 :]))
    return total


def _integers(polynomial: fmpq_poly) -> Integers:
    """The polynomial up to a constant factor, as what does not change where it vanishes: equal ones are many."""
    return integers(polynomial.numer()) if polynomial.degree() > 0 else ()


@lru_cache(maxsize=1 << 16)
def _factors(coefficients: Integers) -> frozenset[Integers]:
    """Irreducible factors that are not constant."""
    return frozenset(map(integers, (factor for factor, _ in fmpz_poly(list(coefficients)).factor()[1])))


@lru_cache(maxsize=4096)
def _roots(coefficients: Integers, least: sp.Rational) -> tuple[sp.Expr, ...]:
    """Real roots above the least one."""
    beyond = fmpq_poly(list(coefficients))(fmpq_poly([fmpq(int(least.p), int(least.q)), 1]))
    if len({value > 0 for value in beyond.coeffs() if value != 0}) == 1:
        return ()  # without a change of sign there is no positive root (Descartes)
    return tuple(root for root in sp.real_roots(sp.Poly(coefficients[::-1], sp.Symbol("x"))) if root > least)
