"""Intervals of means of few replicates hold the mean as often as they say."""

import numpy as np
import pytest

from numeric.maths.replicates import half_width


@pytest.mark.parametrize(("count", "quantile"), [(2, 12.7062), (4, 3.18245), (10, 2.26216)])
def test_intervals_are_those_of_student(count, quantile):
    """Quantiles of t at .975 with count - 1 degrees of freedom, from tables; one degree more or
    less is seen.
    """
    runs = np.random.default_rng(count).normal(3.0, 2.0, (count, 40_000))
    expected = quantile * runs.std(axis=0, ddof=1) / np.sqrt(count)
    np.testing.assert_allclose(half_width(runs), expected, rtol=1e-5)
    held = np.mean(np.abs(runs.mean(axis=0) - 3.0) < half_width(runs))
    assert held == pytest.approx(0.95, abs=0.005)  # four standard errors of a share of 40000
