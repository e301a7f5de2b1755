"""Sample ratio from which labels without a sign tell anything about the target."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import power_law
from numeric.problem.problem import Problem
from numeric.proven_laws.rational import rational_law
from numeric.thresholds.weak_recovery import weak_recovery

NAME = "signed_phase_retrieval"


def law(kappa0=Fraction(1, 2), positive=Fraction(1, 2)):
    return rational_law(NAME, kappa0=kappa0, positive=positive, scale=Fraction(1))


@given(kappa0=st.fractions(Fraction(1, 20), 3), noise=st.fractions(0, 4))
@examples(15)
def test_the_threshold_is_the_squared_share_of_the_signal(kappa0, noise):
    """It does not depend on the rank; (rho/q0)^2/4 with q0 = 1."""
    found = weak_recovery(law(kappa0), noise, digits=20)
    assert Fraction(found.value) == pytest.approx((1 + noise / 2) ** 2 / 4, rel=1e-18)


def test_without_noise_it_is_half_a_sample_per_parameter():
    assert weak_recovery(law(), digits=5).value == "0.25000"


def test_a_problem_states_the_noise():
    target = Eigenvalues((-1.0, 0.0, 1.0), (0.25, 0.5, 0.25))
    of = Problem(1.0, target, 0.1, 0.5, model=NAME)
    found = weak_recovery(of, digits=10)
    assert found.value == weak_recovery(target, "1/2", 10, model=NAME).value == "0.5625000000"
    assert found.noise == "1/2" and found.kind == "weak-recovery"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda: weak_recovery(law(positive=Fraction(1, 3))), "the mean tells the sign"),
        (lambda: weak_recovery(power_law(0.75, 50), model=NAME), "the mean tells the sign"),
        (lambda: weak_recovery(MarchenkoPastur(0.5)), "model = 'tied_attention': has no weak"),
        (lambda: weak_recovery(MarchenkoPastur(0.5), model="phase_retrieval"), "has no weak"),
    ],
)
def test_where_there_is_none_it_is_refused(asked, message):
    with pytest.raises(InvalidParameter, match=message):
        asked()
