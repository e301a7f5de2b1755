"""Slopes of measured errors along n, with intervals from the scatter between runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from verify.core.intervals import Interval, bootstrap_means, student_interval


def log_slope(samples: Sequence[int], errors: np.ndarray) -> np.ndarray:
    """Least-squares slopes of log(error) against log(n), one for each row of `errors` (...,
    points).
    """
    x = np.log(np.asarray(samples, float))
    centred = x - x.mean()
    return np.asarray(np.log(errors) @ centred / (centred @ centred))


def trained_slope(
    samples: Sequence[int], errors: np.ndarray, rng: np.random.Generator, level: float
) -> Interval:
    """Slope of the mean errors of runs, `errors` of shape (runs, points), whole runs drawn: they
    share data along n.
    """
    value = float(log_slope(samples, errors.mean(axis=0)))
    return student_interval(
        value, log_slope(samples, bootstrap_means(errors, rng)), len(errors), level
    )
