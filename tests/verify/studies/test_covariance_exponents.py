"""Slopes of heads trained on tokens with a power-law covariance."""

from dataclasses import replace
from fractions import Fraction

import pytest

from attention_erm.runtime.errors import InvalidParameter
from verify.core.pool import Pool
from verify.studies.covariance_exponents.study import (
    CovarianceSlopePlan,
    study_covariance_slopes,
)

PLAN = CovarianceSlopePlan(Fraction(3, 4), Fraction(1, 2), ((16, 6), (20, 6)))


def test_the_exponents_are_the_derived_ones():
    assert PLAN.exponent == Fraction(-6, 7)
    assert PLAN.isotropic == Fraction(-2, 3)
    assert PLAN.samples(20)[1] == pytest.approx(2 * PLAN.samples(20)[0], abs=1)


@pytest.mark.parametrize("gamma", ["1/2", "1/4", "9"])
def test_a_path_outside_the_cell_is_refused(gamma):
    with pytest.raises(InvalidParameter, match="gamma"):
        replace(PLAN, gamma=Fraction(gamma))


@pytest.mark.slow
def test_trained_slopes_exclude_the_isotropic_exponent(tmp_path):
    """At d = 16 and 20; with shuffled labels nothing agrees."""
    with Pool(1, progress=False) as pool:
        found = pool.run(study_covariance_slopes(PLAN, tmp_path))
        control = pool.run(study_covariance_slopes(replace(PLAN, shuffle_labels=True), tmp_path))
    assert found.excludes_isotropic and float(PLAN.exponent) in found.estimate.widened(0.03)
    assert not control.agrees
