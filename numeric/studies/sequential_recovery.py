"""Sequential recovery: the numbers of samples at which the features of a power law leave the bulk of S, one after the other.

A feature counts from where the middle of its interval passes the threshold, or from where it parts from the bulk, if that is later
(theory note, section 8; arXiv 2509.24914, section 5). Where weight decay sets the threshold n grows like lambda d^(3/2) k^gamma,
where noise fills the bulk like d k^(2 gamma).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from numeric.problem.problem import Problem
from numeric.studies.scaling import ScalingPoint, power_law_of, scaling_curve

TOLERANCE = 1e-3  # of log(n): features of real spectra scatter by more


@dataclass(frozen=True)
class Recovered:
    """Feature number `feature` (1 is the largest), an `eigenvalue` of S0, leaves the bulk between two numbers of samples.

    `after` is None if it has left at the first solved point already, `before` if it has not at the last; both if no point is solved.
    """

    feature: int
    eigenvalue: float
    after: float | None
    before: float | None


def sequential_recovery(problem: Problem, points: Sequence[ScalingPoint], features: Iterable[int]) -> list[Recovered]:
    """The `features` of these numbers, each between neighbouring `points` first, then by bisection in log(n) to TOLERANCE.

    Where a feature returns into the bulk, as it may at the interpolation peak, this is the first time that the points show it out.
    Bisection ends early, at a wider interval, where a point is not solved.

    Raises:
        InvalidParameter: the target is no power law.
        OutsideDomain: the best multiple of the target cannot be found.
    """
    known = [point for point in points if point.solution.trusted]
    eigenvalues = power_law_of(problem).eigenvalues[::-1]
    return [_recovered(problem, known, k, eigenvalues[k - 1]) for k in features]


def _recovered(problem: Problem, known: list[ScalingPoint], feature: int, eigenvalue: float) -> Recovered:
    """Every point solved on the way joins the known ones: it bounds the next features, too."""
    while True:
        first = next((k for k, point in enumerate(known) if point.features > feature - 0.5), None)
        if first is None:
            return Recovered(feature, eigenvalue, known[-1].samples if known else None, None)
        if first == 0:
            return Recovered(feature, eigenvalue, None, known[0].samples)
        last, next_ = known[first - 1], known[first]
        middle = _between(problem, last, next_)
        if middle is None:
            return Recovered(feature, eigenvalue, last.samples, next_.samples)
        known.insert(first, middle)


def _between(problem: Problem, before: ScalingPoint, after: ScalingPoint) -> ScalingPoint | None:
    """The point in the middle, none if both are close enough or it is not solved."""
    if math.log(after.samples / before.samples) < TOLERANCE:
        return None
    start = after.solution if after.solution.q > 0 else None
    (point,) = scaling_curve(problem, [math.sqrt(before.samples * after.samples)], start=start)
    return point if point.solution.trusted else None
