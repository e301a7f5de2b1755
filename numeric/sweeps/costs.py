"""About how long the theory takes, as measured by `python -m benchmarks.jobs.sweeps costs` (benchmarks/jobs/sweeps.py)."""

from __future__ import annotations

from numeric.problem.problem import Parametrisation, Problem

#: Seconds of a point along a curve on one core.
QUADRATURE, SAMPLED, FITTED, BLOCKS, CLOSED = 0.1, 0.4, 3.0, 2.4, 0.02
WEAK_BELOW, LONGER = (
    5e-3,
    6.0,
)  #: below that, samples have several minima, and rules are refined until jumps are resolved


def seconds_of_point(problem: Problem) -> float:
    """By what makes a point slow: how its channel is averaged, jumps at weak decay, and rays on the branch that follows labels."""
    if problem.channel == "closed":
        return CLOSED
    if problem.channel != "tied softmax":
        return BLOCKS
    if problem.follows_label:
        return FITTED
    kind = (
        SAMPLED
        if problem.tokens > 2 or problem.parametrisation is Parametrisation.GENERAL
        else QUADRATURE
    )
    return kind * (LONGER if problem.lambda_ < WEAK_BELOW else 1.0)
