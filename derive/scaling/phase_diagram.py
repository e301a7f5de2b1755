"""Which balance holds where: cells of a phase diagram with exact boundaries, proven to tile the plane for every gamma.

At one rational gamma the cells are polygons with rational corners, so that whether they cover the plane without overlap is exact
arithmetic. Corners meet other lines only where three lines concur, two become parallel, or a coefficient diverges: roots of
polynomials in gamma. Between critical values of the lines of each balance the same balances hold somewhere; between those of all
boundaries of these the arrangement of cells is the same, and one check there is a proof for all.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, pairwise

import sympy as sp
from flint import fmpq, fmpq_poly

from derive.language.step import DerivationError
from derive.scaling.balance import Form, Solution, System, solve
from derive.scaling.polygons import HalfPlane, Polygon, area, box, cut, overlap, touches

SIZE = 12  #: logarithms of the parameters over that of the large number lie within SIZE (1 + gamma): far beyond every corner


@dataclass(frozen=True)
class Cell:
    """Where one balance holds, for the gammas of one interval: `margins` are its boundaries, none of them redundant."""

    solution: Solution
    margins: tuple[Form, ...]


@dataclass(frozen=True)
class Phase:
    """An interval of gamma (ends exclusive, the last one None) with the cells that tile the plane there."""

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


class Line:
    """A form as polynomials in gamma over a common denominator."""

    def __init__(self, form: Form, gamma: sp.Symbol) -> None:
        fractions = [sp.fraction(sp.together(value)) for value in form]
        common = sp.Poly(1, gamma)
        for _, denominator in fractions:
            common = sp.lcm(common, sp.Poly(denominator, gamma))
        self.coefficients = tuple(_flint(sp.Poly(sp.cancel(value * common.as_expr()), gamma)) for value in form)
        self.denominator = _flint(common)

    def at(self, gamma: Fraction) -> HalfPlane:
        """The half-plane where the form is not negative, at one gamma, where the large number has logarithm one."""
        point = _exact(gamma)
        x, y, c = (coefficient(point) / self.denominator(point) for coefficient in self.coefficients)
        return x, y, c


def _exact(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def _flint(polynomial: sp.Poly) -> fmpq_poly:
    return fmpq_poly([fmpq(int(c.p), int(c.q)) for c in map(sp.Rational, polynomial.all_coeffs()[::-1])])


@lru_cache(maxsize=4096)
def _line(form: Form, gamma: sp.Symbol) -> Line:
    return Line(form, gamma)


def polygon(margins: tuple[Form, ...], system: System, gamma: Fraction) -> Polygon:
    """Where all margins and the domain hold, within the frame."""
    found = box(SIZE * (1 + _exact(gamma)))
    for form in (*system.forms(system.domain), *margins):
        found = cut(found, _line(form, system.gamma).at(gamma))
    return found


@lru_cache(maxsize=16)
def phase_diagram(system: System) -> Diagram:
    """Solve a system and prove that its cells tile the plane.

    Raises:
        DerivationError: they leave a gap or overlap.
    """
    solutions = solve(system)
    own = {value for solution in solutions for value in _critical_values(system, {*solution.margins})}
    phases = []
    for low, high in _intervals(system, own):
        cells = _cells(system, solutions, _between(low, high))
        edges = _critical_values(system, {margin for cell in cells for margin in cell.margins})
        inside = {value for value in edges if low < value and (high is None or value < high)}
        for start, end in _intervals(system, inside, low, high):
            gamma = _between(start, end)
            _require_tiling(system, cells, gamma)
            phases.append(Phase(start, end, cells))
    return Diagram(system, tuple(_joined(phases)))


def _intervals(
    system: System, values: set[sp.Expr], low: sp.Expr | None = None, high: sp.Expr | None = None
) -> Iterator[tuple[sp.Expr, sp.Expr | None]]:
    return pairwise((system.least_gamma if low is None else low, *sorted(values), high))


def _cells(system: System, solutions: tuple[Solution, ...], gamma: Fraction) -> tuple[Cell, ...]:
    """Balances that hold somewhere at one gamma, each with the margins that bound it."""
    shapes = ((solution, polygon(solution.margins, system, gamma)) for solution in solutions)
    return tuple(
        Cell(solution, _boundaries(solution, shape, system, gamma)) for solution, shape in shapes if area(shape) > 0
    )


def _boundaries(solution: Solution, shape: Polygon, system: System, gamma: Fraction) -> tuple[Form, ...]:
    """Margins on whose lines the sides lie, one per line."""
    found: dict[HalfPlane, Form] = {}
    for margin in solution.margins:
        plane = _line(margin, system.gamma).at(gamma)
        unit = max(abs(plane[0]), abs(plane[1]))
        if unit and touches(shape, plane):
            found.setdefault((plane[0] / unit, plane[1] / unit, plane[2] / unit), _scaled(margin, plane))
    return tuple(found.values())


def _scaled(margin: Form, plane: HalfPlane) -> Form:
    """The margin over the size of its first coefficient, whose sign its value at one gamma shows."""
    k = next(k for k, value in enumerate(plane) if value)
    size = margin[k] if plane[k] > 0 else -margin[k]
    return tuple(sp.cancel(value / size) for value in margin)


def _require_tiling(system: System, cells: tuple[Cell, ...], gamma: Fraction) -> None:
    shapes = [(cell.solution, polygon(cell.margins, system, gamma)) for cell in cells]
    whole = area(polygon((), system, gamma))
    for (left, a), (right, b) in combinations(shapes, 2):
        if overlap(a, b) > 0:
            raise DerivationError(
                f"gamma = {gamma}: balances {left.dominant} and {right.dominant} hold at the same place"
            )
    if (missing := whole - sum(area(shape) for _, shape in shapes)) != 0:
        raise DerivationError(f"gamma = {gamma}: no balance holds on {float(missing / whole):.1%} of the plane")


def _joined(phases: list[Phase]) -> Iterator[Phase]:
    """Phases of equal cells and boundaries in one."""
    current = phases[0]
    for phase in phases[1:]:
        if phase.cells == current.cells:
            current = Phase(current.low, phase.high, current.cells)
        else:
            yield current
            current = phase
    yield current


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


def _critical_values(system: System, forms: set[Form]) -> set[sp.Expr]:
    """Values of gamma at which the arrangement of these lines, the domain's and the frame's may change."""
    size = SIZE * (1 + system.gamma)
    frame = {(sp.Integer(a), sp.Integer(b), size) for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1))}
    lines = [_line(form, system.gamma) for form in sorted({*forms, *system.forms(system.domain), *frame}, key=str)]
    factors = set().union(*(_factors(line.denominator) for line in lines))
    for a, b in combinations(range(len(lines)), 2):
        p, q = lines[a].coefficients, lines[b].coefficients
        crossing = (p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0])
        factors |= _factors(crossing[2])
        for line in lines[b + 1 :]:
            r = line.coefficients
            factors |= _factors(r[0] * crossing[0] + r[1] * crossing[1] + r[2] * crossing[2])
    return {root for factor in factors for root in _roots(factor) if root > system.least_gamma}


def _factors(polynomial: fmpq_poly) -> set[tuple[int, ...]]:
    """Irreducible factors that are not constant, as integer coefficients, lowest first."""
    if polynomial.degree() < 1:
        return set()
    return {tuple(int(c) for c in factor.coeffs()) for factor, _ in polynomial.numer().factor()[1]}


@lru_cache(maxsize=4096)
def _roots(coefficients: tuple[int, ...]) -> tuple[sp.Expr, ...]:
    return tuple(sp.real_roots(sp.Poly(coefficients[::-1], sp.Symbol("x"))))
