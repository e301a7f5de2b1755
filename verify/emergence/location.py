"""The number of samples at which a feature emerges in training, with an interval.

It is where the squared overlap of the feature with its eigenvector, averaged over runs, passes the level that the theory's own has at
its n_k: half of an outlier's where the threshold hides it, other values where it parts from a bulk. Between the numbers of samples
trained the overlap is interpolated in log(n). The same interpolation of the model's means misses the theory's n_k by the bend between
these numbers and by what finite size does to the means; this is subtracted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from verify.exponents.slopes import student_interval
from verify.judging.crossing import Interval

_DRAWS = 2000  #: of the bootstrap: the ends of its intervals then scatter by 3 per cent of their width


def emergence_interval(
    samples: Sequence[int],
    trained: Sequence[np.ndarray],
    model: Sequence[np.ndarray],
    level: float,
    n_theory: float,
    probability: float,
    seed: int,
) -> Interval | None:
    """N at which trained overlaps pass the level, None where they do not between the first and the last of `samples`.

    Args:
        samples: numbers n, increasing.
        trained: squared overlaps at each n, one for each run.
        model: those of maps drawn from the theory's model.
        level: of the theory at its own n_k.
        n_theory: that n_k.
        probability: of the interval, from runs and maps drawn again, as wide as Student's of so few runs.
        seed: of these draws.
    """
    logs, rng = np.log(np.asarray(samples, float)), np.random.default_rng(seed)
    found, expected = (_passes(logs, _means(values, rng), level) for values in (trained, model))
    if not logs[0] < found[0] < logs[-1]:
        return None
    shifts = found - expected
    interval = student_interval(float(shifts[0]), shifts[1:], min(map(len, trained)), probability)
    return Interval(*(n_theory * math.exp(shift) for shift in interval))


def _means(values: Sequence[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """Means at each n, then those of values drawn again, shape (1 + _DRAWS, points)."""
    columns = [[x.mean(), *rng.choice(x, (_DRAWS, len(x))).mean(axis=1)] for x in values]
    return np.array(columns).T


def _passes(logs: np.ndarray, means: np.ndarray, level: float) -> np.ndarray:
    """Where each row, made increasing halfway between its record from the left and from the right, passes the level; else an end."""
    left = np.maximum.accumulate(means, axis=1)
    right = np.minimum.accumulate(means[:, ::-1], axis=1)[:, ::-1]
    return np.array([np.interp(level, row, logs) for row in (left + right) / 2])
