"""Local slopes and their errors, of risks that are known."""

import math

import pytest

from numeric.laws.power_law import power_law
from numeric.problem.problem import Problem
from numeric.problem.solution import Status, failed_solution
from numeric.studies.scaling import STEP, ScalingPoint, _local, _with_slopes, slope_between

NOTHING = failed_solution(Problem(1.0, power_law(0.75, 60), 1.0, 0.5), Status.STEP_LIMIT, 0.0, 0)


def point(samples, risk, relative_error=0.0):
    return ScalingPoint(samples, 60.0, NOTHING, risk, relative_error * risk, *[math.nan] * 6)


def around(risk, centre=1000.0, error=0.0):
    """Points at five places about one, as a local slope takes them."""
    return [
        point(n, risk(math.log(n)), error)
        for n in (centre * math.exp(k * STEP) for k in (-2, -1, 0, 1, 2))
    ]


def test_a_local_slope_is_exact_for_a_risk_whose_logarithm_is_of_third_degree():
    def logarithm(x):
        return 1 - 0.7 * x + 0.05 * x**2 - 0.02 * x**3

    found = _local(around(lambda x: math.exp(logarithm(x))), "samples")
    x = math.log(1000.0)
    assert found.slope == pytest.approx(-0.7 + 0.1 * x - 0.06 * x**2, rel=1e-9)
    # what two differences of different steps differ by, a third of it: that of the near one, here
    # -.02 STEP^2
    assert found.slope_error == pytest.approx(0.02 * STEP**2, rel=1e-6)


def test_errors_of_risks_are_errors_of_slopes():
    found = _local(around(lambda x: math.exp(-0.7 * x), error=1e-3), "samples")
    assert found.slope == pytest.approx(-0.7)
    assert found.slope_error == pytest.approx(2e-3 / (2 * STEP))
    slope, error = slope_between(point(100.0, 4.0, 0.01), point(200.0, 1.0, 0.03))
    assert (slope, error) == pytest.approx((-2.0, 0.04 / math.log(2)))
    assert all(map(math.isnan, slope_between(point(100.0, 0.0), point(200.0, 1.0))))
    assert all(map(math.isnan, slope_between(point(100.0, 2.0), point(100.0, 1.0))))


def test_a_slope_on_a_grid_has_half_of_what_it_turns_by_in_its_error():
    ends = _with_slopes([point(100.0, 8.0), point(200.0, 4.0), point(400.0, 1.0)], "samples")
    assert ends[1].slope == pytest.approx(-1.5)
    assert ends[1].slope_error == pytest.approx(abs(-2 + 1) / 4)
    assert math.isnan(ends[0].slope) and math.isnan(ends[2].slope_error)
