"""The width as a third axis: polytopes, the cells of students of limited rank, the widths of least
risk.
"""

from fractions import Fraction
from itertools import combinations

import pytest
import sympy as sp
from flint import fmpq
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import integrate
from strategies import examples

from derive.language.notation import sym
from derive.models import load
from derive.passes.spectral_function.semicircle import cut_powers, edge_mass
from derive.scaling.phase_diagram import phase_diagram, polytope
from derive.scaling.polytopes import are_separated, box, cut, facets, height, overlap, volume
from derive.scaling.power_law import limit, risk, system
from derive.scaling.width import applies, hidden, optima, width_system

gamma, eta = sym("gamma eta")
TIED = load("tied_attention")
GAMMAS = [Fraction(51, 100), Fraction(3, 4), Fraction(1), Fraction(7, 2), Fraction(20)]


def cells(at=Fraction(3, 4)):
    return phase_diagram(width_system(TIED)).at(at).cells


def same(form, *expected) -> bool:
    return all(sp.cancel(a - sp.sympify(e)) == 0 for a, e in zip(form, expected, strict=True))


def value(form, place, at):
    """Logarithm of the monomial at a place, with log d = 1."""
    exact = [sp.Rational(power.subs(gamma, sp.Rational(at))) for power in map(sp.sympify, form)]
    return height(tuple(fmpq(int(x.p), int(x.q)) for x in exact), place)


planes = st.lists(st.fractions(-3, 3, max_denominator=8), min_size=5, max_size=5)


@pytest.mark.identity
@examples(30)
@given(dimension=st.integers(1, 4), forms=st.lists(planes, max_size=5))
def test_a_plane_cuts_a_polytope_into_two_parts(dimension, forms):
    shape = box(fmpq(1), dimension)
    assert volume(shape) == 2**dimension
    for form in forms:
        plane = (*(fmpq(x.numerator, x.denominator) for x in form[: dimension + 1]),)
        above, below = cut(shape, plane), cut(shape, tuple(-x for x in plane))
        if any(plane[:-1]):
            assert volume(above) + volume(below) == volume(shape)
            assert overlap(above, below) == 0
            if above.corners and below.corners:
                assert are_separated(above, below)
        shape = above if above.corners else below
        assert len(facets(shape)) >= dimension + 1 or not shape.corners


@pytest.mark.parametrize("share", [1e-4, 1e-6])
def test_powers_of_a_rank_cut_are_those_of_the_semicircle(share):
    """The largest share of the unit semicircle, by quadrature, at a threshold a tenth of the edge
    below it.
    """
    depth = float(sp.nsolve(edge_mass() - share, eta, share ** (2 / 3)))
    cut_at, threshold = 2 * (1 - depth), 2 * 0.9
    density = [
        integrate.quad(lambda x, p=p: (x - threshold) ** p * (4 - x * x) ** 0.5, cut_at, 2)[0]
        / 6.283185307
        for p in (0, 1, 2)
    ]
    response = (
        integrate.quad(lambda x: (x - threshold) * x * (4 - x * x) ** 0.5, cut_at, 2)[0]
        / 6.283185307
    )
    found = [float(form.subs(eta, 0.1)) for form in cut_powers()]
    assert density[0] == pytest.approx(share, rel=2 * depth)
    assert density[2] / share == pytest.approx(found[0], rel=30 * depth)
    assert response / share == pytest.approx(
        found[1], rel=30 * depth
    )  # 2 Re g = x inside a unit semicircle


def test_students_of_limited_width_have_every_regime():
    found = {
        (cell.solution.regime.id, limit(cell.solution)): cell.solution.exponents[risk]
        for cell in cells()
    }
    slope, weak = 2 - 1 / gamma, 1 - 1 / (2 * gamma)
    assert same(
        found["cut_spikes", "width"], 0, 0, 1 - 2 * gamma, 0
    )  # what is left of the target, sum of s_k^2 beyond m
    assert same(
        found["spikes_and_cut_bulk", "overfitting"], -1, 0, 1, 1
    )  # parameters m d over samples
    assert same(
        found["spikes_and_cut_slit", "overfitting"], 1, 0, -1, -1
    )  # its inverse beyond interpolation
    assert same(found["spikes_and_cut_slit", "noise"], -weak, 0, 0, weak)
    assert same(
        found["spikes", "decay"], -slope, slope, slope / 2, slope
    )  # of a weight decay lambda sqrt(m/d)
    assert len(found) == 13
    assert len(phase_diagram(width_system(TIED)).phases) == 1


@pytest.mark.parametrize("at", GAMMAS)
def test_cells_cover_space_once_and_the_risk_is_continuous(at):
    """The proof checks one gamma per interval: here others. Where cells meet their risks agree,
    corner by corner.

    But for n = lambda^2 m d, where the threshold meets the edge of the bulk: a change of lambda by
    a factor opens it by a power; and for m = d, where the last feature gets a hidden unit.
    """
    of = width_system(TIED)
    jumps = {(1, -2, -1, -1), (-1, 2, 1, 1)}, {(0, 0, 1, -1), (0, 0, -1, 1)}
    shapes = [(cell, polytope(cell.margins, of, at)) for cell in cells(at)]
    assert sum(volume(shape) for _, shape in shapes) == volume(polytope((), of, at))
    compared = 0
    for (left, a), (right, b) in combinations(shapes, 2):
        if any(plane <= {*left.margins, *right.margins} for plane in jumps):
            continue
        for place in [
            point for point, _ in a.corners if all(height(plane, point) >= 0 for plane in b.planes)
        ]:
            assert value(left.solution.exponents[risk], place, at) == value(
                right.solution.exponents[risk], place, at
            )
            compared += 1
    assert compared > 50


places = st.tuples(
    *(st.fractions(low, high, max_denominator=50) for low, high in ((0, 6), (-4, 4), (0, 2)))
)


def exponent(of, at, *place):
    """Logarithm of the risk over log d where a place lies."""
    exact = tuple(fmpq(x.numerator, x.denominator) for x in place)
    for cell in phase_diagram(of).at(at).cells:
        if all(value(margin, exact, at) >= 0 for margin in cell.margins):
            return value(cell.solution.exponents[risk], exact, at)
    raise AssertionError("no cell")


@pytest.mark.identity
@examples(25)
@given(at=st.fractions(Fraction(11, 20), 4, max_denominator=20), place=places)
def test_a_student_as_wide_as_its_inputs_has_the_diagram_without_a_width(at, place):
    n, decay, _ = place
    assert exponent(width_system(TIED), at, n, decay, Fraction(1)) == exponent(
        system(TIED), at, n, decay
    )


@pytest.mark.identity
@examples(25)
@given(at=st.fractions(Fraction(11, 20), 4, max_denominator=20), place=places)
def test_width_beyond_the_inputs_is_weight_decay(at, place):
    n, decay, more = place
    wide = exponent(width_system(TIED), at, n, decay, 1 + more)
    assert wide == exponent(system(TIED), at, n, decay + more / 2)


@pytest.mark.identity
@examples(15)
@example(
    at=Fraction(11, 20), place=(Fraction(173, 40), Fraction(25, 13), 0)
)  # the last feature gets a hidden unit
@given(at=st.fractions(Fraction(11, 20), 4, max_denominator=20), place=places)
def test_no_width_has_less_risk_than_the_derived_optima(at, place):
    """At any samples and decay the least of the risk over widths is that of an optimum, or of the
    narrowest student.
    """
    n, decay, _ = place
    of, exact = width_system(TIED), tuple(fmpq(x.numerator, x.denominator) for x in place[:2])
    least = min(exponent(of, at, n, decay, Fraction(k, 12)) for k in range(13))
    valid = [o for o in optima(TIED) if all(value(form, exact, at) >= 0 for form in o.conditions)]
    best = min(
        (value(o.risk, exact, at) for o in valid), default=exponent(of, at, n, decay, Fraction(0))
    )
    assert least >= min(best, exponent(of, at, n, decay, Fraction(1)))
    for one in valid:
        width = value(one.width, exact, at)
        assert exponent(of, at, n, decay, Fraction(int(width.p), int(width.q))) == value(
            one.risk, exact, at
        )


def test_the_least_risk_of_a_budget_of_samples_times_units():
    """At weak decay m = n_eff^(1/(2 gamma)), and R falls with n m to the power (2 gamma - 1)/(2
    gamma + 1).
    """
    (weak,) = (one for one in optima(TIED) if limit(one.beyond) == "overfitting")
    half = 1 / (2 * gamma)
    assert same(weak.width, half, 0, -half)
    assert same(weak.risk, half - 1, 0, 1 - half)
    assert sp.cancel(weak.computation + (2 * gamma - 1) / (2 * gamma + 1)) == 0


def test_models_whose_rank_is_free_have_no_width():
    assert applies(TIED)
    assert not applies(load("direct_symmetric"))
    assert hidden in width_system(TIED).parameters
