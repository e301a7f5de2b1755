"""Number of samples at which a feature emerges in training, with an interval.

Two curves along n are measured for each feature: v_k^T S v_k / s_k and the squared overlap of
eigenvectors. The theory's curves are shifted along log(n) and fitted to the trained ones within an
octave on either side of the theory's n_k; the shift gives the n_k of training. The same fit to the
means of the theory's model gives the shift by finite size, which is subtracted. The fit does not
need a point inside the jump.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from verify.core.intervals import Interval, bootstrap_means, student_interval

#: bootstrap samples; the ends of intervals then scatter by 3 % of their width
_DRAWS = 2000
OCTAVE = 2.0  #: curves are compared from n_k/OCTAVE to n_k*OCTAVE
_STEP = 1e-3  #: between two shifts of log(n)


def emergence_interval(
    samples: np.ndarray,
    trained: Sequence[np.ndarray],
    model: Sequence[np.ndarray],
    line: tuple[np.ndarray, np.ndarray],
    n_theory: float,
    probability: float,
    seed: int,
) -> Interval | None:
    """Return n_k of training, None if it is not within an octave of the theory's.

    Args:
        samples: numbers n, increasing, shape (points,).
        trained: both curves of each run at each n, arrays of shape (runs, 2).
        model: both curves of maps drawn from the theory's model, arrays of shape (maps, 2).
        line: numbers of samples, and the theory's curves there, shape (., 2).
        n_theory: n_k of the theory.
        probability: probability of the interval, bootstrap over runs with the width of Student's.
        seed: seed of the bootstrap.
    """
    rng = np.random.default_rng(seed)
    near = [i for i, n in enumerate(samples) if abs(math.log(n / n_theory)) <= math.log(OCTAVE)]
    shifts = np.arange(-math.log(OCTAVE), math.log(OCTAVE) + _STEP, _STEP)
    # the theory's curves moved by each shift, shape (shifts, points, 2)
    moved, known = np.log(samples[near]) - shifts[:, None], np.log(line[0])
    curves = np.stack([np.interp(moved, known, column) for column in line[1].T], axis=-1)
    # weight by the largest scatter: a jump has no scatter at some n, but has it at the same n for
    # another n_k
    weights = 1 / np.max([model[i].std(axis=0, ddof=1) for i in near], axis=0)

    def fitted(means: np.ndarray) -> np.ndarray:
        """Return the best shift for each row of means (rows, points, 2)."""
        # |y - f|^2 without |y|^2, which does not depend on the shift
        products = np.einsum("rpc,spc->rs", means * weights**2, curves)
        return np.asarray(
            shifts[np.argmin(np.sum((curves * weights) ** 2, axis=(1, 2)) - 2 * products, axis=1)]
        )

    (found, expected) = fitted(
        np.array([[kind[i].mean(axis=0) for i in near] for kind in (trained, model)])
    )
    if not shifts[0] < found < shifts[-1]:
        return None
    again = [bootstrap_means(trained[i], rng, _DRAWS) for i in near]
    runs = min(len(trained[i]) for i in near)
    ends = student_interval(
        found - expected, fitted(np.stack(again, axis=1)) - expected, runs, probability
    )
    return Interval(*(n_theory * math.exp(shift) for shift in ends))
