"""Ball arithmetic: balls that hold their roots, digits that are proven or none, integrals with an
error that holds.
"""

import math
from fractions import Fraction

import pytest
from flint import acb, arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from numeric.maths import balls
from numeric.maths.ball_quadrature import Panel, integrate
from numeric.maths.ball_systems import Linearised, krawczyk, newton, proven_near
from numeric.maths.balls import (
    Unresolved,
    around,
    around_complex,
    ball,
    contract,
    decimal,
    per_precision,
    polish,
    precision,
    sign,
    working,
)


def test_a_precision_is_that_of_its_block_and_what_is_made_for_it_is_kept():
    made = []
    third = per_precision(lambda: made.append(precision()) or ball(Fraction(1, 3)))
    before = ctx.prec
    for bits in (100, 200, 100):
        with working(bits):
            assert precision() == bits and third().rel_accuracy_bits() >= bits - 2
    assert ctx.prec == before and made == [100, 200]


def test_a_ball_around_a_point_is_as_wide_as_its_radius():
    made = around(arb(3), arb(-2))
    assert made.contains(arb(1)) and made.contains(arb(5)) and not made.contains(arb("5.001"))
    rectangle = around_complex(acb(3, 7), arb(2))
    assert (
        rectangle.contains(acb(5, 9))
        and rectangle.contains(acb(1, 5))
        and not rectangle.contains(acb(3, "9.01"))
    )


def test_a_sign_is_proven_or_refused():
    assert (sign(arb(2, 1)), sign(arb(-2, 1))) == (1, -1)
    for undecided in (arb(0), arb(1, 1), arb("nan")):
        with pytest.raises(Unresolved):
            sign(undecided)


def square(centre, step, slope=lambda x: 2 * x):
    """The root of x^2 = 2 near a centre."""
    return contract(centre**2 - 2, slope, centre, around, step)


def test_one_root_is_enclosed_as_narrowly_as_the_precision_allows():
    with working(100):
        found = square(arb(2).sqrt().mid(), arb(0))
        assert found.contains(arb(2).sqrt()) and found.rel_accuracy_bits() > 85
        wide = square(arb("1.4"), arb("0.015"))
        assert wide.contains(arb(2).sqrt()) and 1e-6 < float(wide.rad()) < 1e-2


def test_no_ball_is_proven_where_there_are_two_roots_or_none():
    for centre, step in ((arb(0), arb(2)), (arb("1e-3"), arb(1))):
        with pytest.raises(Unresolved):
            square(centre, step)
    with pytest.raises(Unresolved):
        contract(
            arb(5), lambda x: arb(1, "0.5"), arb(0), around, arb("1e-9")
        )  # none within six widenings


def test_a_root_is_polished_to_the_working_precision():
    for bits in (64, 300, 3000):
        with working(bits):
            found = polish(lambda x: (x**2 - 2) / (2 * x), arb("1.4"), 64)
            assert abs(found - arb(2).sqrt()) < arb(2) ** (-bits * 2 // 3)
    with pytest.raises(Unresolved, match="does not converge"):
        polish(lambda x: arb(1) - 2 * x, arb(1), 64)  # goes to and fro
    with pytest.raises(Unresolved, match="not finite"):
        polish(lambda x: arb("inf"), arb(1), 64)


@pytest.mark.parametrize("bits", range(1, 9))
def test_bits_that_a_change_leaves_alone(bits):
    """Up to rounding, which takes one."""
    assert balls._bits_between(arb(3), arb(3) / 2**bits) in (bits - 1, bits)
    assert (
        balls._bits_between(arb(3), arb(0)) > precision()
        and balls._bits_between(arb(1), arb(5)) == 0
    )


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        ("1", 1, "1"),
        ("1", 4, "1.000"),
        ("12345", 2, "12000"),
        ("12345", 5, "12345"),
        ("123.45", 4, "123.5"),
        ("0.00123449", 3, "0.00123"),
        ("0.5", 3, "0.500"),
        ("99.96", 3, "100"),
        ("0.09996", 3, "0.100"),
        ("1e-7", 2, "0.00000010"),
        ("999999", 3, "1000000"),
        ("1e20", 3, "100000000000000000000"),
        ("2.5", 1, "3"),
    ],
)
def test_a_value_is_rounded_to_significant_digits(value, digits, text):
    assert decimal(Fraction(value), digits) == text
    if value not in ("123.45", "2.5"):  # halfway between two, of which no ball can tell one
        with working(200):
            assert decimal(ball(Fraction(value)), digits) == text


@examples(30)
@given(value=st.fractions(Fraction(1, 10**9), 10**9), digits=st.integers(1, 12))
def test_digits_are_those_of_the_nearest_number_that_has_as_many(value, digits):
    text = decimal(value, digits)
    assert len(text.replace(".", "").lstrip("0").rstrip("0") or "1") <= digits
    step = Fraction(10) ** (math.floor(math.log10(float(text)) + 1e-12) - digits + 1)
    assert abs(Fraction(text) - value) <= step / 2
    assert decimal(balls.ball(value) * arb(1, "1e-30"), digits) in (text, None)


def test_digits_that_a_ball_does_not_prove_are_none():
    assert decimal(arb(1, "0.01"), 3) is None and decimal(arb("1.2345", "1e-6"), 4) is None
    assert decimal(arb("1.2342", "1e-6"), 4) == "1.234"
    assert (
        decimal(arb(-1), 3) is None
        and decimal(arb("nan"), 3) is None
        and decimal(arb("inf"), 3) is None
    )
    for value in (Fraction(0), Fraction(-1)):
        with pytest.raises(ValueError, match="must be positive"):
            decimal(value, 3)


def crossing(box):
    """Where the circle of radius 5 meets y = 2 x - 2: (3, 4), and (-1.4, -4.8)."""
    x, y = box
    return Linearised((x**2 + y**2 - 25, y - 2 * x + 2), ((2 * x, 2 * y), (arb(-2), arb(1))))


@pytest.mark.parametrize(
    ("start", "root"), [(("2.5", "4.5"), ("3", "4")), ((-1, -5), ("-1.4", "-4.8"))]
)
def test_a_root_of_a_system_is_found_and_proven(start, root):
    with working(200):
        found = newton(crossing, tuple(map(arb, start)))
        proven = proven_near(crossing, found)
        for value, box, exact in zip(found, proven, root, strict=True):
            assert abs(value - arb(exact)) < arb(2) ** -190
            assert box.overlaps(ball(Fraction(exact))) and box.rel_accuracy_bits() > 180


def test_a_box_holds_every_root_of_its_image_and_proves_one_from_afar():
    with working(100):
        box = tuple(arb(value, "0.01") for value in (3, 4))
        image = krawczyk(crossing, box)
        for side, inner, exact in zip(box, image, (3, 4), strict=True):
            assert (
                side.contains_interior(inner)
                and inner.contains(arb(exact))
                and float(inner.rad()) < 1e-3
            )
        wide = proven_near(crossing, (arb("3.01"), arb("4.01")))
        assert [inner.contains(arb(exact)) for inner, exact in zip(wide, (3, 4), strict=True)] == [
            True,
            True,
        ]


def test_systems_without_a_root_or_with_a_double_one_are_refused():
    def none(box):
        (x,) = box
        return Linearised((x**2 + 1,), ((2 * x,),))

    def double(box):
        (x,) = box
        return Linearised((x**2,), ((2 * x,),))

    for system, start in ((none, arb("0.3")), (double, arb(0))):
        with pytest.raises(Unresolved):
            newton(system, (start,))
    for system, centre in ((none, arb(1)), (double, arb("1e-3"))):
        with pytest.raises(Unresolved):
            proven_near(system, (centre,))


@pytest.mark.parametrize("bits", [20, 60, 100])
def test_an_integral_holds_the_truth_within_the_error_asked_for(bits):
    """Int_0^1 e^u du and int_0^1 1/(1 + u) du, by u = (1 + s)/2 on the ellipse of semi-axes 1.25
    and .75: |1 + u| > .8 there.
    """
    with working(200):
        panel = Panel(
            lambda s: (acb((1 + s) / 2), acb("0.5")),
            (arb("1.2").exp(), arb(1) / arb("0.8")),
            arb(2),
        )
        values = integrate(panel, lambda u: (u.exp(), 1 / (1 + u)), bits)
        for value, exact in zip(values, (arb(1).exp() - 1, arb(2).log()), strict=True):
            assert value.contains(acb(exact))
            assert 2.0 ** (-bits - 6) < float(value.real.rad()) < 2.0 ** (5 - bits)
            assert abs(float(value.real.mid() - exact)) < 2.0**-bits


def test_what_is_left_out_of_a_constant_is_the_bound_of_the_rule():
    """Its nodes give it exactly, so that the ball is as wide as Trefethen's Theorem 19.3 says,
    64/15 and all.
    """
    with working(80):
        panel = Panel(lambda s: (acb(s), acb(1)), (arb(3),), arb(2))
        (value,) = integrate(panel, lambda _: (acb(3),), 5)
    nodes = 3  # the first number whose error 2^-2n is below 2^-5
    assert float(value.real.rad()) == pytest.approx(
        64 / 15 * 3 * 2.0 ** (-2 * nodes) / (1 - 2.0**-2), rel=1e-6
    )


def test_the_error_of_few_nodes_is_within_what_is_stated():
    """One node on 1/(a - s), with a at distance 1e-3 beyond the ellipse: nearly the worst integrand
    of its bound.
    """
    ellipse, pole = 2.0, (2.0 + 0.5) / 2 + 1e-3
    with working(80):
        panel = Panel(lambda s: (acb(s), acb(1)), (arb(1) / arb(1e-3),), arb(ellipse))
        for bits in (1, 3, 6, 9):
            (value,) = integrate(panel, lambda u: (1 / (pole - u),), bits)
            assert value.real.contains(((1 + pole) / arb(pole - 1)).log())
