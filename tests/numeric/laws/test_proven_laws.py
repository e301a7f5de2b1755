"""Target laws in ball arithmetic: two laws that agree, roots on both sides of the axis, balls that
hold their points.
"""

from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from flint import acb, arb
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.law import largest_error, whole_law
from numeric.laws.marchenko_pastur import TRUSTED, MarchenkoPastur, physical_root
from numeric.maths.balls import Unresolved, ball, working
from numeric.model import balls, float64
from numeric.proven_laws.energy import energy_above, energy_below, energy_of
from numeric.proven_laws.finite import exact_list, exact_power_law
from numeric.proven_laws.law import law_of, over
from numeric.proven_laws.path_integral import _foot, _panels, _quarter, _square, _vertical
from numeric.proven_laws.rational import exact_marchenko_pastur, rational_law
from numeric.thresholds.interpolation import interpolation

NAMES = ("J", "J_v", "J_b", "J_vv", "J_bv", "mass")


def gauss_law(kappa0, count):
    """The Marchenko-Pastur law (kappa0 < 1) at its own Gauss nodes, plus its atom: Jacobi matrix of
    the free Poisson law.
    """
    mp = mpmath.mp.clone()
    mp.dps = 60
    k, jump = (
        mp.mpf(kappa0.numerator) / kappa0.denominator,
        1 / mp.sqrt(mp.mpf(kappa0.numerator) / kappa0.denominator),
    )
    # Orthogonal polynomials of the continuous part weighted with x: Chebyshev of the second kind on
    # its support.
    centre, radius = jump * (1 + k), 2 * jump * mp.sqrt(k)
    angles = [mp.pi * j / (count + 1) for j in range(1, count + 1)]
    nodes = [centre + radius * mp.cos(t) for t in angles]
    # density sqrt(r^2 - (x - c)^2)/(2 pi jump x): Gauss weights of the semicircle, divided by x
    weights = [
        radius**2 * mp.sin(t) ** 2 / (2 * jump * (count + 1)) / x
        for t, x in zip(angles, nodes, strict=True)
    ]
    exact = [Fraction(int(mp.nint(value * 10**50)), 10**50) for value in nodes]
    shares = [Fraction(int(mp.nint(value * 10**50)), 10**50) for value in weights]
    return exact_list([*exact, Fraction(0)], [*shares, 1 - sum(shares)])


def test_closed_forms_and_path_integrals_agree_on_a_law_and_its_gauss_nodes():
    kappa0 = Fraction(1, 3)
    closed, listed = exact_marchenko_pastur(kappa0), gauss_law(kappa0, 60)
    with working(120):
        for v, x in ((arb(2), arb(0)), (arb(2), arb(1)), (arb(1), arb(-1) / 2)):
            one, other = closed.at(v, x), listed.at(v, x)
            for name in NAMES:
                assert abs(float(one.value(name) - other.value(name))) < 1e-20, name


def test_interpolation_at_the_gauss_nodes():
    closed = interpolation(exact_marchenko_pastur(Fraction(1, 3)), Fraction(1), 2, 20)
    assert interpolation(gauss_law(Fraction(1, 3), 60), Fraction(1), 2, 20).value == closed.value


@pytest.mark.parametrize("x", [-4.0, 9.0])
def test_beyond_the_support_everything_is_a_moment_or_zero(x):
    law = exact_list([Fraction(1), Fraction(3)], [Fraction(1, 4), Fraction(3, 4)])
    with working(100):
        point, (t0, q0) = law.at(arb(1) / 2, arb(x)), law.moments()
        below = x < 0
        assert point.value("mass").contains(1 if below else 0)
        assert point.value("J").contains(
            (q0 + arb(1) / 2 - 2 * t0 * x + arb(x) ** 2).mid() if below else 0
        )


def test_a_gap_between_eigenvalues_holds_whole_weights():
    law = exact_list([Fraction(1), Fraction(3)], [Fraction(1, 4), Fraction(3, 4)])
    with working(100):
        point = law.at(arb(1) / 1000, arb(2))
        assert point.g.imag.is_zero()
        assert point.value("mass").contains(arb(3) / 4)


laws = st.sampled_from(
    [
        exact_marchenko_pastur(Fraction(1, 3)),
        exact_list([Fraction(2), Fraction(0)], [Fraction(1, 4), Fraction(3, 4)]),
    ]
)


@examples(30)
@given(
    law=laws,
    v=st.floats(0.05, 3),
    x=st.floats(0, 2),
    width=st.sampled_from([1e-4, 1e-3]),
    place=st.floats(-1, 1),
)
def test_values_over_balls_hold_the_values_at_their_points(law, v, x, width, place):
    with working(100):
        try:
            box = over(law, arb(v, v * width), arb(x, width))
            inside = law.at(arb(v) * (1 + width * place), arb(x) - width * place)
        except Unresolved:  # an edge of the support within the balls
            return
        for name in NAMES:
            assert box.value(name).overlaps(inside.value(name)), name
            assert float(box.value(name).rad()) < 0.2


def test_power_law_has_the_second_moment_asked_for():
    with working(150):
        _, q0 = exact_power_law(Fraction(3, 4), 50, Fraction(7, 3)).moments()
        assert abs(float(q0 - arb(7) / 3)) < 1e-40


# The float64 closed forms against ball arithmetic.


def random_points(count, seed):
    rng = np.random.default_rng(seed)
    kappa0 = np.exp(rng.uniform(np.log(0.02), np.log(5.0), count))
    v = np.exp(rng.uniform(np.log(1e-6), np.log(30.0), count))
    b = rng.uniform(-1, 3, count) * np.sqrt(1 + kappa0 + v)
    return (kappa0, np.sqrt(kappa0)), v, b  # the model's inverse jump is sqrt(kappa0)


@pytest.mark.slow
def test_float64_closed_forms_are_within_their_stated_error_at_1e5_points():
    from numeric.model import balls

    law, v, b = random_points(100_000, 1)
    g = physical_root(v, b, law)
    values = {
        name: getattr(float64, f"spectral_{name}")(g, v, b, *law) for name in ("J", "J_v", "mass")
    }
    errors = {name: getattr(float64, f"spectral_{name}_error")(g, v, b, *law) for name in values}
    for name in values:
        assert np.isfinite(values[name]).all() and np.isfinite(errors[name]).all(), name
    assert (-g.imag >= 0).all()
    assert (values["mass"] > -errors["mass"] - 1e-9).all() and (
        values["mass"] < 1 + errors["mass"] + 1e-9
    ).all()
    from flint import acb

    with working(120):
        for k in range(len(v)):
            point = acb(g[k].real, g[k].imag), arb(v[k]), arb(b[k]), arb(law[0][k]), arb(law[1][k])
            for name in values:
                exact = getattr(balls, f"spectral_{name}")(*point)
                assert abs(float(exact - values[name][k])) <= errors[name][k], (name, point)


@pytest.mark.parametrize("kappa0", [0.05, 0.5, 2.0])
def test_the_switch_to_balls_is_right_on_both_sides(kappa0):
    """Approaching the upper edge the bound on the float64 error crosses the switch; values agree on
    both sides of it.
    """
    law, v = MarchenkoPastur(kappa0), 0.3
    top = law.support(v)[-1][1]
    sides = set()
    for depth in np.geomspace(1e-5, 0.3, 25):
        b = top * (1 - depth)
        g = complex(physical_root(v, np.array(b), law.law))
        trusted = float64.spectral_J_error(g, v, b, *law.law) <= TRUSTED * abs(
            float64.spectral_J(g, v, b, *law.law)
        )
        sides.add(bool(trusted))
        chosen, exact = law.values(v, b), law.exact_values(v, b)
        for mine, theirs in zip(chosen, exact, strict=True):
            # g itself is known to 1e-16 over its distance from a double root at the edge.
            assert mine == pytest.approx(theirs, rel=3e-9), depth
    assert sides == {True, False}


@pytest.mark.parametrize("kappa0", [0.05, 1.0, 4.0])
def test_above_the_upper_edge_there_is_nothing_and_no_error(kappa0):
    law = MarchenkoPastur(kappa0)
    b = 1.1 * law.upper_edge(0.3)
    assert (set(law.values(0.3, b)), law.accuracy(0.3, b)) == ({0.0}, 0.0)
    assert law.energy(0.3, b, 1.0)[:4] == (0.0, 0.0, 0.0, 0.0)


def test_sizes_of_a_whole_law_are_its_values_where_all_terms_have_one_sign():
    """Below the support, at a negative threshold and a positive mean: nothing cancels there."""
    law, v, x = MarchenkoPastur(0.5), 0.3, -4.0
    assert whole_law(v, x, law.t0, law.q0) == pytest.approx(
        tuple(map(abs, law.values(v, x))), rel=1e-12, abs=1e-14
    )


def test_the_largest_error_is_relative():
    assert largest_error((1e-3, 0.0, 3e-3), (2.0, 0.0, -30.0)) == 5e-4
    assert (
        largest_error((0.0,), (0.0,)) == 0.0 and largest_error((1e-3, 1e-9), (2.0, 0.0)) == np.inf
    )


@pytest.mark.parametrize(
    "kappa0",
    [pytest.param(0.05, marks=pytest.mark.slow), 1.0, pytest.param(4.0, marks=pytest.mark.slow)],
)
def test_many_pairs_at_once_are_the_pairs_one_by_one(kappa0):
    """Including pairs for which ball arithmetic has to take over, and thresholds beyond the upper
    edge.
    """
    law, rng = MarchenkoPastur(kappa0, 1.5), np.random.default_rng(3)
    v = np.exp(rng.uniform(np.log(1e-4), np.log(10), (4, 50)))
    top = np.vectorize(law.upper_edge)(v)
    b = top * rng.uniform(-0.5, 1.2, v.shape)
    b[0, :5] = top[0, :5] * (1 - 1e-4)
    grid = law.grid(v, b)
    assert grid.J.shape == v.shape
    for index in np.ndindex(v.shape):
        one = law.energy(v[index], b[index], 10.0)
        # Alone, a pair also needs J_bv: where that cancels, all of it comes from ball arithmetic.
        assert [row[index] for row in grid] == pytest.approx(
            [one.J, one.J_v, one.J_b, one.mass], rel=TRUSTED
        )


@pytest.mark.identity
@examples(200)
@given(kappa0=st.floats(0.01, 10), v=st.floats(-14, 4), place=st.floats(-1, 3))
def test_the_physical_root_solves_its_equation_on_its_branch(kappa0, v, place):
    law, variance = (kappa0, np.sqrt(kappa0)), 10**v
    b = place * np.sqrt(1 + kappa0 + variance)
    g = complex(physical_root(variance, np.array(b), law))
    assert g.imag <= 0 and abs(g) <= 1 / np.sqrt(variance) * (
        1 + 1e-9
    )  # a Stieltjes transform of variance v is bounded so
    terms = abs(variance * g) + abs(kappa0 / (law[1] - g)) + abs(1 / g)
    # At a double root g is known to sqrt(eps), but z is stationary there.
    assert abs(float64.inverse_stieltjes(g, variance, *law) - b) <= 1e-13 * terms
    if g.imag == 0:
        assert float64.resolvent_slope(g.real, variance, *law) < 1e-6 / abs(g) ** 2


def test_ball_arithmetic_takes_the_precision_that_it_needs():
    """At huge v the law is a semicircle: at 200 bits the terms of the closed form cancel, and J
    once came out as zero.
    """
    values = MarchenkoPastur(0.5).values(1e200, 0.0)
    assert pytest.approx(0.5e200, rel=1e-9) == values.J
    assert values.J_v == pytest.approx(0.5, rel=1e-9)
    assert values.mass == pytest.approx(0.5, rel=1e-9)


def test_a_grid_that_starts_at_the_left_edge_keeps_its_branch():
    """Where other codes lose the branch: density >= 0 and total mass 1 on a grid from edge to
    edge.
    """
    for kappa0, v in ((0.5, 0.01), (2.0, 0.1), (0.1, 1.0)):
        law = MarchenkoPastur(kappa0)
        total = 0.0
        for low, high in law.support(v):
            x = np.linspace(low, high, 20_001)
            density = law.density(v, x)
            assert (density >= 0).all()
            total += float(np.trapezoid(density, x))
        assert total == pytest.approx(1, abs=2e-4)  # trapezes under square-root edges


def on_the_ellipse(panel, turn):
    """Position and speed on the Bernstein ellipse of a panel, s = (e^(i turn) a + e^(-i turn)/a)/2
    at the sum a of its semi-axes.
    """
    rotated = acb(0, turn).exp() * panel.ellipse
    return panel.position((rotated + 1 / rotated) / 2)


@pytest.mark.parametrize(
    "u",
    [acb(1), acb(4), acb(2, "1e-3"), acb(2, 1), acb(5, "1e-9")],
    ids=lambda u: u.str(3, radius=False),
)
def test_no_integrand_is_larger_than_its_bound_on_the_ellipse_of_a_piece(u):
    """What the proven error of its quadrature rests on; nearly reached above eigenvalues."""
    law = exact_list(
        [Fraction(2), Fraction(0), Fraction(5)], [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    )
    v, x = arb(1) / 2, arb(1) / 3
    with working(100):
        for panel in _panels(law, u, v, x):
            for turn in np.linspace(0, 2 * np.pi, 48, endpoint=False):
                position, speed = on_the_ellipse(panel, turn)
                found = balls.finite_integrands(position, law.stieltjes(position), v, x)
                for value, bound in zip(found, panel.bounds, strict=True):
                    assert abs(value * speed) <= bound


def test_a_square_around_a_disc_touches_it():
    for side in (acb(1), acb(-1), acb(0, 1), acb(0, -1)):
        assert _square(arb(2)).contains(2 * side) and not _square(arb(2)).overlaps(
            arb("2.001") * side
        )


CENTRE = arb(3)
#: Of each piece: how it is made, where it begins and ends beside the centre, how far from a point
#: the nearest eigenvalue may be, and how much too large its bounds are allowed to be.
PIECES = {
    "vertical": (
        lambda bounds: _vertical(CENTRE, arb("1e-3"), arb(1), arb("3.5"), bounds),
        (0.001j * np.exp(3.5), 0.001j * np.exp(1)),
        lambda offset: abs(offset.imag),
        5.0,
    ),
    "short vertical": (
        lambda bounds: _vertical(CENTRE, arb("1e-3"), arb(1), arb("1.6"), bounds),
        (0.001j * np.exp(1.6), 0.001j * np.exp(1)),
        lambda offset: abs(offset.imag),
        5.0,
    ),
    "quarter": (
        lambda bounds: _quarter(CENTRE, arb(8), arb(2), bounds),
        (8, 8j),
        lambda offset: abs(offset) - 2,
        1.01,
    ),
    "foot": (
        lambda bounds: _foot(CENTRE, arb(3), bounds),
        (3j, 0),
        lambda offset: min(abs(offset - 3), abs(offset + 3)),
        2.01,
    ),
}


@pytest.mark.parametrize("name", PIECES)
def test_a_piece_is_bounded_by_its_reach_and_its_distance_from_eigenvalues(name):
    """On its ellipse: its speed, how far it leads, and |G|, at most one over the distance."""
    make, ends, distance, lavish = PIECES[name]
    stated = []
    with working(100):
        panel = make(
            lambda reach, transform: stated.append((float(reach), float(transform))) or (arb(1),)
        )
        for end, side in zip(ends, (-1, 1), strict=True):
            assert complex(panel.position(arb(side))[0] - CENTRE) == pytest.approx(end, abs=1e-12)
        high, low = (panel.position(arb(0.25) + arb(side) / 2**20)[0] for side in (1, -1))
        assert complex((high - low) * 2**19) == pytest.approx(
            complex(panel.position(arb(0.25))[1]), rel=1e-9
        )
        around = [
            on_the_ellipse(panel, turn) for turn in np.linspace(0, 2 * np.pi, 48, endpoint=False)
        ]
    offsets = [complex(position - CENTRE) for position, _ in around]
    ((reach, transform),) = stated
    assert 1 - 1e-9 < reach / max(map(abs, offsets)) < lavish
    assert 1 - 1e-9 < transform * min(map(distance, offsets)) < lavish
    assert max(abs(complex(speed)) for _, speed in around) < float(panel.bounds[0]) * (1 + 1e-9)
    assert float(panel.ellipse) > 1.5  # nodes multiply as it nears one


def test_powers_of_no_size_are_refused():
    with pytest.raises(ValueError, match="must be positive"):
        exact_power_law(Fraction(0), 3, Fraction(1))


def test_over_a_box_the_second_derivative_is_twice_the_mass():
    """Mass above the threshold: half of J_bb, in a point and over a box around it."""
    law, v, x = exact_marchenko_pastur(Fraction(1, 2)), arb("0.3"), arb("0.4")
    box = over(law, arb(v, 1e-6), arb(x, 1e-6))
    assert (
        box.value("J_bb").contains(2 * law.at(v, x).value("mass").mid())
        and box.value("J_bb").rad() < 1e-4
    )


@pytest.mark.parametrize(
    "law",
    [
        exact_marchenko_pastur(Fraction(1, 3)),
        exact_list([Fraction(2), Fraction(0)], [Fraction(1, 4), Fraction(3, 4)]),
    ],
)
def test_values_over_a_box_are_as_wide_as_what_they_enclose(law):
    """Of a small box the values at its corners lie as far apart as the enclosure is wide, but for
    the curvature of both.
    """
    with working(150):
        v, x, dv, dx = arb("0.7"), arb("0.4"), arb("1e-6"), arb("3e-6")
        box = over(law, arb(v, dv), arb(x, dx))
        corners = [
            law.at(v + one * dv, x + other * dx) for one, other in product((-1, 1), repeat=2)
        ]
        for name in NAMES:
            values = [corner.value(name).mid() for corner in corners]
            assert all(box.value(name).contains(value) for value in values), name
            spread = max(map(float, values)) - min(map(float, values))
            assert 2 * float(box.value(name).rad()) == pytest.approx(spread, rel=1e-3), name


def test_narrow_balls_are_points_and_no_variance_has_no_law():
    law = exact_marchenko_pastur(Fraction(1, 2))
    with working(100):
        for bits, narrow in ((60, True), (40, False)):
            width = arb(2) ** -bits
            assert hasattr(over(law, arb(1, width), arb(1)), "_third") is not narrow
            assert hasattr(over(law, arb(1), arb(1, width)), "_third") is not narrow
        for v in (arb(0), arb(-1), arb(1, 2)):
            with pytest.raises(Unresolved, match="variance"):
                over(law, v, arb(1))


def test_laws_know_their_zeros_moments_and_mirror_images():
    law = exact_list([Fraction(3), Fraction(0), Fraction(3), Fraction(1)], [Fraction(1, 4)] * 4)
    assert (len(law), law.zero_mass) == (3, Fraction(1, 4))
    with working(100):
        assert [(float(s), float(w)) for s, w in law.atoms()] == [(3, 0.5), (1, 0.25), (0, 0.25)]
        assert law.moments()[0].contains(arb("1.75")) and law.moments()[1].contains(arb("4.75"))
        both = law.symmetrised()
        assert len(both) == 6 and both.zero_mass == law.zero_mass
        assert sorted(float(s) for s, _ in both.atoms()) == [-3, -1, 0, 0, 1, 3]
        assert both.moments()[0].contains(0) and both.moments()[1].contains(arb("4.75"))
        assert both.stieltjes(acb(1, 2)).overlaps(
            (law.stieltjes(acb(1, 2)) - law.stieltjes(acb(-1, -2))) / 2
        )
        assert (
            law.of_model("cross_attention").model == "cross_attention"
            and law.model == "tied_attention"
        )
    zeros = {Fraction(1, 3): Fraction(2, 3), Fraction(1): 0, Fraction(2): 0}
    assert {kappa0: exact_marchenko_pastur(kappa0).zero_mass for kappa0 in zeros} == zeros


def test_eigenvalues_of_a_power_law_fall_as_it_says():
    with working(100):
        atoms = exact_power_law(Fraction(3, 4), 5, Fraction(2)).atoms()
        for k, (value, weight) in enumerate(atoms, 1):
            assert (atoms[0][0] / value).overlaps(arb(k) ** (arb(3) / 4)) and weight.overlaps(
                arb(1) / 5
            )
        assert len(exact_power_law(Fraction(1), 1, Fraction(1))) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: exact_power_law(Fraction(1), 0, Fraction(1)),
        lambda: exact_power_law(Fraction(1), 3, Fraction(0)),
        lambda: exact_list([Fraction(1), Fraction(2)], [Fraction(1), Fraction(0)]),
        lambda: exact_list([Fraction(1), Fraction(2)], [Fraction(1, 2), Fraction(1, 3)]),
        lambda: exact_marchenko_pastur(0),
        lambda: rational_law("tied_attention", kappa0=Fraction(1), scale=Fraction(-1)),
    ],
)
def test_laws_that_are_none_are_refused(make):
    with pytest.raises(ValueError, match="must be positive"):
        make()


def test_what_is_no_target_is_refused_with_one_that_is():
    assert law_of(MarchenkoPastur(0.5)).zero_mass == Fraction(1, 2)
    law = exact_marchenko_pastur(Fraction(1, 2))
    assert law_of(law) is law
    for value, said in (
        (0.25, "MarchenkoPastur(0.25)"),
        (Fraction(1, 3), "MarchenkoPastur(1/3)"),
        (0, "MarchenkoPastur(0.5)"),
        ("half", "MarchenkoPastur(0.5)"),
        (MarchenkoPastur, "MarchenkoPastur(0.5)"),
    ):
        with pytest.raises(InvalidParameter) as refused:
            law_of(value)
        assert refused.value.hint.endswith(said)


MIXED = exact_list(
    [Fraction(2), Fraction(-1), Fraction(0)], [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
).of_model("signed_quadratic_network")
MIRRORED = exact_list(
    [Fraction(-2), Fraction(1), Fraction(0)], [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
).of_model("signed_quadratic_network")


@pytest.mark.parametrize("b", ["0.3", "1"])
def test_what_is_learned_below_is_what_is_learned_above_of_the_mirror_image(b):
    with working(100):
        v, b = arb("0.4"), arb(b)
        below, above, both = (
            energy_below(MIXED, v, b),
            energy_of(MIRRORED, False, v, b),
            energy_of(MIXED, True, v, b),
        )
        for name, one, other, sum_of in zip(below._fields, below, above, both, strict=True):
            assert one.overlaps(other) and one.rel_accuracy_bits() > 60, name
            assert sum_of.overlaps(one + getattr(energy_of(MIXED, False, v, b), name)), name


@pytest.mark.parametrize("width", [0.2, 0.35])
def test_the_energy_of_a_narrow_student_and_its_slopes(width):
    """Against float64, whose slopes are differences along which the quantile moves."""
    target, v, b, step = MarchenkoPastur(0.5), 0.3, 0.2, 1e-5
    law = target.exact()
    there = target.energy(v, b, width)
    with working(150):
        found = energy_above(
            law,
            ball(Fraction(v)),
            ball(Fraction(there.quantile)),
            ball(Fraction(b)),
            ball(Fraction(width)),
        )
        for name in ("J", "J_v", "J_b", "mass"):
            assert float(getattr(found, name)) == pytest.approx(getattr(there, name), rel=1e-7), (
                name
            )
        up, down = (target.energy(v + side * step, b, width).J_v for side in (1, -1))
        assert float(found.J_vv) == pytest.approx((up - down) / (2 * step), rel=1e-4)
        up, down = (target.energy(v, b + side * step, width).J_v for side in (1, -1))
        assert float(found.J_bv) == pytest.approx((up - down) / (2 * step), rel=1e-4, abs=1e-6)
