"""Relative gaps between trained heads and the theory, extrapolated in the dimension."""

from collections.abc import Callable

import numpy as np

from numeric.problem.problem import Problem
from numeric.saddle.solve import solve
from verify.core.data import DataKind
from verify.core.measure import RunResult, execute
from verify.core.run import Run

QUANTITIES = ("m", "q", "test_error")
LEFT = 2e-3  #: what is left of the relative gap falls like 1/d^2
SIZES = ((40, 8), (80, 4))  # dimensions and numbers of runs


def trained_gaps(
    run_at: Callable[[int, int], Run], theory_of: Callable[[RunResult], Problem]
) -> tuple[np.ndarray, np.ndarray]:
    """Return trained/theory - 1 of QUANTITIES and its standard error, at infinite dimension.

    What falls like 1/d is extrapolated for token sequences. Gaussian-equivalent data have no such
    part in the channel, and the last size is taken.

    Args:
        run_at: run of a dimension and an index.
        theory_of: problem that the run really had.
    """
    gaps, errors = [], []
    for dim, count in SIZES:
        results = [execute(run_at(dim, index)) for index in range(count)]
        ratios = []
        for one in results:
            theory = solve(theory_of(one)).unwrap()
            other = theory.antisymmetric.q if theory.antisymmetric else 0.0
            expected = (theory.m, theory.q + other, theory.test_error)
            ratios.append(
                [getattr(one, n) / x - 1 for n, x in zip(QUANTITIES, expected, strict=True)]
            )
        gaps.append(np.mean(ratios, axis=0))
        errors.append(np.std(ratios, axis=0, ddof=1) / np.sqrt(count))
    if results[0].run.data is DataKind.SEQUENCES:
        return 2 * gaps[1] - gaps[0], np.sqrt(4 * errors[1] ** 2 + errors[0] ** 2)
    return gaps[1], errors[1]
