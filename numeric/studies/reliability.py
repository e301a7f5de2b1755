"""Reliability: how often the predicted class is right, by the probability that the student states.

A student is calibrated if both are equal in every bin (Guo et al., arXiv 1706.04599).
"""

from typing import NamedTuple

import numpy as np

from attention_erm.runtime.errors import InvalidParameter
from numeric.channel.classification import reliability_bins
from numeric.maths.domain import integer, require
from numeric.model import draw_values
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution, require_solution

BINS, MOST_BINS = 10, 100
NO_LABELS = 1e-12  # share of the labels in a bin below which it has no mean


class ReliabilityBin(NamedTuple):
    """Labels whose predicted class has a stated probability between two ends.

    Attributes:
        low: lower end.
        high: upper end.
        share: share of these labels.
        confidence: their mean stated probability; NaN if there are none.
        accuracy: share of them that are predicted; NaN if there are none.
    """

    low: float
    high: float
    share: float
    confidence: float
    accuracy: float


class ReliabilityCurve(NamedTuple):
    """Reliability of a student, in bins of equal width."""

    solution: Solution
    bins: tuple[ReliabilityBin, ...]

    @property
    def calibration_error(self) -> float:
        """Mean distance between confidence and accuracy of a bin, weighted by its labels."""
        used = (one for one in self.bins if one.share > NO_LABELS)
        return sum(one.share * abs(one.confidence - one.accuracy) for one in used)


def reliability(solution: Solution, bins: int = BINS) -> ReliabilityCurve:
    """Return how often the predicted class is right, by its stated probability.

    Args:
        solution: solution of a model whose loss states probabilities of classes.
        bins: number of bins, from the least probability that a predicted class can have up to 1.

    Raises:
        InvalidParameter: the model states no probabilities, or the number of bins is not from 1 to
            MOST_BINS.
        NotConverged: the solution has no values.
    """
    require_solution(solution)
    bins = integer("bins", bins)
    require(1 <= bins <= MOST_BINS, "bins", bins, f"must lie from 1 to {MOST_BINS}", "use 10")
    problem = solution.problem
    require_probabilities(problem)
    most_classes = max(map(len, draw_values(problem.model, problem.settings)))
    edges = np.linspace(1 / most_classes, 1, bins + 1)
    solution.unwrap()
    t = solution.norms.t if solution.norms else 0.0
    found = reliability_bins(problem, Overlaps(solution.m, solution.q, solution.V, t=t), edges)
    return ReliabilityCurve(
        solution,
        tuple(
            ReliabilityBin(
                float(low), float(high), float(share), *_means(share, confidence, accuracy)
            )
            for low, high, (share, confidence, accuracy) in zip(
                edges[:-1], edges[1:], found.T, strict=True
            )
        ),
    )


def _means(share: float, *sums: float) -> tuple[float, ...]:
    return tuple(float(one / share) if share > NO_LABELS else float("nan") for one in sums)


def require_probabilities(problem: Problem) -> None:
    """Check that the loss of a model states probabilities of classes.

    Raises:
        InvalidParameter: it does not.
    """
    if "calibration" not in problem.label_quantities:
        rule = "states no probabilities of classes"
        way_out = "use e.g. drawn_attention_cross_entropy"
        raise InvalidParameter("model", problem.model, rule, way_out)
