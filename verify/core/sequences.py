"""Theory of Gaussian indices applied to token sequences: where it holds, and with which features
treated exactly (theory note, section 10).
"""

from __future__ import annotations

import dataclasses

from numeric.problem.problem import Problem
from verify.core.data import DataKind
from verify.core.run import Run

#: n/d from which training on token sequences is compared with the theory. The noise in S is a sum
#: of n products of tokens and is semicircular up to d/n. Excess errors are 3 % above the theory at
#: n = 2.5 d, 2 % at 5 d and 0.5 % at 10 d, for every d (docs/development/performance.md).
LEAST_RATIO = 10
#: features treated exactly on sequences; twice as many change the excess error by less than 2e-3
LEADING = 8


def leading_feature_count(dim: int) -> int:
    """Return the number of features treated exactly; at least half of all stay Gaussian."""
    return min(LEADING, dim // 2)


def problem_with_exact_features(run: Run) -> Problem:
    """Return the problem of a run; on token sequences the leading features are treated exactly."""
    leading = leading_feature_count(run.dim) if run.data is DataKind.SEQUENCES else 0
    return dataclasses.replace(run.problem, leading=leading)


def gaussian_theory_applies(data: DataKind, dim: int, samples: float) -> bool:
    """Return whether the theory of Gaussian indices holds for such data.

    Args:
        data: kind of data.
        dim: d.
        samples: n.
    """
    return data is not DataKind.SEQUENCES or samples >= LEAST_RATIO * dim
