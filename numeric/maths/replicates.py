"""Confidence intervals from independent replicates."""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

Vector = NDArray[np.float64]
CONFIDENCE = 0.95


def half_width(runs: Vector) -> Vector:
    """Half the width of the confidence interval of the mean of independent replicates, along the first axis."""
    return student.ppf((1 + CONFIDENCE) / 2, len(runs) - 1) / np.sqrt(len(runs)) * runs.std(axis=0, ddof=1)
