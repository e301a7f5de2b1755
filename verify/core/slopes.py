"""Slopes of measured errors along n, with intervals from the scatter between runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from verify.core.intervals import Interval, bootstrap_means, student_interval


def octave(middle: float) -> tuple[int, int]:
    """Return both numbers of samples of a slope over a factor of two, around a number."""
    return round(middle / math.sqrt(2)), round(middle * math.sqrt(2))


def log_slope(samples: Sequence[int], errors: np.ndarray) -> np.ndarray:
    """Return the least-squares slopes of log(error) against log(n), one for each row.

    Args:
        samples: numbers n of samples, shape (points,).
        errors: shape (..., points).
    """
    x = np.log(np.asarray(samples, float))
    centred = x - x.mean()
    return np.asarray(np.log(errors) @ centred / (centred @ centred))


def trained_slope(
    samples: Sequence[int], errors: np.ndarray, rng: np.random.Generator, level: float
) -> Interval:
    """Return the slope of the mean errors of runs, with a bootstrap interval over whole runs, which
    share data along n.

    Args:
        samples: numbers n of samples, shape (points,).
        errors: shape (runs, points).
        rng: source of the bootstrap.
        level: confidence level.
    """
    value = float(log_slope(samples, errors.mean(axis=0)))
    return student_interval(
        value, log_slope(samples, bootstrap_means(errors, rng)), len(errors), level
    )
