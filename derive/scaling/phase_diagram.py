"""Which balance holds where: cells of a phase diagram with exact boundaries, proven to tile space for every gamma.

At one rational gamma the cells are polytopes with rational corners, in as many dimensions as there are parameters besides the large
number, so that whether they cover space without overlap is exact arithmetic. What a balance's own planes bound changes only where one
more of them than there are dimensions meet in a point, or where a corner goes to infinity: roots of polynomials in gamma. Between such
values the same balances hold somewhere. While no corner of a cell crosses a plane of another, planes that keep two cells apart go on
to do so, and faces that lie on each other stay there: the arrangement of cells is the same, and one check there is a proof for all.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, groupby, pairwise

import sympy as sp
from flint import fmpq, fmpq_poly, fmpz_poly

from derive.language.errors import DerivationError
from derive.scaling.balance import Form, Solution, System, solve
from derive.scaling.polytopes import HalfSpace, Polytope, box, cut, facets, independent, overlap, separated, volume

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
        fractions = [sp.fraction(sp.together(value)) for value in form]
        common = sp.Poly(1, gamma)
        for _, denominator in fractions:
            common = sp.lcm(common, sp.Poly(denominator, gamma))
        self.coefficients = tuple(_flint(sp.Poly(sp.cancel(value * common.as_expr()), gamma)) for value in form)
        self.denominator = _flint(common)

    def at(self, gamma: Fraction) -> HalfSpace:
        """Where the form is not negative, at one gamma, with the large number of logarithm one."""
        point = _exact(gamma)
        return tuple(coefficient(point) / self.denominator(point) for coefficient in self.coefficients)


def _exact(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def _flint(polynomial: sp.Poly) -> fmpq_poly:
    return fmpq_poly([fmpq(int(c.p), int(c.q)) for c in map(sp.Rational, polynomial.all_coeffs()[::-1])])


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
    dimension = len(system.parameters) - 1
    found = box(SIZE * (1 + _exact(gamma)), dimension)
    for form in _bounds(system, margins)[2 * dimension :]:
        found = cut(found, _plane(form, system.gamma).at(gamma))
    return found


@lru_cache(maxsize=16)
def phase_diagram(system: System) -> Diagram:
    """Solve a system and prove that its cells tile space.

    Raises:
        DerivationError: they leave a gap or overlap.
    """
    solutions = [solution for solution in solve(system) if not _flat(solution.margins)]
    own = [_roots_of(system, _own_crossings(system, solution.margins)) for solution in solutions]
    cells: list[Cell | None] = [None] * len(solutions)
    asked = []
    for low, high in pairwise((system.least_gamma, *sorted(set().union(*own)), None)):
        for k, solution in enumerate(solutions):
            if low == system.least_gamma or low in own[k]:
                cells[k] = _cell(system, solution, low, high)
        asked.append(Phase(low, high, tuple(cell for cell in cells if cell)))
    phases = (piece for phase in _joined(asked) for piece in _proven(system, phase.cells, phase.low, phase.high))
    return Diagram(system, tuple(_joined(phases)))


def _flat(margins: tuple[Form, ...]) -> bool:
    """Whether two margins leave a plane at most between them."""
    return any(tuple(sp.expand(-value) for value in margin) in margins for margin in margins)


def _cell(system: System, solution: Solution, low: sp.Expr, high: sp.Expr | None) -> Cell | None:
    """Where a balance holds for the gammas of an interval: margins on whose planes the faces lie, one per plane; None if nowhere."""
    shape, first = polytope(solution.margins, system, _between(low, high)), len(_bounds(system, ()))
    if not shape.corners:
        return None
    faces = (k for k in facets(shape) if k >= first)
    return Cell(solution, tuple(_scaled(solution.margins[k - first], shape.planes[k]) for k in faces))


def _scaled(margin: Form, plane: HalfSpace) -> Form:
    """The margin over the size of its first coefficient, whose sign its value at one gamma shows."""
    k = next(k for k, value in enumerate(plane) if value)
    size = margin[k] if plane[k] > 0 else -margin[k]
    return tuple(sp.cancel(value / size) for value in margin)


def _proven(system: System, cells: tuple[Cell, ...], low: sp.Expr, high: sp.Expr | None) -> Iterator[Phase]:
    """The cells over an interval of gamma, cut where their arrangement changes, each piece checked at one gamma."""
    gamma = _between(low, high)
    shapes = [polytope(cell.margins, system, gamma) for cell in cells]
    _require_tiling(system, cells, shapes, gamma)
    found = _roots_of(system, _crossings(system, cells, shapes))
    inside = [value for value in found if low < value and (high is None or value < high)]
    start = max((value for value in inside if value <= gamma), default=low)
    end = min((value for value in inside if value >= gamma), default=high)
    if start != low:
        yield from _proven(system, cells, low, start)
    if start != end:
        yield Phase(start, end, cells)
    if end != high:
        yield from _proven(system, cells, end, high)


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


def _own_crossings(system: System, margins: tuple[Form, ...]) -> Iterator[fmpq_poly]:
    """Polynomials that vanish where the arrangement of all planes of one balance may change."""
    planes = [_plane(form, system.gamma) for form in dict.fromkeys(_bounds(system, margins))]
    dimension = len(system.parameters) - 1
    for plane in planes:
        yield plane.denominator
    for chosen in combinations(range(len(planes)), dimension):
        corner = _corner(tuple(planes[k] for k in chosen))
        yield corner[-1]
        yield from (_height(plane, corner) for plane in planes[chosen[-1] + 1 :])


def _crossings(system: System, cells: tuple[Cell, ...], shapes: list[Polytope]) -> Iterator[fmpq_poly]:
    """Polynomials that vanish where a corner of a cell goes to infinity or crosses a plane of a cell."""
    bounds = [[_plane(form, system.gamma) for form in _bounds(system, cell.margins)] for cell in cells]
    planes = {plane for several in bounds for plane in several}
    corners = {
        tuple(own[k] for k in independent(shape, on))
        for own, shape in zip(bounds, shapes, strict=True)
        for _, on in shape.corners
    }
    for place in map(_corner, corners):
        yield place[-1]
        yield from (_height(plane, place) for plane in planes)


Row = tuple[fmpq_poly, ...]


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


Integers = tuple[int, ...]  #: coefficients of a polynomial up to a constant factor, lowest first


def _integers(polynomial: fmpq_poly) -> Integers:
    """The polynomial, as what does not change where it vanishes: equal ones are many."""
    return tuple(map(int, polynomial.numer().coeffs())) if polynomial.degree() > 0 else ()


@lru_cache(maxsize=1 << 16)
def _factors(coefficients: Integers) -> frozenset[Integers]:
    """Irreducible factors that are not constant."""
    return frozenset(_integers(fmpq_poly(factor)) for factor, _ in fmpz_poly(list(coefficients)).factor()[1])


@lru_cache(maxsize=4096)
def _roots(coefficients: Integers, least: sp.Rational) -> tuple[sp.Expr, ...]:
    """Real roots above the least one."""
    return tuple(root for root in sp.real_roots(sp.Poly(coefficients[::-1], sp.Symbol("x"))) if root > least)
