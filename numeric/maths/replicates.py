"""Values with their errors, and confidence intervals from independent replicates."""

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

Vector = NDArray[np.float64]
CONFIDENCE = 0.95


class Estimate(NamedTuple):
    """A value and half the width of its interval."""

    value: float
    error: float


def half_width(runs: Vector) -> Vector:
    """Half the width of the confidence interval of the mean of independent replicates, along the first axis."""
    return (
        scipy.special.stdtrit(len(runs) - 1, (1 + CONFIDENCE) / 2)
        / np.sqrt(len(runs))
        * runs.std(axis=0, ddof=1)
    )
