"""Settings of thresholds: problems, models, exact numbers and floats."""

import logging
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy

import numeric
from attention_erm.runtime.errors import InvalidParameter
from numeric import MarchenkoPastur, Problem, bayes_recovery, interpolation, recovery
from numeric.laws.eigenvalue_list import Eigenvalues, singular_values
from numeric.maths.domain import exact_or_float
from numeric.proven_laws.finite import exact_list
from numeric.proven_laws.rational import rational_law
from numeric.thresholds.interpolation import interpolation_limit

NETWORK = Problem(1, MarchenkoPastur(0.5), 0.05, 1, model="quadratic_network")
TENTH = "0.1367818350121136131952616839105499713543"  # at kappa0 = Delta = 1/10
EXACT_TENTHS = (Fraction(1, 10), Decimal("0.1"), "1/10", "0.1", sympy.Rational(1, 10))


def test_a_problem_has_the_threshold_of_its_model():
    """A bare target has the threshold of tied attention, and the result shows the model."""
    found = interpolation(NETWORK, digits=12)
    assert found.value == "0.291101050145"
    assert found == interpolation(NETWORK.target, 1, digits=12, model="quadratic_network")
    bare = interpolation(NETWORK.target, noise=1, digits=12)
    assert (bare.value, bare.model) == ("0.145550525072", "tied_attention")
    for text in ("model='tied_attention'", "target='MarchenkoPastur(kappa0=0.5", "noise='1'"):
        assert text in repr(bare)


@pytest.mark.parametrize("threshold", [recovery, bayes_recovery, interpolation_limit])
@pytest.mark.parametrize("name", ["quadratic_network", "linear_attention"])
def test_every_threshold_follows_the_model(threshold, name):
    settings = {"kappa0": Fraction(1, 2), "scale": Fraction(1)}
    expected = threshold(rational_law(name, **settings), digits=20)
    target = MarchenkoPastur(0.5)
    assert threshold(target, digits=20, model=name).value == expected.value
    assert threshold(Problem(1, target, 0.1, 0.3, model=name), digits=20).value == expected.value
    assert threshold(target, digits=20).value != expected.value


def test_the_bayes_error_is_of_the_model_of_its_problem():
    """One visible number per sample in place of two: twice as many samples know as much."""
    tied = Problem(0.5, MarchenkoPastur(0.5), 0.1, 0.3)
    one_number = Problem(1.0, MarchenkoPastur(0.5), 0.1, 0.3, model="first_row_attention")
    assert numeric.bayes_error(one_number) == pytest.approx(numeric.bayes_error(tied), rel=1e-9)


@pytest.mark.parametrize(
    ("build", "line"),
    [
        (lambda: interpolation(NETWORK, 1), "noise = 1: is stated by the problem; omit it"),
        (lambda: recovery(NETWORK, model="x"), "model = 'x': is stated by the problem"),
        (lambda: recovery(MarchenkoPastur(0.5), model="quadratic"), "is not a generated model"),
        (
            lambda: interpolation(MarchenkoPastur(0.5), 1, model="cross_attention"),
            "must be the target of the model cross_attention",
        ),
        (
            lambda: recovery(Problem(1, MarchenkoPastur(0.5), 0.1, 0, beta=2.0)),
            "beta = 2.0: must equal beta0 = 1 for recovery",
        ),
        (
            lambda: interpolation(
                Problem(1, MarchenkoPastur(0.5), 0.1, 1, parametrisation="symmetric")
            ),
            'give problem.target with model="direct_symmetric"',
        ),
        (lambda: MarchenkoPastur("half"), "kappa0 = 'half': must be one finite number"),
        (lambda: MarchenkoPastur(sympy.sqrt(2)), "must be one finite number"),
        (lambda: MarchenkoPastur(True), "must be one finite number"),
    ],
)
def test_what_has_no_threshold_is_one_line(build, line):
    with pytest.raises(InvalidParameter) as error:
        build()
    assert line in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("tenth", EXACT_TENTHS)
def test_exact_numbers_are_not_rounded(tenth, caplog):
    with caplog.at_level(logging.WARNING):
        assert interpolation(MarchenkoPastur(tenth), noise=tenth, digits=40).value == TENTH
        listed = Eigenvalues([tenth, 1], [Fraction(1, 3), Fraction(2, 3)])
        law = exact_list([Fraction(1, 10), Fraction(1)], [Fraction(1, 3), Fraction(2, 3)])
        found = interpolation(listed, noise=tenth, digits=40)
        assert found.value == interpolation(law, Fraction(1, 10), digits=40).value
    assert caplog.messages == []


def test_binary_numbers_are_taken_as_they_are():
    binary = Fraction(0.1)
    for value in (0.1, np.float64(0.1), mpmath.mpf(0.1), sympy.Float(0.1)):
        assert Fraction(exact_or_float("x", value)) == binary
    assert exact_or_float("x", -mpmath.mpf(3) / 2) == Fraction(-3, 2)
    assert exact_or_float("x", np.float32(0.1)) == float(np.float32(0.1))
    for value in (float("nan"), float("inf"), mpmath.inf, mpmath.nan, "1/0", None, [1]):
        with pytest.raises(InvalidParameter):
            exact_or_float("x", value)


def test_a_float_that_prints_another_number_is_named(caplog):
    """The digits are proven for the binary number, which is not 1/10."""
    with caplog.at_level(logging.WARNING):
        assert interpolation(MarchenkoPastur(0.1), 0.2, digits=16).value
        assert interpolation(MarchenkoPastur(0.5), 0.25, digits=30).value
        assert caplog.messages == []
        found = interpolation(MarchenkoPastur(0.1), noise=0.2, digits=30)
    assert found.value == "0.134638324982951802644689253636"
    kappa0, noise = caplog.messages
    assert kappa0.startswith("kappa0 = 0.1 is the binary number 0.100000000000000005551115123126")
    assert noise.startswith("noise = 0.2 is the binary number 0.2000000000000000111")
    assert kappa0.endswith('give an exact number: Fraction("0.1") or "0.1"')
    exact = interpolation(MarchenkoPastur("1/10"), noise="1/5", digits=30)
    assert exact.value == "0.134638324982951802313095216701"


def test_a_target_of_finite_rank_has_the_digits_of_its_fractions(caplog):
    law = exact_list([Fraction(3), Fraction(2), *[Fraction(0)] * 98], [Fraction(1, 100)] * 100)
    with caplog.at_level(logging.WARNING):
        found = interpolation(numeric.finite_rank([3, 2], 100), 1, digits=30)
    assert found.value == interpolation(law, 1, digits=30).value and caplog.messages == []


def test_singular_values_keep_their_fractions():
    target = singular_values([Fraction(1, 3), 1], [Fraction(1, 7), Fraction(6, 7)])
    weights = {weight for _, weight in target.exact_parameters}
    assert weights == {Fraction(1, 14), Fraction(3, 7)} and target.mirrored == target
