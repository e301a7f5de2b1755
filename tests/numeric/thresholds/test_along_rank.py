"""Thresholds along the rank of the target, in units of D alpha, by second routes."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

from numeric.laws.law import edge_grid
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.proven_laws.rational import exact_marchenko_pastur
from numeric.thresholds.along_rank import direct_interpolation, thresholds_along_rank
from numeric.thresholds.recovery import recovery

NOISES = (Fraction(1, 20), Fraction(1))


def least_descent_cone(kappa0):
    """2 D alpha of recovery: statistical dimension of the descent cone of the trace, by
    minimisation (theory note, section 5).
    """
    zeros = 1 - kappa0

    def noise(t):
        return (1 + t**2) * np.arccos(t / 2) / np.pi - t * (26 + t**2) * np.sqrt(4 - t**2) / (
            24 * np.pi
        )

    def dimension(tau):
        return kappa0 * tau**2 + 2 * kappa0 - kappa0**2 + zeros**2 * noise(tau / np.sqrt(zeros))

    return minimize_scalar(
        dimension, bounds=(0, 2 * np.sqrt(zeros)), method="bounded", options={"xatol": 1e-10}
    ).fun


def interpolation_by_density(kappa0, noise):
    """D alpha = J_v/2 at the root of J - v J_v = q0 + Delta/2, with J = int_0 x^2 rho by quadrature
    and differences in v.
    """
    law = MarchenkoPastur(kappa0)

    def energy(v):
        grids = [edge_grid(max(low, 0.0), high, 4000) for low, high in law.support(v) if high > 0]
        return sum(float(np.sum(weights * x**2 * law.density(v, x))) for x, weights in grids)

    def slope(v):
        return (energy(1.001 * v) - energy(0.999 * v)) / (0.002 * v)

    v = brentq(lambda v: energy(v) - v * slope(v) - law.q0 - noise / 2, 1e-3, 1e3)
    return slope(v) / 2


@pytest.mark.parametrize("kappa0", [Fraction(1, 50), Fraction(2, 5), Fraction(9, 10)])
def test_lines_by_second_routes(kappa0):
    (row,) = thresholds_along_rank([kappa0], NOISES)
    k = float(kappa0)
    assert row.bayes == pytest.approx(k - k**2 / 2, rel=1e-11)
    assert row.recovery == pytest.approx(least_descent_cone(k) / 2, rel=1e-9)  # flat at its minimum
    assert row.interpolation_limit == pytest.approx(k - k**2 / 2 + (1 - k) ** 2 / 4, rel=1e-11)
    for noise, value in zip(NOISES, row.interpolation, strict=True):
        assert value == pytest.approx(
            interpolation_by_density(k, float(noise)), rel=1e-5
        )  # the square of the step in v


def test_interpolation_approaches_its_limits():
    """Like Delta^(1/3) that of no noise, and that of labels without a target: the cone of positive
    matrices, half of all.
    """
    noises = [Fraction(1, 10**9), Fraction(8, 10**9), Fraction(10**8)]
    (row,) = thresholds_along_rank([Fraction(1, 5)], noises)
    near, far, large = (value for value in row.interpolation)
    gaps = row.interpolation_limit - near, row.interpolation_limit - far
    assert gaps[1] / gaps[0] == pytest.approx(2, rel=0.01)
    assert large == pytest.approx(0.25, abs=1e-6)


@pytest.mark.parametrize("tokens", [3, 5])
def test_units_do_not_depend_on_the_number_of_tokens(tokens):
    (row,) = thresholds_along_rank([Fraction(1, 5)], ())
    numbers = tokens * (tokens + 1) // 2 - 1
    assert numbers * float(
        recovery(exact_marchenko_pastur(Fraction(1, 5)), tokens, 12)
    ) == pytest.approx(row.recovery)


def test_direct_training_counts_parameters():
    assert direct_interpolation("direct_symmetric") == 0.5
    assert direct_interpolation("direct_general") == 1.0
