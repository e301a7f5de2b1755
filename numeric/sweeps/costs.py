"""About how long the theory takes, as measured by `python -m benchmarks.jobs.sweeps costs` (benchmarks/jobs/sweeps.py)."""

from __future__ import annotations

from numeric.problem.problem import Parametrisation, Problem

#: Seconds of a point along a curve on one core.
QUADRATURE, SAMPLED, FITTED, BLOCKS, CLOSED = 0.15, 4.0, 4.0, 1.0, 0.05


def seconds_of_point(problem: Problem) -> float:
    """By what makes a point slow: how its channel is averaged, and rays on the branch that follows labels."""
    if problem.channel == "closed":
        return CLOSED
    if problem.channel != "tied softmax":
        return BLOCKS
    if problem.follows_label:
        return FITTED
    return SAMPLED if problem.tokens > 2 or problem.parametrisation is Parametrisation.GENERAL else QUADRATURE
