"""Points with proven digits: check values, a second route in mpmath, the float64 solver, limits;
and what is not proven.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache

import mpmath
import pytest
from exact_problems import ROWS, exact
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from attention_erm.runtime.errors import InvalidParameter
from numeric.maths.ball_systems import Linearised, krawczyk, newton, proven_near
from numeric.maths.balls import Unresolved, around, working
from numeric.proven_saddle.proven_point import equations_of, proven_point
from numeric.saddle.estimator import spectral_energy
from numeric.saddle.solve import solve

CLOSED = {
    "quadratic network": "quadratic_network",
    "linear attention, T=2": "linear_attention",
    "signed quadratic network": "signed_quadratic_network",
}
KEYS = {"train": "train_error", "test": "test_error", "e": "free_entropy"}
WRITTEN = 2e-6  # relative: the independent solver states about six digits
HALF, TENTH = Fraction(1, 2), Fraction(1, 10)


def of_row(row):
    values = (Fraction(str(row[key])) for key in ("alpha", "kappa0", "lambda_", "noise_per_unit"))
    alpha, kappa0, decay, unit = values
    return exact(
        CLOSED[row["model"]], alpha, kappa0, decay, 2 * unit, Fraction(str(row.get("width", 1)))
    )


SETTINGS = [
    *(row for row in ROWS if row["model"] in CLOSED),
    {
        "model": "quadratic network",
        "alpha": 4,
        "kappa0": 1.25,
        "lambda_": 0.01,
        "noise_per_unit": 1,
    },  # no atom at zero
    {
        "model": "quadratic network",
        "alpha": 1,
        "kappa0": 0.5,
        "lambda_": 0.05,
        "noise_per_unit": 0.25,
        "width": 0.3,
    },
]


@pytest.mark.parametrize("row", SETTINGS, ids=lambda row: f"{row['model']} {row['alpha']}")
def test_fifty_digits_meet_the_check_values_and_the_solver_in_float64(row):
    problem = of_row(row)
    point, found = proven_point(problem, 50), solve(problem.rounded).unwrap()
    for name, text in point.values.items():
        assert len(text.replace(".", "").lstrip("0")) == 50, name
        assert abs(float(text) - getattr(found, name)) < 2 * found.errors[name] + 1e-9 * abs(
            float(text)
        ), name
    for key in {"m", "q", "V", "mh", "qh", "Vh", "b", "c", "train", "test", "e"} & set(row):
        assert float(point.values[KEYS.get(key, key)]) == pytest.approx(row[key], rel=WRITTEN), key


def context(digits, *values):
    """An mpmath context with room for so many digits, and the exact values in it."""
    mp = mpmath.mp.clone()
    mp.dps = digits + 15
    return mp, *(
        mp.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mp.mpf(x)
        for x in values
    )


def by_quadrature(mp, kappa0, v, b):
    """J, J_v and J_b from the density of the noisy law: nothing generated and no ball enters."""
    r = mp.sqrt(kappa0)

    @cache  # three integrals meet at the same points
    def root(x):
        """That of z(g) = x below the axis."""
        return min(
            mp.polyroots([-v, x + r * v, kappa0 - 1 - x * r, r], maxsteps=200, extraprec=200),
            key=mp.im,
        )

    critical = mp.polyroots(
        [v, -2 * r * v, kappa0 + r**2 * v - 1, 2 * r, -(r**2)], maxsteps=200, extraprec=200
    )
    real = [mp.re(g) for g in critical if abs(mp.im(g)) < mp.mpf(10) ** (-mp.dps // 2)]
    top = max(1 / g + kappa0 / (r - g) + v * g for g in real)

    def integral(weight):
        """Of Im weight(x, g) over the bulk above b, its square root at the edge taken out."""
        return (
            -mp.quad(
                lambda s: 2 * s * mp.im(weight(top - s**2, root(top - s**2))), [0, mp.sqrt(top - b)]
            )
            / mp.pi
        )

    J, J_v = (
        integral(lambda x, g: (x - b) ** 2 * g),
        integral(lambda x, g: (x - b) * g**2),
    )  # 2 int (x - b) Re g rho
    return J, J_v, -2 * integral(lambda x, g: (x - b) * g)


def test_the_equations_of_the_theory_note_hold_to_all_digits():
    """Six equations of the quadratic network with M = 2 (q - 2 m + rho)/(1 + 4 V), written by
    hand.
    """
    exact_values = (HALF, HALF, Fraction(1, 20), HALF)
    point = proven_point(exact("quadratic_network", *exact_values), 30)
    mp, alpha, kappa0, decay, noise, *found = context(30, *exact_values, *point.values.values())
    m, q, V, mh, qh, Vh, delta, b, c, train, test, _, _, e = found
    J, J_v, J_b = by_quadrature(mp, kappa0, delta**2, b)
    gap, x = q - 2 * m + 1 + kappa0 + noise / 2, 1 + 4 * V
    left = {
        "m": m - c * (J - delta**2 * J_v - b * J_b / 2),
        "q": q - c**2 * J,
        "V": V - J_v / (2 * Vh),
        "mh": mh - 4 * alpha / x,
        "Vh": Vh - 4 * alpha / x,
        "qh": qh - 16 * alpha * gap / x**2,
        "v": delta**2 - qh / (2 * mh**2),
        "b": b - decay / mh,
        "train": train - 2 * gap / x**2,
        "test": test - 2 * gap,
        "e": e - (2 * alpha * gap / x + m * mh - q * Vh / 2 + V * qh / 2 - mh**2 * J / (2 * Vh)),
    }
    for name, residual in left.items():
        assert abs(residual) < mp.mpf(10) ** -28, name


def test_the_point_of_the_theory_note():
    """Theory note, section 12: tied attention at lambda -> 0+, where q = J; cross-entropy has the
    same limit.

    Its q is miscopied from the 21st digit on (seven digits are another, and the last ten agree): J
    by quadrature decides.
    """
    point = proven_point(exact("tied_attention", TENTH, HALF, Fraction(0), HALF), 50)
    assert point.values["m"] == "1.0373803030192384718741756412529776070224892623815"
    assert point.values["b"] == "1.1002098637424034215513998046943692346747294206572"
    assert point.values["q"].startswith("1.4652013381013937127") and point.values["q"].endswith(
        "4001610753"
    )
    mp, kappa0, q, delta, b = context(40, HALF, *(point.values[key] for key in ("q", "delta", "b")))
    assert abs(by_quadrature(mp, kappa0, delta**2, b)[0] - q) < mp.mpf(10) ** -40
    entropy = proven_point(
        exact("tied_attention_cross_entropy", TENTH, HALF, Fraction(0), HALF), 50
    )
    left = {
        "train_error": None,
        "free_entropy": None,
    }  # the entropy of the labels, which was proven to be 0
    assert entropy.values == {**point.values, **left}


@pytest.mark.parametrize(
    "name",
    [
        "quadratic_network",
        pytest.param("signed_quadratic_network", marks=pytest.mark.slow),
        "linear_attention",
    ],
)
def test_vanishing_decay_is_the_limit_of_small_decay(name):
    """Linear in lambda: extrapolated from two small ones it is the limit to their square."""
    limit, one, two = (
        {
            key: float(text)
            for key, text in proven_point(exact(name, TENTH, HALF, decay, HALF), 20).values.items()
            if text
        }
        for decay in (Fraction(0), Fraction(1, 10**6), Fraction(1, 2 * 10**6))
    )
    for key in ("m", "q", "b", "delta", "test_error"):
        assert 2 * two[key] - one[key] == pytest.approx(limit[key], rel=1e-7), key


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["first_row_attention", "cross_attention", "cross_attention_cross_entropy"]
)
def test_vanishing_decay_is_that_of_sampled_channels_too(name):
    """A root of lambda for the square loss, so that it is slow; linear for cross-entropy."""
    problem = exact(name, Fraction(1, 20), HALF, Fraction(0), HALF)
    point = proven_point(problem, 12)
    far, near = (solve(replace(problem.rounded, lambda_=decay)).unwrap() for decay in (1e-4, 1e-5))
    for key in ("m", "q", "b"):
        limit = float(point.values[key])
        assert abs(getattr(near, key) - limit) < min(
            abs(getattr(far, key) - limit) / 2, 0.06 * limit
        ), key


@pytest.mark.slow
def test_signs_do_not_change_what_symmetric_and_general_matrices_share():
    """D/k' counts: one number of a symmetric matrix is two of a general one, at the same
    symmetrised law.
    """
    symmetric = proven_point(exact("signed_quadratic_network", TENTH, HALF, Fraction(0), HALF), 40)
    general = proven_point(exact("cross_attention", TENTH, HALF, Fraction(0), HALF), 40)
    for key in ("m", "q", "b", "delta"):
        assert symmetric.values[key] == general.values[key], key


@examples(6)
@given(
    name=st.sampled_from(sorted(CLOSED.values())),
    alpha=st.fractions(Fraction(1, 5), 4, max_denominator=50),
    kappa0=st.fractions(TENTH, 2, max_denominator=20),
    decay=st.fractions(Fraction(1, 100), Fraction(1, 5), max_denominator=100),
    noise=st.fractions(TENTH, 2, max_denominator=20),
)
def test_anywhere_fewer_digits_are_the_rounding_of_more(name, alpha, kappa0, decay, noise):
    problem = exact(name, alpha, kappa0, decay, noise)
    few, many, found = (
        proven_point(problem, 15),
        proven_point(problem, 60),
        solve(problem.rounded).unwrap(),
    )
    for key, text in few.values.items():
        last = Fraction(1, 10 ** len(text.partition(".")[2]))
        assert abs(Fraction(text) - Fraction(many.values[key])) <= last / 2, key
        assert float(text) == pytest.approx(
            getattr(found, key), rel=1e-8, abs=2 * found.errors[key]
        ), key


@pytest.mark.parametrize(
    "name", ["quadratic_network", "signed_quadratic_network", "cross_attention"]
)
def test_spectral_functions_of_every_class_are_those_of_float64(name):
    problem = exact(name, Fraction(1), HALF, Fraction(1, 20), HALF)
    with working(100):
        balls = problem.energy(arb(0.3), arb(0.4))
    floats = spectral_energy(problem.rounded, 0.3, 0.4)
    for key in ("J", "J_v", "J_b", "mass"):
        assert float(getattr(balls, key)) == pytest.approx(getattr(floats, key), rel=1e-9), key


@pytest.mark.parametrize(
    "stated",
    [
        ("quadratic_network", HALF, HALF, Fraction(1, 20), HALF),
        ("quadratic_network", HALF, HALF, Fraction(1, 20), HALF, Fraction(3, 10)),
        ("signed_quadratic_network", TENTH, HALF, Fraction(0), HALF),
    ],
)
def test_slopes_are_differences_of_the_equations(stated):
    """A wrong slope would not show in the digits: the proof alone rests on it."""
    equations = equations_of(exact(*stated))
    with working(200):
        at, step = tuple(map(arb, equations.start())), arb(2) ** -60
        slopes = equations.system(at).slopes
        for k in range(2):
            above, below = (
                equations.system(
                    tuple(x + side * step if j == k else x for j, x in enumerate(at))
                ).values
                for side in (1, -1)
            )
            for row in range(2):
                difference = float((above[row] - below[row]) / (2 * step))
                assert float(slopes[row][k]) == pytest.approx(difference, rel=1e-12, abs=1e-12)


def test_a_wrong_box_is_not_proven():
    equations = equations_of(exact("quadratic_network", HALF, HALF, Fraction(1, 20), HALF))
    with working(200):
        root = newton(equations.system, tuple(map(arb, equations.start())))
        radius = arb(2) ** -40
        right = tuple(around(x, radius) for x in root)
        wrong = tuple(around(x + 3 * radius, radius) for x in root)

        def inside(box):
            return all(
                one.contains_interior(other)
                for one, other in zip(box, krawczyk(equations.system, box), strict=True)
            )

        assert inside(right)
        assert not inside(wrong)
        # The image holds every root of a box: here it lies outside, so that there is none.
        assert not any(
            one.overlaps(other)
            for one, other in zip(wrong, krawczyk(equations.system, wrong), strict=True)
        )
        with pytest.raises(Unresolved):
            proven_near(equations.system, tuple(x * arb("1.5") for x in root))


def test_a_double_root_and_no_root_are_not_proven():
    def parabola(height):
        def system(at):
            x, y = at
            return Linearised((x**2 + height, y - 1), ((2 * x, arb(0)), (arb(0), arb(1))))

        return system

    with working(100):
        for height, start in ((0, arb(2) ** -20), (arb(2) ** -40, arb(2) ** -20)):
            with pytest.raises(Unresolved):
                proven_near(parabola(height), (start, arb(1)))
        box = proven_near(parabola(-2), newton(parabola(-2), (arb(1), arb(0))))
        assert box[0].contains(arb(2).sqrt())


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (exact("tied_attention", HALF, HALF, Fraction(1, 20), HALF), "neither closed"),
        (exact("cross_attention", HALF, HALF, Fraction(1, 20), HALF), "quadratic_network"),
    ],
)
def test_what_cannot_be_proven_is_refused(problem, words):
    with pytest.raises(InvalidParameter, match=words):
        proven_point(problem, 20)


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (exact("quadratic_network", TENTH, HALF, Fraction(20), HALF), "S = 0"),
        (exact("tied_attention", Fraction(1), HALF, Fraction(0), HALF), "interpolation"),
    ],
)
def test_where_there_is_no_such_solution_it_is_said(problem, words):
    with pytest.raises(Unresolved, match=words):
        proven_point(problem, 20)
