"""How far trained errors lie from the theory's, and what their slopes along n tend to as d grows, with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from verify.core.intervals import Interval, bootstrap_means, student_interval


def trained_level(
    theory: Sequence[float], errors: np.ndarray, rng: np.random.Generator, level: float
) -> Interval:
    """Mean over the points of log(mean error/theory), whole runs drawn."""
    expected = np.log(np.asarray(theory))
    value = float((np.log(errors.mean(axis=0)) - expected).mean())
    drawn = (np.log(bootstrap_means(errors, rng)) - expected).mean(axis=1)
    return student_interval(value, drawn, len(errors), level)


def limit_weights(dims: Sequence[int], power: float, half_widths: Sequence[float]) -> np.ndarray:
    """Weights w with s = sum_k w_k s_k the limit of the weighted least-squares fit s_k = s + c d_k^-power."""
    design = np.stack([np.ones(len(dims)), np.asarray(dims, float) ** -power], axis=1)
    importance = np.asarray(half_widths, float) ** -2.0
    return np.asarray(np.linalg.solve((design.T * importance) @ design, design.T * importance)[0])


def limit_of_slopes(
    dims: Sequence[int],
    slopes: Sequence[Interval],
    power: float,
    theory: Sequence[float],
    exponent: float,
) -> Interval:
    """Limit of trained slopes at several sizes for a slowest correction d^-power, without their theory.

    What the same fit makes of the theory's slopes at the same sizes misses the exponent by what corrections beyond the slowest
    add: the interval is widened by that.
    """
    half_widths = [slope.half_width for slope in slopes]
    weights = limit_weights(dims, power, half_widths)
    value = float(weights @ [slope.value for slope in slopes])
    scatter = math.sqrt(float(np.square(weights * half_widths).sum()))
    missed = abs(float(weights @ np.asarray(theory)) - exponent)
    return Interval(value, value - scatter, value + scatter).widened(missed)
