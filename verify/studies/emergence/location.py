"""The number of samples at which a feature emerges in training, with an interval.

Of one feature two curves along n are measured: v_k^T S v_k / s_k and the squared overlap of eigenvectors. The theory's, moved along
log(n), are fitted to the trained ones within an octave of the theory's n_k on either side: it is the n_k of training by as much later.
The same fit to the model's means gives what finite size alone moves them by, which is subtracted. Unlike a level passed between two
numbers of samples, the fit does not take a jump between them for knowledge of where it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from verify.core.intervals import Interval, bootstrap_means, student_interval

#: of the bootstrap: the ends of its intervals then scatter by 3 per cent of their width
_DRAWS = 2000
OCTAVE = 2.0  #: from n_k/2 to 2 n_k curves are compared, and n_k is looked for
_STEP = 1e-3  #: of log(n) between the shifts tried


def emergence_interval(
    samples: np.ndarray,
    trained: Sequence[np.ndarray],
    model: Sequence[np.ndarray],
    line: tuple[np.ndarray, np.ndarray],
    n_theory: float,
    probability: float,
    seed: int,
) -> Interval | None:
    """n_k of training, None where it is not within an octave of the theory's.

    Args:
        samples: numbers n, increasing, shape (points,).
        trained: both curves of each run at each n, shapes (runs, 2).
        model: those of maps drawn from the theory's model, shapes (maps, 2).
        line: numbers of samples and the theory's curves there, shape (., 2).
        n_theory: the theory's n_k.
        probability: of the interval, from runs drawn again, as wide as Student's of so few runs.
        seed: of these draws.
    """
    rng = np.random.default_rng(seed)
    near = [i for i, n in enumerate(samples) if abs(math.log(n / n_theory)) <= math.log(OCTAVE)]
    shifts = np.arange(-math.log(OCTAVE), math.log(OCTAVE) + _STEP, _STEP)
    curves = _shifted(line, np.log(samples[near]), shifts)
    # Each curve counts by its largest scatter: where a jump has none at one n, it may have some at the same n for another n_k.
    weights = 1 / np.max([model[i].std(axis=0, ddof=1) for i in near], axis=0)

    def fitted(means: np.ndarray) -> np.ndarray:
        """The best shift for each row of means (rows, points, 2)."""
        # |y - f|^2 without |y|^2, which no shift changes
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


def _shifted(
    line: tuple[np.ndarray, np.ndarray], logs: np.ndarray, shifts: np.ndarray
) -> np.ndarray:
    """The theory's curves moved by each shift, at `logs`, shape (shifts, points, 2)."""
    places, values = np.log(line[0]), line[1]
    return np.stack(
        [np.interp(logs - shifts[:, None], places, column) for column in values.T], axis=-1
    )
