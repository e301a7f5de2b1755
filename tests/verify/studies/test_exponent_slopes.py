"""Slopes, their intervals and their limits: against closed forms and against many repetitions."""

import numpy as np
import pytest

from verify.core.intervals import Interval, pooled
from verify.core.slopes import log_slope, trained_slope
from verify.studies.exponents.slopes import (
    limit_of_slopes,
    limit_weights,
    trained_level,
)

SAMPLES = (1000, 2000)


def drawn_errors(rng, runs, slope, scatter):
    """Errors of runs with a scatter that both numbers of samples share, and one that they do not, a
    fifth of it.
    """
    common = 1 + scatter * rng.standard_normal((runs, 1))
    return (
        0.2
        * np.array(SAMPLES) ** slope
        * common
        * (1 + scatter / 5 * rng.standard_normal((runs, 2)))
    )


def test_the_slope_of_a_power_is_its_exponent():
    n = np.array([100, 250, 1000])
    assert log_slope(n, np.stack([3 * n**-0.5, n**-2.0])) == pytest.approx([-0.5, -2.0], abs=1e-12)


@pytest.mark.parametrize("runs", [4, 6])
def test_intervals_hold_the_slope_as_often_as_they_say(runs):
    rng = np.random.default_rng(1)
    found = [
        trained_slope(SAMPLES, drawn_errors(rng, runs, -0.6, 0.05), rng, 0.95) for _ in range(300)
    ]
    share = np.mean([-0.6 in interval for interval in found])
    # binomial scatter of 300 intervals is .013; resampling alone, without Student's width, would
    # hold 80 to 85 per cent
    assert 0.91 < share < 0.985


def test_scatter_that_runs_share_along_n_does_not_widen_the_slope():
    rng = np.random.default_rng(2)
    errors = drawn_errors(rng, 6, -0.6, 0.05)
    errors[:, 1] = errors[:, 0] * 2**-0.6
    interval = trained_slope(SAMPLES, errors, rng, 0.95)
    assert interval.value == pytest.approx(-0.6)
    assert interval.half_width < 1e-9


def test_the_level_is_the_logarithm_of_the_ratio():
    rng = np.random.default_rng(3)
    errors = drawn_errors(rng, 8, -0.6, 0.02)
    assert trained_level(
        tuple(1.1 * errors.mean(axis=0)), errors, rng, 0.95
    ).value == pytest.approx(-np.log(1.1))


def test_a_higher_level_is_a_wider_interval():
    errors = drawn_errors(np.random.default_rng(4), 6, -0.6, 0.05)
    narrow, wide = (
        trained_slope(SAMPLES, errors, np.random.default_rng(0), level) for level in (0.95, 0.995)
    )
    assert wide.low < narrow.low < narrow.value == wide.value < narrow.high < wide.high


def test_the_limit_of_slopes_that_follow_the_correction_is_exact():
    dims, power = (200, 400, 800), 0.125
    slopes = [-2 / 3 + 0.3 * dim**-power for dim in dims]
    found = limit_of_slopes(
        dims, [Interval(s, s - 0.01, s + 0.01) for s in slopes], power, slopes, -2 / 3
    )
    assert found.value == pytest.approx(-2 / 3, abs=1e-9)
    weights = limit_weights(dims, power, [0.01] * 3)
    assert found.half_width == pytest.approx(0.01 * np.linalg.norm(weights), rel=1e-6)


def test_what_the_fit_misses_of_the_theory_widens_the_limit():
    dims, power = (200, 400, 800), 0.125
    theory = [-2 / 3 + 0.3 * dim**-power + 5 / dim for dim in dims]
    slopes = [Interval(s, s - 0.01, s + 0.01) for s in theory]
    found, exact = (
        limit_of_slopes(dims, slopes, power, theory, -2 / 3),
        limit_weights(dims, power, [0.01] * 3),
    )
    missed = abs(float(exact @ theory) + 2 / 3)
    assert found.half_width == pytest.approx(0.01 * np.linalg.norm(exact) + missed)
    assert -2 / 3 in found


def test_pooling_weighs_by_the_square_of_the_width():
    found = pooled([Interval(0.0, -1.0, 1.0), Interval(1.0, 0.0, 2.0)])
    assert found == pytest.approx((0.5, 0.5 - 0.5**0.5, 0.5 + 0.5**0.5))
    assert pooled([Interval(0.0, -1.0, 1.0), Interval(5.0, -95.0, 105.0)]).value == pytest.approx(
        5e-4, rel=1e-3
    )
