"""Sequential recovery: overlaps of S with each feature of a power law, and the numbers of samples
at which features leave the bulk of S.

A feature counts as recovered once the centre of its interval exceeds the threshold, or once it
separates from the bulk, if that happens later (theory note, section 8; arXiv 2509.24914, section
5). If weight decay sets the threshold, n increases as lambda d^(3/2) k^gamma; if noise fills the
bulk, as d k^(2 gamma).

Overlaps belong to S = c (Y - b)_+ with Y = S0 + delta G. The resolvent of Y equals that of S0 at u.
Therefore an eigenvector of S0 has the spectral density -Im 1/(u - s_k)/pi in Y, inside the bulk and
outside (section 4).
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
from numeric.studies.spectrum import least_learned_position

TOLERANCE = 1e-3  # of log(n); features of finite spectra fluctuate by more


class FeatureOverlaps(NamedTuple):
    """Overlaps of S with the first eigenvectors v_k of S0.

    Attributes:
        held: v_k^T S v_k, eigenvalue, shape (count,).
        aligned: squared overlap of v_k with the k-th eigenvector of S, shape (count,); 0 if the
            rank of S is lower.
    """

    held: Array
    aligned: Array


def feature_overlaps(solution: Solution, count: int) -> FeatureOverlaps:
    """Return the first overlaps of a solution, averaged over the noise in the limit of large d.

    The k-th eigenvector of Y corresponds to the k-th fraction 1/d of the eigenvalues: the interval
    of an outlier, or a slice of the bulk.

    Args:
        solution: the solution.
        count: number of features.

    Raises:
        NotConverged: the solution has not converged.
        NoAnswer: the target is learned perfectly.
        InvalidParameter: the target is not a list of eigenvalues with equal weights, or eigenvalues
            of either sign are learned.
        OutsideDomain: a density is beyond double precision.
    """
    problem, target = solution.unwrap().problem, solution.effective_target
    problem.require_gaussian_norms("the order in which features are learned")
    if problem.is_indefinite or not problem.trains_factors:
        raise InvalidParameter(
            "model", problem.model, "has no one threshold that features pass", "use tied_attention"
        )
    if (
        not isinstance(target, Eigenvalues)
        or len(set(target.weights[-count:])) > 1
        or count > len(target.weights)
    ):
        rule, way_out = f"has no {count} single features", "list its eigenvalues, or ask fewer"
        raise InvalidParameter("target", target, rule, way_out)
    if solution.q == 0:
        return FeatureOverlaps(np.zeros(count), np.zeros(count))
    if solution.delta == 0:
        raise NoAnswer("S is the target itself: every overlap is one")
    v, b = solution.delta**2, solution.b
    cut, top, weight = least_learned_position(solution), target.upper_edge(v), target.weights[-1]
    (lowest, _), *_ = target.support(v)
    aligned, upper = np.zeros(count), top
    for k in range(1, count + 1):
        lower = quantile(target, v, k * weight, lowest, top)
        aligned[k - 1] = target.feature_parts(v, b, max(cut, lower), upper)[0][-k]
        upper = lower
    moments = target.feature_parts(v, b, cut, np.inf)[1][: -count - 1 : -1]
    return FeatureOverlaps(solution.c * moments, aligned)


@dataclass(frozen=True)
class RecoveredFeature:
    """Feature that leaves the bulk between two numbers of samples.

    Attributes:
        feature: number k of the feature; 1 is the largest.
        eigenvalue: its eigenvalue of S0.
        after: last n at which it is in the bulk; None if it has left at the first point.
        before: first n at which it has left; None if it is still in the bulk at the last point.
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
    """Find the numbers of samples at which features leave the bulk.

    Each is bracketed by neighbouring points, then by bisection in log(n). If a feature returns into
    the bulk, as it may at the interpolation peak, the first crossing is returned. If a point does
    not converge, bisection ends with a wider interval.

    Args:
        problem: problem with a power-law target; its alpha is not used.
        points: results of `scaling_curve`.
        features: numbers k of the features; 1 is the largest.
        tolerance: width of the final interval in log(n).

    Raises:
        InvalidParameter: the target is not a power law.
        OutsideDomain: the best multiple of the target is not found.
        Interrupted: by Ctrl-C; contains the features found until then.
    """
    known = [point for point in points if point.solution.trusted]
    eigenvalues = power_law_of(problem).eigenvalues[::-1]
    found: list[RecoveredFeature] = []
    with attach_partial_result(lambda: found):
        for k in features:
            after, before = _bracket(problem, known, k, tolerance)
            found.append(RecoveredFeature(k, eigenvalues[k - 1], after, before))
    return found


def _bracket(
    problem: Problem, known: list[ScalingPoint], feature: int, tolerance: float
) -> tuple[float | None, float | None]:
    """Return the numbers of samples of the two points between which a feature leaves the bulk.

    Every new point is inserted into `known`, because it also brackets the next features.
    """
    while True:
        first = next((k for k, point in enumerate(known) if point.features > feature - 0.5), None)
        if first is None:
            return known[-1].samples if known else None, None
        after = known[first]
        if first == 0:
            return None, after.samples
        before = known[first - 1]
        if math.log(after.samples / before.samples) >= tolerance:
            middle = math.sqrt(before.samples * after.samples)
            start = after.solution if after.solution.q > 0 else None
            (point,) = scaling_curve(problem, [middle], start=start)
            if point.solution.trusted:
                known.insert(first, point)
                continue
        return before.samples, after.samples
