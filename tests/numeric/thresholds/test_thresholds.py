"""Thresholds with proven digits: limits, hard corners, other routes, refusals."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import arb

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.maths.balls import BITS_PER_DIGIT, Unresolved, decimal, working
from numeric.model import balls as generated
from numeric.proven_laws.finite import exact_list, exact_power_law
from numeric.proven_laws.rational import exact_marchenko_pastur, rational_law
from numeric.thresholds.bayes_recovery import bayes_recovery
from numeric.thresholds.interpolation import interpolation, interpolation_limit
from numeric.thresholds.rank_limited_energy import Quantile
from numeric.thresholds.recovery import recovery
from numeric.thresholds.setting import MAX_DIGITS, MAX_WORK, setting_of
from tests.oracles.interpolation_by_quadrature import interpolation_by_quadrature

HALF, ONE = Fraction(1, 2), Fraction(1)
THREE_ROOTS = {"width": Fraction(1, 4), "noise": Fraction(2, 10**5), "tokens": 2}


def mp_law(kappa0):
    return exact_marchenko_pastur(Fraction(kappa0))


THRESHOLDS = (
    lambda target: recovery(target, digits=50),
    lambda target: bayes_recovery(target, digits=50),
    lambda target: interpolation(target, ONE, digits=50),
    lambda target: interpolation(target, ONE, digits=50, width=HALF),
)


@pytest.mark.parametrize(
    "threshold", THRESHOLDS, ids=["recovery", "bayes", "interpolation", "narrow"]
)
def test_a_target_of_a_fraction_has_the_digits_of_the_fraction(threshold):
    """They were those of the nearest float, other from the sixteenth on than the command line
    prints.
    """
    exact, rounded = MarchenkoPastur(Fraction(1, 20)), MarchenkoPastur(0.05)
    assert threshold(exact).value == threshold(mp_law(Fraction(1, 20))).value
    assert threshold(rounded).value == threshold(mp_law(0.05)).value != threshold(exact).value


@pytest.mark.parametrize("factor", [Fraction(1, 3), 2])
def test_a_scale_of_fractions_is_kept_too(factor):
    target = MarchenkoPastur(Fraction(1, 20), Fraction(1, 10)).scaled(factor)
    law = rational_law("tied_attention", kappa0=Fraction(1, 20), scale=Fraction(factor) / 10)
    assert interpolation(target, ONE, digits=40).value == interpolation(law, ONE, digits=40).value
    assert (target.kappa0, target.scale) == (0.05, float(Fraction(factor) / 10))


@pytest.fixture(scope="module")
def three():
    return interpolation(mp_law(Fraction(1, 5)), digits=20, **THREE_ROOTS)


@pytest.mark.parametrize("kappa0", [Fraction(1, 5), HALF, Fraction(9, 10)])
def test_the_limit_of_small_noise_is_that_of_proven_thresholds(kappa0):
    """1/D times half of what the zero eigenvalues leave, (1 - (1 - kappa0)^2/2)/2, approached like
    the cube root of the noise.
    """
    limit = Fraction(interpolation_limit(mp_law(kappa0)).value)
    assert limit == (1 - (1 - kappa0) ** 2 / 2) / 4
    noises = [Fraction(1, 10**12), Fraction(1, 10**15)]
    gaps = [limit - Fraction(interpolation(mp_law(kappa0), noise, 2, 20).value) for noise in noises]
    assert all(0 < gap < 1e-4 for gap in gaps)
    assert float(gaps[0] / gaps[1]) == pytest.approx(10, rel=0.01)
    assert Fraction(recovery(mp_law(kappa0), 2, 20).value) < limit


def test_a_thousand_digits_extend_fifty():
    short, long = interpolation(mp_law(HALF), ONE, 2, 50), interpolation(mp_law(HALF), ONE, 2, 1000)
    assert len(long.value) == 1002
    assert abs(Fraction(short.value) - Fraction(long.value)) <= HALF * Fraction(10) ** -50


def test_ten_thousand_digits_extend_a_thousand():
    short, long = (
        interpolation(mp_law(HALF), ONE, 2, 1000),
        interpolation(mp_law(HALF), ONE, 2, 10_000),
    )
    assert len(long.value) == 10_002 and long.digits == 10_000
    assert long.value.startswith(short.value[:-2])


@pytest.mark.slow
def test_quadrature_of_the_density_gives_the_same_digits():
    """A second route: mpmath, no closed form, no balls."""
    other = interpolation_by_quadrature(Fraction(1, 2), Fraction(1, 5), 3, 8)
    assert abs(float(other) - float(interpolation(mp_law(HALF), Fraction(1, 5), 3, 15))) < 1e-8


@pytest.mark.parametrize("kappa0", [Fraction(1, 20), HALF, Fraction(9, 10)])
def test_weak_noise_tends_to_its_limit_like_the_cube_root(kappa0):
    """alpha_interp -> (kappa0 - kappa0^2/2 + (1 - kappa0)^2/4)/D, with a gap ~ Delta^(1/3) (theory
    note, section 5).
    """
    limit = (kappa0 - kappa0**2 / 2 + (1 - kappa0) ** 2 / 4) / 2
    gaps = [
        limit - Fraction(interpolation(mp_law(kappa0), Fraction(1, 10**k), 2, 30).value)
        for k in (12, 15, 18)
    ]
    assert all(gap > 0 for gap in gaps)
    for coarse, fine in pairwise(gaps):
        assert float(coarse / fine) == pytest.approx(10, rel=1e-3)


def test_strong_noise_tends_to_that_of_a_pure_noise_label():
    """Delta -> infinity: delta -> infinity, half of the semicircle is above zero and alpha ->
    (1/2)/(2 D), as 1/sqrt(Delta).
    """
    gaps = [float(interpolation(mp_law(HALF), Fraction(10**k), 2, 20)) - 1 / 8 for k in (8, 10)]
    assert gaps[0] / gaps[1] == pytest.approx(10**2, rel=0.01)


@pytest.mark.parametrize("noise", [Fraction(1, 10**30), Fraction(1, 10**60)])
def test_a_full_rank_target_with_hardly_any_noise(noise):
    """E(v) = q0 exactly up to a finite v when kappa0 > 1: Newton's method alone has no slope
    there.
    """
    value = Fraction(interpolation(mp_law(3), noise, 2, 30).value)
    assert Fraction(1, 4) - Fraction(1, 10**6) < value <= Fraction(1, 4)


def test_interpolation_at_the_edge_rate():
    assert 0.2499 < float(interpolation(mp_law(1), Fraction(1, 10**30), 2, 30)) < 0.25


def test_recovery_of_a_full_rank_target_needs_all_numbers():
    assert recovery(mp_law(1), 2, 10).value == "0.2500000000"
    assert recovery(mp_law(7), 3, 10).value == "0.1000000000"


def test_recovery_limits_of_low_and_nearly_full_rank():
    """alpha_rec -> 3 kappa0/D for kappa0 -> 0 (statistical dimension of a low-rank positive cone),
    1/(2D) for kappa0 -> 1.
    """
    low = Fraction(recovery(mp_law(Fraction(1, 10**15)), 2, 20).value) * 10**15
    assert float(low) == pytest.approx(1.5, abs=1e-4)
    assert float(recovery(mp_law(1 - Fraction(1, 10**12)), 2, 20)) == pytest.approx(0.25, abs=1e-12)


def test_recovery_is_the_statistical_dimension_of_the_descent_cone():
    """Monte Carlo: least squared distance of a Gaussian matrix to the scaled subdifferential of the
    trace at a rank-kappa0 target.

    With the target's range first: the block on it has distance |G11 - t|^2 + 2 |G12|^2, the rest
    |(G22 - t)_+|^2 (Amelunxen, Lotz, McCoy, Tropp 2014, section 4).
    """
    rng = np.random.default_rng(3)

    def dimension(d, runs):
        rank, t = d // 2, np.linspace(0.0, 2.0, 81) * np.sqrt(d)
        total = np.full_like(
            t, runs * 2.0 * rank * (d - rank)
        )  # the off-diagonal block by its expectation
        for _ in range(runs):
            a = rng.standard_normal((d, d))
            g = (a + a.T) / np.sqrt(2)
            inner, rest = np.linalg.eigvalsh(g[:rank, :rank]), np.linalg.eigvalsh(g[rank:, rank:])
            total += ((inner[:, None] - t) ** 2).sum(0) + (
                np.maximum(rest[:, None] - t, 0) ** 2
            ).sum(0)
        return (
            total.min() / runs / 2 / d**2
        )  # orthonormal coordinates have unit variance: |G|^2 counts them twice

    extrapolated = 2 * dimension(240, 10) - dimension(120, 40)  # corrections are O(1/d)
    assert extrapolated / 2 == pytest.approx(
        float(recovery(mp_law(HALF))), rel=5e-3
    )  # scatter 1e-3


def test_width_at_the_rank_needs_no_more_than_counting():
    """No noise eigenvalue fits the rank: recovery at the number of parameters, kappa0 - kappa0^2/2,
    which is Bayes-optimal.
    """
    law = mp_law(HALF)
    assert (
        recovery(law, 2, 20, HALF).value
        == bayes_recovery(law, 2, 20).value
        == "0.18750000000000000000"
    )


def test_recovery_grows_with_width_up_to_the_free_value():
    law = mp_law(HALF)
    values = [float(recovery(law, 2, 20, Fraction(k, 100))) for k in (50, 55, 60, 70, 80, 100)]
    assert values == sorted(values)
    assert values[-1] == values[-2] == float(recovery(law, 2, 20))


@pytest.mark.slow
def test_three_roots_and_the_choice_among_them(three):
    assert [value[:9] for value in three.roots] == ["0.1227692", "0.1194879", "0.1194061"]
    assert three.complete
    assert three.value == three.roots[0]
    assert "largest" in three.choice and "loss" in three.choice
    assert three.upper_bound is not None and Fraction(three.upper_bound) == Fraction(7, 64)


@pytest.mark.slow
def test_the_choice_in_random_matrices(three):
    """Small d: the bound 2 D alpha v <= J - q0 - Delta/2 at its three stationary points, from
    eigenvalues of S0 + delta G.
    """
    from numeric.laws.target_spectrum import target_quantile_means
    from verify.core.target import rotated_target

    rng, d, kappa0 = np.random.default_rng(0), 120, 0.2
    noise, width = float(THREE_ROOTS["noise"]), float(THREE_ROOTS["width"])
    stationary = (
        4.513,
        0.016335,
        0.083110,
    )  # of the search's proven balls, in the order of `three.roots`
    bound = []
    for _ in range(40):
        s0 = rotated_target(target_quantile_means(kappa0, d), rng)
        a = rng.standard_normal((d, d))
        g = (a + a.T) / np.sqrt(2 * d)
        row = []
        for v in stationary:
            top = np.linalg.eigvalsh(s0 + np.sqrt(v) * g)[::-1][: round(width * d)]
            # 2 delta tr(S0 G) has mean zero: without it the scatter is ten times less.
            energy = (
                (np.maximum(top, 0) ** 2).sum() - 2 * np.sqrt(v) * (s0 * g).sum() - (s0**2).sum()
            ) / d
            row.append((energy - noise / 2) / (4 * v))
        bound.append(row)
    mean, error = np.mean(bound, axis=0), np.std(bound, axis=0, ddof=1) / np.sqrt(len(bound))
    assert mean[0] - mean[1] > 4 * np.hypot(error[0], error[1])
    # Finite size: the rank and the semicircle's edge are off by about 1/d of the threshold.
    assert np.all(np.abs(mean - [float(value) for value in three.roots]) < 4 * error + 2 * mean / d)


@pytest.mark.parametrize(
    ("width", "kappa0"),
    [(HALF, Fraction(2)), (Fraction(1, 5), Fraction(1, 5)), (Fraction(3, 4), HALF)],
)
def test_all_roots_below_full_width(width, kappa0):
    found = interpolation(mp_law(kappa0), Fraction(1, 10), 2, 20, width)
    assert found.complete and len(found.roots) == 1


def test_a_wide_enough_student_is_not_limited():
    """At the root the positive part has less than the width's share of eigenvalues: the limit does
    nothing.
    """
    law = mp_law(HALF)
    assert (
        interpolation(law, ONE, 2, 20, Fraction(9, 10)).value
        == interpolation(law, ONE, 2, 20).value
    )


def test_two_bulks_reduce_to_one():
    """Two parts of nearly the same jump are one free Poisson law of the summed rate."""
    law = rational_law(
        "tied_attention_two_bulks",
        kappa1=Fraction(18, 100),
        kappa2=Fraction(32, 100),
        scale1=Fraction(6, 10),
        scale2=Fraction(8, 10) + Fraction(1, 10**12),
    )
    assert float(interpolation(law, ONE, 2, 15)) == pytest.approx(
        float(interpolation(mp_law(HALF), ONE, 2, 15)), rel=1e-11
    )
    assert law.zero_mass == HALF


def test_power_law_of_any_dimension():
    values = [
        float(interpolation(exact_power_law(Fraction(1), dim, ONE), Fraction(1, 5), 2, 8))
        for dim in (1, 10, 100)
    ]
    assert all(0 < value < 0.25 for value in values)


def test_a_target_of_finite_rank_is_a_list_with_zeros():
    spikes = exact_list([Fraction(3), Fraction(2)] + [Fraction(0)] * 98, [Fraction(1, 100)] * 100)
    weighted = exact_list(
        [Fraction(0), Fraction(2), Fraction(3)],
        [Fraction(98, 100), Fraction(1, 100), Fraction(1, 100)],
    )
    assert interpolation(spikes, ONE, 2, 30).value == interpolation(weighted, ONE, 2, 30).value
    assert recovery(spikes, 2, 30).value == recovery(mp_law(Fraction(1, 50)), 2, 30).value


@pytest.mark.parametrize(
    ("arguments", "name"),
    [((Fraction(0),), "noise"), ((ONE, 1), "tokens"), ((ONE, 2, 50, Fraction(0)), "width")],
)
def test_arguments_outside_the_domain_are_named(arguments, name):
    with pytest.raises(ValueError, match=f"^{name} = "):
        interpolation(mp_law(HALF), *arguments)


def test_digits_outside_their_range_are_refused():
    for digits in (0, 10**6):
        with pytest.raises(ValueError, match="digits"):
            recovery(mp_law(HALF), 2, digits)
    with pytest.raises(ValueError, match="times 1000 eigenvalues"):
        interpolation(exact_power_law(ONE, 1000, ONE), ONE, 2, 5000)


def test_a_quantile_beyond_the_range_of_float_is_unresolved():
    """Of a variance that float64 takes for zero, or for infinite."""
    for v in (arb("1e-400"), arb("1e400")):
        with pytest.raises(Unresolved, match="outside the range of float"), working(200):
            Quantile(mp_law(HALF), Fraction(1, 4))(v)


def test_the_most_that_is_allowed_is_allowed():
    """Its digits are not asked for here: they take minutes."""
    most = MAX_WORK // 1000
    setting_of("interpolation", exact_power_law(ONE, 1000, ONE), most)
    setting_of("interpolation", mp_law(HALF), MAX_DIGITS)
    with pytest.raises(
        ValueError, match=f"^digits = {most + 1}: times 1000 eigenvalues must not exceed {MAX_WORK}"
    ):
        setting_of("interpolation", exact_power_law(ONE, 1000, ONE), most + 1)


def test_a_decimal_is_given_only_if_the_ball_proves_it():
    with working(round(30 * BITS_PER_DIGIT)):
        assert decimal(arb(1) / 3, 20) == "0.33333333333333333333"
        assert decimal(arb(0.5, 1e-3), 3) is None  # 0.499 to 0.501
        assert decimal(arb(0.5, 1e-3), 2) == "0.50"
        assert decimal(arb(1) / 10, 3) == "0.100"
    assert decimal(Fraction(9, 200), 1) == "0.05"
    assert decimal(Fraction(123456), 2) == "120000"


@pytest.mark.parametrize(
    ("kappa0", "noise", "width", "value"),
    [
        (Fraction(1, 4), Fraction(1000), ONE, "0.1"),
        (Fraction(1, 10), Fraction(10**10), ONE, "0.1"),
        (Fraction(10**6), Fraction(1, 10**5), Fraction(3, 4), "0.2"),
    ],
)
def test_a_single_digit_of_an_ordinary_threshold(kappa0, noise, width, value):
    """Found by a reviewer: below the starting precision a step was no number, and the error was no
    `Unresolved`.
    """
    assert interpolation(mp_law(kappa0), noise, 2, 1, width).value == value


@pytest.mark.parametrize(
    ("kappa0", "width", "noise", "binds"),
    [("1/2", "1/2", "2/5", False), ("1/4", "1/4", "1/1000", True)],
)
def test_whether_counting_binds_does_not_depend_on_the_digits(kappa0, width, noise, binds):
    """Found by a reviewer: the bound was compared with the rounded value."""
    for digits in (1, 20):
        found = interpolation(mp_law(Fraction(kappa0)), Fraction(noise), 2, digits, Fraction(width))
        assert (found.upper_bound is not None) == binds


def test_eigenvalues_without_a_zero_at_hardly_any_noise():
    """Found by a reviewer: next to the edge of the support the start took a complex root for a real
    one.
    """
    assert interpolation(exact_list([ONE], [ONE]), Fraction(1, 10**30), 2, 3).value == "0.250"


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: exact_list([ONE, HALF], [ONE, ONE]), "weights"),
        (lambda: recovery(exact_list([-ONE, ONE], [HALF, HALF])), "eigenvalues"),
        (lambda: exact_power_law(ONE, 0, ONE), "gamma, dim, q0"),
        (lambda: mp_law(-1), "settings"),
    ],
)
def test_what_is_no_law_is_refused(build, name):
    with pytest.raises(ValueError, match=f"^{name} = "):
        build()


def test_a_negative_variance_is_refused():
    from numeric.proven_laws.law import over

    with working(100), pytest.raises(Unresolved, match="not positive"):
        over(mp_law(HALF), arb(-1), arb(1))


def test_singular_formulas_say_so():
    law = rational_law(
        "tied_attention_two_bulks",
        kappa1=Fraction(18, 100),
        kappa2=Fraction(32, 100),
        scale1=Fraction(6, 10),
        scale2=Fraction(8, 10),
    )
    with pytest.raises(Unresolved, match="could not be proven"):
        interpolation(law, ONE, 2, 15)


def test_limits_of_the_generated_label_numbers():
    assert [generated.label_numbers(Fraction(tokens)) for tokens in (2, 3, 4)] == [2, 5, 9]
