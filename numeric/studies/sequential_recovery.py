"""Sequential recovery: how much S has of each feature of a power law, and the numbers of samples at which they leave its bulk.

A feature counts from where the middle of its interval passes the threshold, or from where it parts from the bulk, if that is later
(theory note, section 8; arXiv 2509.24914, section 5). Where weight decay sets the threshold n grows like lambda d^(3/2) k^gamma,
where noise fills the bulk like d k^(2 gamma).

Overlaps are those of S = c (Y - b)_+, Y = S0 + delta G: the resolvent of Y is that of S0 at u, so that an eigenvector of S0 has the
spectral density -Im 1/(u - s_k)/pi in Y, inside the bulk and outside (section 4).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from attention_erm.runtime.errors import InvalidParameter, NoAnswer
from numeric.engines.interrupted import attach_partial_result
from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.law import Array, quantile
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution
from numeric.studies.scaling import ScalingPoint, power_law_of, scaling_curve

TOLERANCE = 1e-3  # of log(n): features of real spectra scatter by more


class FeatureOverlaps(NamedTuple):
    """What S has of the first features v_k of S0, shapes (count,).

    `held`: v_k^T S v_k (eigenvalue). `aligned`: squared overlap of v_k with the k-th eigenvector of S, 0 where S has a lower rank.
    """

    held: Array
    aligned: Array


def feature_overlaps(solution: Solution, count: int) -> FeatureOverlaps:
    """The first `count` overlaps at a solved point, inside the bulk and outside, means over the noise as d grows.

    The k-th eigenvector of Y is that of its k-th largest share 1/d of eigenvalues: an outlier's own interval, or a slice of the bulk.

    Raises:
        NotConverged: the solution is none.
        NoAnswer: the target is learned perfectly.
        InvalidParameter: the target is no list of eigenvalues of one weight each, or is learned at both ends of its spectrum.
        OutsideDomain: a density is beyond double precision.
    """
    problem, target = solution.unwrap().problem, solution.seen_target
    if problem.both_ends or not problem.trains_factors:
        raise InvalidParameter(
            "model", problem.model, "has no one threshold that features pass", "use tied_attention"
        )
    if (
        not isinstance(target, Eigenvalues)
        or len(set(target.weights[-count:])) > 1
        or count > len(target.weights)
    ):
        raise InvalidParameter(
            "target",
            target,
            f"has no {count} single features",
            "list its eigenvalues, or ask fewer",
        )
    if solution.q == 0:
        return FeatureOverlaps(np.zeros(count), np.zeros(count))
    if solution.delta == 0:
        raise NoAnswer("S is the target itself: every overlap is one")
    v, b, c = solution.delta**2, solution.b, solution.c
    cut, top = b if solution.quantile is None else max(b, solution.quantile), target.upper_edge(v)
    (low, _), *_ = target.support(v)
    edges = [
        top,
        *(quantile(target, v, k * target.weights[-1], low, top) for k in range(1, count + 1)),
    ]
    slices = zip(edges[1:], edges, strict=False)
    aligned = [
        target.feature_parts(v, b, max(cut, lower), upper)[0][-k]
        for k, (lower, upper) in enumerate(slices, 1)
    ]
    return FeatureOverlaps(
        c * target.feature_parts(v, b, cut, np.inf)[1][: -count - 1 : -1], np.array(aligned)
    )


@dataclass(frozen=True)
class RecoveredFeature:
    """Feature number `feature` (1 is the largest), an `eigenvalue` of S0, leaves the bulk between two numbers of samples.

    `after` is None if it has left at the first solved point already, `before` if it has not at the last; both if no point is solved.
    """

    feature: int
    eigenvalue: float
    after: float | None
    before: float | None


def sequential_recovery(
    problem: Problem,
    points: Sequence[ScalingPoint],
    features: Iterable[int],
    tolerance: float = TOLERANCE,
) -> list[RecoveredFeature]:
    """The `features` of these numbers, each between neighbouring `points` first, then by bisection in log(n) to `tolerance`.

    Where a feature returns into the bulk, as it may at the interpolation peak, this is the first time that the points show it out.
    Bisection ends early, at a wider interval, where a point is not solved.

    Raises:
        InvalidParameter: the target is no power law.
        OutsideDomain: the best multiple of the target cannot be found.
        Interrupted: with the features that were found.
    """
    known = [point for point in points if point.solution.trusted]
    eigenvalues = power_law_of(problem).eigenvalues[::-1]
    found: list[RecoveredFeature] = []
    with attach_partial_result(lambda: found):
        for k in features:
            found.append(_recovered(problem, known, k, eigenvalues[k - 1], tolerance))
    return found


def _recovered(
    problem: Problem, known: list[ScalingPoint], feature: int, eigenvalue: float, tolerance: float
) -> RecoveredFeature:
    """Every point solved on the way joins the known ones: it bounds the next features, too."""
    while True:
        first = next((k for k, point in enumerate(known) if point.features > feature - 0.5), None)
        if first is None:
            return RecoveredFeature(feature, eigenvalue, known[-1].samples if known else None, None)
        if first == 0:
            return RecoveredFeature(feature, eigenvalue, None, known[0].samples)
        last, next_ = known[first - 1], known[first]
        middle = _between(problem, last, next_, tolerance)
        if middle is None:
            return RecoveredFeature(feature, eigenvalue, last.samples, next_.samples)
        known.insert(first, middle)


def _between(
    problem: Problem, before: ScalingPoint, after: ScalingPoint, tolerance: float
) -> ScalingPoint | None:
    """The point in the middle, none if both are close enough or it is not solved."""
    if math.log(after.samples / before.samples) < tolerance:
        return None
    start = after.solution if after.solution.q > 0 else None
    (point,) = scaling_curve(problem, [math.sqrt(before.samples * after.samples)], start=start)
    return point if point.solution.trusted else None
