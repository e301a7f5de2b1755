"""Trained errors over the theory's, and limits of trained slopes along d, with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from verify.core.intervals import (
    Interval,
    bootstrap_means,
    precisions,
    student_interval,
)


def trained_level(
    theory: Sequence[float], errors: np.ndarray, rng: np.random.Generator, level: float
) -> Interval:
    """Return the mean over the points of log(mean error/theory); the bootstrap draws whole runs.

    Args:
        theory: errors of the theory, one for each point.
        errors: trained errors, shape (runs, points).
        rng: source of the bootstrap.
        level: probability of the interval.
    """
    expected = np.log(np.asarray(theory))
    value = float((np.log(errors.mean(axis=0)) - expected).mean())
    drawn = (np.log(bootstrap_means(errors, rng)) - expected).mean(axis=1)
    return student_interval(value, drawn, len(errors), level)


def limit_weights(dims: Sequence[int], power: float, half_widths: Sequence[float]) -> np.ndarray:
    """Return weights w of the limit s = sum_k w_k s_k of the weighted least-squares fit s_k = s + c
    d_k^-power.

    Args:
        dims: sizes d_k.
        power: power of the correction.
        half_widths: of the intervals of s_k.
    """
    design = np.stack([np.ones(len(dims)), np.asarray(dims, float) ** -power], axis=1)
    importance = precisions(half_widths)
    return np.asarray(np.linalg.solve((design.T * importance) @ design, design.T * importance)[0])


def limit_of_slopes(
    dims: Sequence[int],
    slopes: Sequence[Interval],
    power: float,
    theory: Sequence[float],
    exponent: float,
) -> Interval:
    """Return the limit of trained slopes for a slowest correction d^-power.

    The same fit to the theory's slopes misses the exponent because of faster corrections; the
    interval is widened by this difference.

    Args:
        dims: sizes d.
        slopes: trained slopes at these sizes.
        power: power of the slowest correction.
        theory: slopes of the theory at these sizes.
        exponent: derived exponent.
    """
    half_widths = [slope.half_width for slope in slopes]
    weights = limit_weights(dims, power, half_widths)
    value = float(weights @ [slope.value for slope in slopes])
    scatter = math.sqrt(float(np.square(weights * half_widths).sum()))
    missed = abs(float(weights @ np.asarray(theory)) - exponent)
    return Interval(value, value - scatter, value + scatter).widened(missed)
