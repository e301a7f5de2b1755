"""Estimated run time of the theory, calibrated with `python -m benchmarks.jobs.sweeps costs`
(benchmarks/jobs/sweeps.py).
"""

from __future__ import annotations

from numeric.problem.problem import Parametrisation, Problem

#: Seconds for a point of a curve on one core.
QUADRATURE, SAMPLED, FITTED, BLOCKS, CLOSED = 0.1, 0.4, 3.0, 2.4, 0.02
#: Weight decay below which samples have several minima, so that rules are refined until jumps are
#: resolved, and the factor by which a point then takes longer.
WEAK_BELOW, LONGER = 5e-3, 6.0


def seconds_of_point(problem: Problem) -> float:
    """Return the estimated time of a point, in seconds on one core.

    It depends on the average over the channel, on jumps at weak decay, and on the fitted minimum of
    each sample.
    """
    if problem.channel == "closed":
        return CLOSED
    if problem.channel != "tied softmax":
        return BLOCKS
    if problem.follows_label:
        return FITTED
    sampled = problem.tokens > 2 or problem.parametrisation is Parametrisation.GENERAL
    return (SAMPLED if sampled else QUADRATURE) * (LONGER if problem.lambda_ < WEAK_BELOW else 1.0)
