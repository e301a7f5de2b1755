"""Where, and how, the theory of n ~ d^2 Gaussian indices is asked for token sequences (theory note,
section 10).
"""

from __future__ import annotations

import dataclasses

from numeric.problem.problem import Problem
from verify.core.data import DataKind
from verify.core.run import Run

#: Samples for each dimension from which the theory of n ~ d^2 is judged on token sequences. The
#: noise in S, a sum of n products of tokens, is semicircular up to d/n: excess errors are 3 per
#: cent off at n = 2.5 d, 2 at 5 d, .5 at 10 d, whatever d (docs/development/performance.md).
LEAST_RATIO = 10
#: features kept exactly beside sequences: with twice as many the excess error changes by less than
#: 2e-3
LEADING = 8


def leading_feature_count(dim: int) -> int:
    """Number of features whose indices keep their law: some are left for the Gaussian rest."""
    return min(LEADING, dim // 2)


def problem_with_exact_features(run: Run) -> Problem:
    """The problem of a run with the law of its own indices: on token sequences with leading
    features kept exactly.
    """
    leading = leading_feature_count(run.dim) if run.data is DataKind.SEQUENCES else 0
    return dataclasses.replace(run.problem, leading=leading)


def gaussian_theory_applies(data: DataKind, dim: int, samples: float) -> bool:
    """Return whether the theory holds for indices of such data at so many samples."""
    return data is not DataKind.SEQUENCES or samples >= LEAST_RATIO * dim
