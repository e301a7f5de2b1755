"""Confidence intervals from independent replicates."""

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

Vector = NDArray[np.float64]
CONFIDENCE = 0.95


class Estimate(NamedTuple):
    """Value with its error, half the width of an interval."""

    value: float
    error: float


def half_width(runs: Vector) -> Vector:
    """Return half the width of the confidence interval of the mean over the first axis."""
    quantile = scipy.special.stdtrit(len(runs) - 1, (1 + CONFIDENCE) / 2)
    return quantile / np.sqrt(len(runs)) * runs.std(axis=0, ddof=1)


def p_value(distance: float, drawn: Vector) -> float:
    """Return the probability that what is drawn from a law is as far from it, one included.

    Args:
        distance: distance of what was found from the law.
        drawn: distances of what was drawn from the law, shape (draws,).
    """
    return float(1 + np.sum(drawn >= distance)) / (1 + len(drawn))
