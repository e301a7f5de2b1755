"""Derived equations against the theory note, and against differences of the free entropy at 50
digits.
"""

from collections import Counter

import mpmath
import pytest
import sympy as sp

from derive.language.notation import TABLE, sym
from derive.models import load
from derive.passes.limits import bayes_optimal as bayes
from derive.passes.limits import projections, recovery, zero_decay
from derive.passes.softmax import label_numbers
from derive.passes.spectral_function import rational_law as spectral
from derive.passes.spectral_function import semicircle
from tests.oracles.interpolation_by_quadrature import physical_root
from tests.oracles.multiprecision import multiprecision_functions

MODEL = load("tied_attention")


@pytest.fixture
def mp():
    context = mpmath.mp.clone()
    context.dps = 60
    return context


@pytest.fixture(scope="module")
def generated():
    return multiprecision_functions()


def test_six_equations_are_differences_of_the_free_entropy(mp, generated):
    """At a point that is not stationary: each derivative of e equals its equation's mismatch (M a
    test function).
    """
    kappa0, kappa, alpha, lambda_ = mp.mpf(1) / 2, mp.mpf(3) / 4, mp.mpf("0.7"), mp.mpf("0.05")
    r = generated.law_parameters(mp, kappa0, mp.mpf(1))[1]
    point = {
        name: mp.mpf(value)
        for name, value in zip(
            ("m", "q", "V", "mh", "qh", "Vh"),
            ("1.1", "1.3", "0.6", "0.4", "0.3", "0.5"),
            strict=True,
        )
    }

    def M(m, q, V):
        return mp.exp(-m) * q / (1 + V) + q**2 * V / 7

    def spectral_values(mh, qh, Vh):
        v, b, c = generated.reduced_variables(mp, mh, qh, Vh, lambda_, kappa)
        g = physical_root(mp, v, b, (kappa0, r))
        forms = (generated.spectral_J, generated.spectral_J_v, generated.spectral_J_b)
        return [form(mp, g, v, b, kappa0, r) for form in forms], v, b, c

    def e(m, q, V, mh, qh, Vh):
        (J, _, _), *_ = spectral_values(mh, qh, Vh)
        return generated.free_entropy(mp, alpha, M(m, q, V), m, q, V, mh, qh, Vh, J)

    names = list(point)

    def slope(name):
        k = names.index(name)
        return mp.diff(
            lambda x: e(*[x if i == k else value for i, value in enumerate(point.values())]),
            point[name],
        )

    m, q, V, mh, qh, Vh = point.values()
    M_m, M_q, M_V = (mp.diff(M, (m, q, V), order) for order in ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    (J, J_v, J_b), v, b, c = spectral_values(mh, qh, Vh)
    new_m, new_q, new_V = generated.overlaps(mp, J, J_v, J_b, v, b, c, Vh)
    new_mh, new_qh, new_Vh = generated.conjugates(mp, alpha, M_m, M_q, M_V)
    expected = {
        "m": mh - new_mh,
        "q": (new_Vh - Vh) / 2,
        "V": (qh - new_qh) / 2,
        "mh": m - new_m,
        "qh": (V - new_V) / 2,
        "Vh": (new_q - q) / 2,
    }
    for name, value in expected.items():
        assert abs(value) > 1e-3  # the point is not stationary: the comparison is not 0 = 0
        # mp.diff takes steps of half the working digits.
        assert abs(slope(name) - value) < mp.mpf(10) ** -25, name


def test_recovery_is_the_parametric_curve_of_the_theory_note():
    theta, zero_mass = recovery.theta, recovery.zero_mass
    found = recovery.recovery(MODEL)
    odds = (sp.Rational(2, 3) * sp.tan(theta) + sp.sin(2 * theta) / 6 - theta) / sp.pi
    assert sp.simplify(found.odds - odds) == 0
    N = (theta - sp.Rational(2, 3) * sp.sin(2 * theta) + sp.sin(4 * theta) / 12) / sp.pi
    on_curve = (found.energy - (1 - zero_mass**2 + zero_mass**2 * N)).subs(
        zero_mass, 1 / (1 + odds)
    )
    for value in (sp.Rational(1, 5), sp.Rational(4, 5), sp.Rational(3, 2)):
        assert abs(sp.N(on_curve.subs(theta, value), 40)) < 1e-35


@pytest.mark.slow
def test_recovery_depends_on_the_law_through_its_zero_mass_only():
    one, two = recovery.recovery(MODEL), recovery.recovery(load("tied_attention_two_bulks"))
    for mine, theirs in zip(one, two, strict=True):
        assert sp.expand(mine - theirs) == 0


def test_mass_at_recovery_is_the_semicircle_above_the_cut():
    theta, zero_mass = recovery.theta, recovery.zero_mass
    above, trace = semicircle.semicircle_top()
    assert sp.expand(recovery.recovery(MODEL).mass - (1 - zero_mass + zero_mass * above)) == 0
    assert sp.simplify(sp.diff(trace, theta) - 2 * sp.cos(theta) * sp.diff(above, theta)) == 0


def test_bayes_optimal_recovery_counts_parameters():
    (zero_mass, D) = recovery.zero_mass, recovery.D
    rank = 1 - zero_mass
    assert sp.expand(bayes.recovery_ratio(MODEL) - (rank - rank**2 / 2) / D) == 0
    assert (
        sp.expand(
            projections.manifold_bound().subs(projections.kappa, rank) - bayes.recovery_ratio(MODEL)
        )
        == 0
    )


def test_partial_fractions_are_those_of_sympy():
    g, a, b = spectral.g, *sp.symbols("a b", positive=True)
    integrand = (1 / g + 2 / (a - g) + 3 / (b - g) + g) ** 3
    found = spectral.integrate_rational(integrand)
    values = {a: sp.Rational(2), b: sp.Rational(7, 2)}
    logarithms = sum(
        coefficient * sp.diff(sp.log(base), g) for base, coefficient in found.logarithms.items()
    )
    rest = (sp.diff(found.rational, g) + logarithms - integrand).subs(values)
    assert sp.cancel(sp.together(rest)) == 0


@pytest.mark.parametrize(("tokens", "numbers"), [(2, 2), (3, 5), (4, 9), (10, 54)])
def test_numbers_in_a_label(tokens, numbers):
    assert label_numbers.label_numbers().subs(label_numbers.T, tokens) == numbers


def test_weak_regularisation_balance():
    """rho - 2m + q = 2 alpha D v at beta = beta0, and c = beta0/beta (theory note, section 5)."""
    limit = zero_decay.weak_regularisation(MODEL)
    balance = limit[zero_decay.v].subs(zero_decay.beta, zero_decay.beta0)
    expected = (zero_decay.rho - 2 * zero_decay.m + zero_decay.q) / (
        2 * zero_decay.alpha * zero_decay.D
    )
    assert sp.cancel(balance - expected) == 0
    assert limit[zero_decay.c] == zero_decay.beta0 / zero_decay.beta


def test_moments_of_the_target():
    mean, second = spectral.moments(MODEL.target)
    kappa0, symbol = sym("kappa0 r")
    r = sp.sqrt(kappa0)
    assert sp.simplify(mean.subs(symbol, r) - r) == 0
    assert sp.simplify(second.subs(symbol, r) - 1 - kappa0) == 0


def test_spectral_forms_differentiate_to_each_other(mp, generated):
    """J_v, J_b, J_vv, J_bv and mass are the derivatives of J along b and v, at 25 digits."""
    kappa0 = mp.mpf(1) / 3
    r = mp.sqrt(kappa0)

    def value(name, v, b):
        return getattr(generated, f"spectral_{name}")(
            mp, physical_root(mp, v, b, (kappa0, r)), v, b, kappa0, r
        )

    v, b = mp.mpf("0.7"), mp.mpf("0.2")
    checks = {
        "J_v": ("J", (1, 0)),
        "J_b": ("J", (0, 1)),
        "J_vv": ("J_v", (1, 0)),
        "J_bv": ("J_b", (1, 0)),
    }
    for name, (source, order) in checks.items():
        assert (
            abs(
                mp.diff(lambda s, t, source=source: value(source, s, t), (v, b), order)
                - value(name, v, b)
            )
            < mp.mpf(10) ** -25
        )
    assert (
        abs(mp.diff(lambda t: value("J_b", v, t), b) - 2 * value("mass", v, b)) < mp.mpf(10) ** -25
    )


def test_a_symbol_has_one_meaning():
    """In LaTeX s was an eigenvalue of S, one of the target and the scale of the target."""
    for form in ("latex", "glyph", "symbol"):
        counts = Counter(str(getattr(entry, form)) for entry in TABLE)
        assert not [name for name, count in counts.items() if count > 1], form
    assert "s" not in {entry.latex for entry in TABLE}  # the eigenvalue of S in the penalty
