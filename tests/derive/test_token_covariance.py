"""Tokens with a covariance: the derivation, and the scaling exponents with power laws."""

from fractions import Fraction

import pytest
import sympy as sp

from derive.language.errors import DerivationError
from derive.models import load
from derive.passes.spectral_function import token_covariance as law
from derive.scaling.balance import solve
from derive.scaling.phase_diagram import phase_diagram
from derive.scaling.power_law import gamma, risk
from derive.scaling.token_covariance import (
    covariance_system,
    exponent,
    leak_power,
    limit,
    symbolic_solutions,
)
from numeric.studies.regimes import covariance_regimes, regimes

MODEL = load("quadratic_network")


def test_a_wrong_sign_of_the_penalty_is_found(monkeypatch):
    """The checks of the step fail for A(b) = S0~ + b C^{-1}."""
    wrong = law.denominator().subs(law.b, -law.b)
    monkeypatch.setattr(law, "denominator", lambda: wrong)
    with pytest.raises(DerivationError, match="weighted"):
        law.check_resolvent()


@pytest.mark.slow
@pytest.mark.parametrize("a", ["1/4", "1/2", "3/4"])
def test_cells_tile_the_plane_for_every_gamma(a):
    """The proof of the phase diagram raises otherwise."""
    diagram = phase_diagram(covariance_system(MODEL, sp.Rational(a)))
    assert diagram.phases[-1].high is None
    assert all(len(phase.cells) >= 11 for phase in diagram.phases)


@pytest.mark.slow
@pytest.mark.parametrize("a", ["1/8", "3/8", "5/8", "7/8"])
@pytest.mark.parametrize("value", ["9/20", "3/4", "2"])
def test_symbolic_cells_are_those_of_the_numbers(a, value):
    """Between the exponents at which balances are searched, the same balances cover the plane."""
    at, found = Fraction(value), covariance_regimes(Fraction(value), Fraction(a))
    numbers = {gamma: sp.Rational(value)}
    of = covariance_system(MODEL, sp.Rational(a))
    expected = {
        tuple(Fraction(str(power.subs(numbers))) for power in cell.solution.exponents[risk])
        for cell in phase_diagram(of).at(at).cells
    }
    assert {cell.risk for cell in found} == expected


def test_the_exponent_of_the_decay_is_symbolic():
    """At a = 0 it is 1/gamma - 2, that of isotropic tokens."""
    risks = {
        solution.exponents[risk][0]
        for solution in symbolic_solutions(MODEL)
        if limit(solution) == "decay" and solution.regime.id.startswith("spikes")
    }
    (found,) = risks
    assert sp.cancel(found + (2 * gamma + 2 * exponent - 1) / (gamma + 2 * exponent)) == 0
    isotropic = {cell.risk[0] for cell in regimes(Fraction(3, 4)) if cell.limit == "decay"}
    assert found.subs({exponent: 0, gamma: sp.Rational(3, 4)}) in {
        sp.Rational(one.numerator, one.denominator) for one in isotropic
    }
    assert leak_power not in found.free_symbols


@pytest.mark.parametrize("a", [0, 1, sp.Rational(3, 2)])
def test_other_exponents_are_refused(a):
    with pytest.raises(DerivationError, match="between 0 and 1"):
        covariance_system(MODEL, sp.Rational(a))


def test_models_share_the_balances():
    """They differ in constants, which balances leave out."""
    a = sp.Rational(1, 2)
    one, other = (
        covariance_system(load(name), a) for name in ("quadratic_network", "tied_attention")
    )
    assert one == other
    assert len(solve(one)) > 100


@pytest.mark.parametrize(
    ("gamma_value", "a", "model", "words"),
    [
        ("3/4", "1", "tied_attention", "0 < a < 1"),
        ("1/4", "1/4", "tied_attention", "exceed 1/2"),
        ("3/4", "1/2", "cross_attention", "model"),
    ],
)
def test_regimes_outside_the_derivation_are_refused(gamma_value, a, model, words):
    with pytest.raises(ValueError, match=words):
        covariance_regimes(Fraction(gamma_value), Fraction(a), model)
