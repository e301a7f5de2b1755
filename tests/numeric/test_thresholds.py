"""Thresholds at many digits: limits, hard corners, refusals."""

from fractions import Fraction
from itertools import pairwise

import pytest

from numeric.scalar_root import NoRoot, bracketed
from numeric.thresholds import interpolation, recovery


def test_a_thousand_digits_extend_fifty():
    short, long = interpolation(Fraction(1, 2), Fraction(1), 2, 50), interpolation(Fraction(1, 2), Fraction(1), 2, 1000)
    assert len(long.value) == 1002
    assert abs(Fraction(short.value) - Fraction(long.value)) <= Fraction(1, 2) * Fraction(10) ** -50


@pytest.mark.parametrize("kappa0", [Fraction(1, 20), Fraction(1, 2), Fraction(9, 10)])
def test_weak_noise_tends_to_its_limit_like_the_cube_root(kappa0):
    """alpha_interp -> (kappa0 - kappa0^2/2 + (1 - kappa0)^2/4)/D, with a gap ~ Delta^(1/3) (theory note, section 5)."""
    limit = (kappa0 - kappa0**2 / 2 + (1 - kappa0) ** 2 / 4) / 2
    gaps = [limit - Fraction(interpolation(kappa0, Fraction(1, 10**k), 2, 30).value) for k in (12, 15, 18)]
    assert all(gap > 0 for gap in gaps)
    for coarse, fine in pairwise(gaps):
        assert float(coarse / fine) == pytest.approx(10, rel=1e-3)


def test_strong_noise_tends_to_that_of_a_pure_noise_label():
    """Delta -> infinity: delta -> infinity, half of the semicircle is above zero and alpha -> (1/2)/(2 D)."""
    assert float(interpolation(Fraction(1, 2), Fraction(10**8), 2, 20)) == pytest.approx(1 / 8, rel=1e-3)


@pytest.mark.parametrize("noise", [Fraction(1, 10**30), Fraction(1, 10**60)])
def test_a_full_rank_target_with_hardly_any_noise(noise):
    """E(v) = q0 exactly up to a finite v when kappa0 > 1: Newton's method alone has no slope there."""
    value = Fraction(interpolation(Fraction(3), noise, 2, 30).value)
    assert Fraction(1, 4) - Fraction(1, 10**6) < value <= Fraction(1, 4)


def test_recovery_of_a_full_rank_target_needs_all_numbers():
    assert recovery(Fraction(1), 2, 10).value == "0.2500000000"
    assert recovery(Fraction(7), 3, 10).value == "0.1000000000"


def test_recovery_is_continuous_at_full_rank():
    assert float(recovery(Fraction(999999, 1000000), 2, 20)) == pytest.approx(0.25, abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((Fraction(0), Fraction(1)), "kappa0"),
        ((Fraction(1, 2), Fraction(0)), "noise"),
        ((Fraction(1, 2), Fraction(1), 1), "tokens"),
    ],
)
def test_arguments_outside_the_domain_are_named(arguments, name):
    with pytest.raises(ValueError, match=f"^{name} = "):
        interpolation(*arguments)


def test_digits_outside_their_range_are_refused():
    for digits in (0, 10**6):
        with pytest.raises(ValueError, match="digits"):
            recovery(Fraction(1, 2), 2, digits)


def test_a_bracket_without_sign_change_is_refused():
    import mpmath

    with pytest.raises(NoRoot, match="no sign change"):
        bracketed(lambda x: (x**2 + 1, 2 * x), mpmath.mpf(0), mpmath.mpf(1), mpmath.mpf("1e-10"))


def test_a_flat_stretch_does_not_end_the_search():
    """Found on interpolation at kappa0 = 3, Delta = 1e-30: zero slope once ended the search at the bracket's edge."""
    import mpmath

    def flat_then_rising(x):
        return (
            (mpmath.mpf("-1e-30"), mpmath.mpf(0)) if x < 1 else ((x - 1) ** 3 - mpmath.mpf("1e-30"), 3 * (x - 1) ** 2)
        )

    root = bracketed(flat_then_rising, mpmath.mpf("0.05"), mpmath.mpf(4), mpmath.mpf("1e-14"))
    assert root == pytest.approx(1 + 1e-10, abs=1e-13)
