"""Dominant balance: known exponents of other problems, the diagram of power laws, and bad
systems.
"""

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy as sp

from derive.language.errors import DerivationError
from derive.language.notation import sym
from derive.models import load
from derive.scaling import phase_diagram as diagrams
from derive.scaling.balance import Balance, Regime, System, logarithm, monomials
from derive.scaling.exponent_tables import axes
from derive.scaling.phase_diagram import Plane, _corner, _height, phase_diagram, polytope
from derive.scaling.polytopes import volume
from derive.scaling.power_law import limit, peak, risk, system
from derive.scaling.rational_functions import in_lowest_terms, over_common_denominator

n, lambda_, d, gamma = sym("n lambda_ d gamma")
size, effective, delta, b, V, share = sp.symbols("size effective delta b V share", positive=True)
ONE = sp.Integer(1)


def ridge(source: sp.Rational) -> System:
    """Kernel ridge regression: eigenvalues k^-gamma, target of source exponent r, noise (Cui et
    al., arXiv 2105.15004).
    """
    bias, variance = effective ** (2 * source), effective ** (-1 / gamma) / n
    balances = (
        Balance("effective regularisation", effective, lambda_ + effective ** (1 - 1 / gamma) / n),
        Balance("risk", risk, bias + variance),
    )
    domain = ((ONE, n), (lambda_, ONE))
    return System(
        (n, lambda_, size), (effective, risk), (Regime("ridge", balances),), gamma, ONE, domain
    )


def lasso() -> System:
    """Sparse regression of s_k = k^-gamma: the diagonal sister of the model, its bulk a Gaussian
    instead of a semicircle.
    """

    def regime(name, learned, response, *conditions, tie=False):
        noise = Balance(
            "noise", delta**2, 1 / n
        )  # that of the labels: the risk is at most of order one
        threshold = Balance(
            "threshold", b, sp.expand(lambda_ * (1 + V) / n) if response else lambda_ / n
        )
        extra = (Balance("response", V * n, sp.expand((1 + V) * response)),) if response else ()
        edge = (Balance("edge", b, delta),) if tie else ()
        return Regime(
            name, (noise, threshold, Balance("risk", risk, learned), *extra, *edge), conditions
        )

    last, few = d**-gamma, lambda lowest: lowest ** (-1 / gamma)
    regimes = (
        regime("nothing", ONE, None, (delta, b), (ONE, b)),
        regime("spikes", b**2 * few(b), few(b), (delta, b), (b, ONE), (last, b)),
        regime(
            "open",
            (few(delta) + d * share) * delta**2,
            few(delta) + d * share,
            (share, ONE),
            (delta, ONE),
            (last, delta),
            tie=True,
        ),
        regime("full", d * delta**2, d, (b, delta), (delta, ONE), (last, delta)),
        regime("resolved", d * (b**2 + delta**2), d, (delta, last), (b, last)),
    )
    return System(
        (n, lambda_, d), (delta, b, V, risk, share), regimes, gamma, sp.Rational(1, 2), ((ONE, n),)
    )


def cells(of: System, at: Fraction):
    return {
        (c.solution.regime.id, c.solution.exponents[risk]) for c in phase_diagram(of).at(at).cells
    }


def same(form, *expected) -> bool:
    return all(sp.cancel(a - sp.sympify(e)) == 0 for a, e in zip(form, expected, strict=True))


@pytest.mark.parametrize("source", [sp.Rational(1, 3), sp.Rational(1, 2)])
def test_ridge_regression_has_its_four_regimes(source):
    """Two for the bias, lambda^(2r) and n^(-2 r gamma), two for the variance; the last merges with
    overfitting at zero lambda.
    """
    found = [form for _, form in cells(ridge(source), Fraction(2))]
    assert any(same(form, 0, 2 * source, 0) for form in found)
    assert any(same(form, -1, -1 / gamma, 0) for form in found)
    assert any(same(form, 0, 0, 0) for form in found)  # unregularised: the variance stays
    assert len(found) == 3


def test_noiseless_ridge_learns_at_the_source_rate():
    noiseless = ridge(sp.Rational(1, 3))
    (regime,) = noiseless.regimes
    bias = Regime(
        "bias", (regime.balances[0], Balance("risk", risk, effective ** sp.Rational(2, 3)))
    )
    found = cells(replace(noiseless, regimes=(bias,)), Fraction(2))
    assert any(same(form, -sp.Rational(2, 3) * gamma, 0, 0) for _, form in found)


def test_lasso_has_the_exponents_of_the_matrix_problem_at_n_eff_equal_to_n():
    found = dict(cells(lasso(), Fraction(1)))
    slope = 2 - 1 / gamma
    assert same(found["spikes"], -slope, slope, 0)
    # At lambda = sqrt(n) the noise takes over: n^-(1 - 1/(2 gamma)).
    assert sp.cancel(-slope + slope / 2 + (1 - 1 / (2 * gamma))) == 0
    assert same(found["full"], -1, 0, 1)
    assert same(
        found["open"], 0, 0, 0
    )  # a Gaussian bulk overfits up to logarithms, a semicircle by a power


def test_power_laws_have_every_regime_of_the_theory():
    found = {}
    for cell in phase_diagram(system(load("tied_attention"))).at(Fraction(3, 4)).cells:
        found[cell.solution.regime.id, limit(cell.solution)] = cell.solution.exponents[risk]
    half = sp.Rational(1, 2)
    slope, weak = 2 - 1 / gamma, 1 - 1 / (2 * gamma)
    assert same(found["nothing", "target"], 0, 0, 0)
    # (n_eff/(lambda sqrt d))^-(2 - 1/gamma), n_eff = n/d
    assert same(found["spikes", "decay"], -slope, slope, (1 + half) * slope)
    assert same(found["spikes_and_slit", "noise"], -weak, 0, weak)
    assert same(found["spikes_and_slit", "overfitting"], sp.Rational(2, 5), 0, -sp.Rational(4, 5))
    assert same(found["spikes_and_bulk", "overfitting"], -1, 0, 2)
    assert same(found["all", "decay"], -2, 2, 4)
    assert same(found["all", "noise"], -1, 0, 2)
    assert len(phase_diagram(system(load("tied_attention"))).phases) == 1


def test_all_classes_whose_penalty_leaves_eigenvalues_out_have_one_system():
    """Gain, threshold and noise differ by constants; a linear shrinkage has other balances."""
    tied = load("tied_attention")
    for name in (
        "signed_quadratic_network",
        "cross_attention",
        "cross_attention_cross_entropy",
        "untied_attention",
    ):
        assert system(load(name)) == system(tied), name
    assert [
        axes(load(name))
        for name in ("tied_attention", "cross_attention", "direct_general", "elastic_attention")
    ] == [
        ["decay", "width"],
        ["decay"],
        [],
        [],
    ]


@pytest.mark.parametrize("side", [1, -1])
def test_the_interpolation_peak(side):
    (phase,) = phase_diagram(peak(load("tied_attention"), side)).phases
    forms = [cell.solution.exponents[risk] for cell in phase.cells]
    assert any(same(form, 0, -sp.Rational(2, 3), 0) for form in forms)
    assert any(same(form, -1, 0, 0) for form in forms)
    assert len(forms) == 2


@pytest.mark.parametrize(
    "at", [Fraction(51, 100), Fraction(3, 4), Fraction(1), Fraction(7, 2), Fraction(20)]
)
def test_cells_cover_the_plane_once_at_other_gammas_too(at):
    """The proof checks one gamma per interval: here others."""
    of = system(load("tied_attention"))
    areas = [volume(polytope(cell.margins, of, at)) for cell in phase_diagram(of).at(at).cells]
    assert sum(areas) == volume(polytope((), of, at))
    assert all(value > 0 for value in areas)


def test_a_system_with_a_gap_is_refused():
    half = System(
        (n, lambda_, size),
        (risk,),
        (Regime("half", (Balance("risk", risk, n),), ((ONE, n),)),),
        gamma,
        ONE,
    )
    with pytest.raises(DerivationError, match="no balance holds on 50"):
        phase_diagram(half)


@pytest.mark.parametrize("power", [gamma - 2, 1 / (gamma - 2)])
def test_a_balance_may_hold_for_some_gammas_only(power):
    """It ends at two, which is tried first: there nothing has a volume, or a plane has a pole."""
    sides = (("below", (n**power, ONE)), ("above", (ONE, n**power)))
    regimes = tuple(
        Regime(name, (Balance("risk", risk, n),), (condition,)) for name, condition in sides
    )
    phases = phase_diagram(
        System((n, lambda_, size), (risk,), regimes, gamma, ONE, ((ONE, n),))
    ).phases
    found = [
        (phase.low, phase.high, [cell.solution.regime.id for cell in phase.cells])
        for phase in phases
    ]
    assert found == [(1, 2, ["below"]), (2, None, ["above"])]


def test_a_system_with_two_answers_is_refused():
    two = tuple(
        Regime(name, (Balance("risk", risk, term),)) for name, term in (("one", n), ("other", n**2))
    )
    with pytest.raises(DerivationError, match="hold at the same place"):
        phase_diagram(System((n, lambda_, size), (risk,), two, gamma, ONE))


def test_terms_that_may_cancel_are_refused():
    with pytest.raises(DerivationError, match="may cancel"):
        monomials(n - lambda_)


def test_what_is_no_monomial_is_refused():
    with pytest.raises(DerivationError, match="is not a product of powers"):
        logarithm(sp.log(n), (n,))


def test_exponents_of_a_nested_power():
    assert logarithm((sp.sqrt(d) / b) ** (1 / gamma) * b**2 / d, (d, b)) == (
        1 / (2 * gamma) - 1,
        2 - 1 / gamma,
    )


def test_a_quotient_of_polynomials_is_in_lowest_terms():
    values = (
        2 - 1 / gamma,
        (gamma - 1) / (3 * gamma + 1),
        sp.Rational(-3, 2) * gamma,
        sp.Integer(0),
    )
    numerators, denominator = over_common_denominator(values, gamma)
    found = [in_lowest_terms(-3 * numerator, -3 * denominator, gamma) for numerator in numerators]
    assert found == [(2 * gamma - 1) / gamma, *values[1:]]


def test_the_corner_of_planes_lies_on_each_of_them_at_every_gamma():
    """Homogeneous coordinates by minors; over a plane higher by one it lies by the last of them, in
    units of the denominator.
    """
    planes = tuple(
        Plane(form, gamma) for form in ((ONE, gamma, ONE / gamma), (gamma - 1, 2 * ONE, gamma**2))
    )
    corner = _corner(planes)
    assert all(_height(plane, corner) == 0 for plane in planes)
    raised = Plane((ONE, gamma, ONE / gamma + 1), gamma)
    assert _height(raised, corner) == raised.denominator * corner[-1] != 0


def test_each_phase_is_checked_inside_even_where_the_gamma_tried_first_is_its_end(monkeypatch):
    """Between 1/2 and infinity that is 1: where the arrangement changes a cell has no volume, and a
    check there says nothing.
    """
    checked = []
    monkeypatch.setattr(diagrams, "_crossings", lambda *_: ())
    monkeypatch.setattr(diagrams, "_roots_of", lambda *_: {ONE, 2 * ONE})
    monkeypatch.setattr(diagrams, "_require_tiling", lambda *given: checked.append(given[-1]))
    phases = list(diagrams._checked_phases(ridge(ONE), (), ONE / 2, None))
    assert [(phase.low, phase.high) for phase in phases] == [(ONE / 2, 1), (1, 2), (2, None)]
    for phase in phases:
        assert any(
            phase.low < found and (phase.high is None or found < phase.high) for found in checked
        )
