"""Where the test error comes from: overfitting, underfitting, approximation, mismatch, and the label noise (theory note, section 7).

The best a student can do with infinitely many samples is a multiple c* of the target. The distance of S from it splits exactly:

- overfitting: energy of S in eigenvectors that stand for noise, less what they know of unlearned features;
- underfitting: energy of the unlearned features of c* S0, less what the noisy eigenvectors know of them: S holds `gain` times them;
- approximation: the rest, learned features with a wrong eigenvalue or direction.

Where noisy eigenvectors know nothing of the target (gain 0) these are the energy of S in the noise and c*^2 s_k^2; where many weak
features fill the lowest interval together, S holds much of them without any having left it. What noisy eigenvectors know of learned
features counts as approximation, which it can make slightly negative.

Which eigenvectors of S stand for features is a matter of order: of those above the threshold the first `features` (a share of all)
do, and they are matched with the largest eigenvalues of the target. For a list of eigenvalues these are the ones that have left the
lowest interval of the support of Y; for the Marchenko-Pastur target it is its rank kappa0, which is the mass of the upper
interval once the law has split in two, and is kept as the count where both have merged.

The excess test error is this distance times a rate: to leading order the slope of the error in q, as it is stationary along c S0.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.law import Target, energy_above, quantile
from numeric.maths.domain import OutsideDomain
from numeric.model import float64 as generated
from numeric.prediction.prediction import best_prediction, prediction_of
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Parametrisation, Problem
from numeric.problem.solution import Solution, require_solution
from numeric.saddle.estimator import estimator_of, learned_overlaps

#: Of q0 in features that are not learned: below it their energy, a difference, has fewer than six digits.
LEAST_SHARE = 1e-10
_ROUNDED = 4e-15  # relative, of the terms of a part, whose differences are zero up to that


class DistanceParts(NamedTuple):
    """Parts of ||S - c* S0||^2/d (eigenvalue^2), the gain of noisy eigenvectors, and that distance."""

    overfitting: float
    underfitting: float
    approximation: float
    gain: float
    distance: float


@dataclass(frozen=True)
class Decomposition:
    """Parts of ||S - c* S0||^2/d (eigenvalue^2), and of the test error (unit loss per sample).

    distance = overfitting + underfitting + approximation; test_error = least + mismatch + rate * distance, with `least` the error of
    the best possible predictor E[y | X], `mismatch` what c* S0 adds to it, and `rate` = excess/distance (0 where both vanish).
    """

    solution: Solution
    c_star: float
    overfitting: float
    underfitting: float
    approximation: float
    gain: float
    distance: float
    least: float
    mismatch: float
    rate: float

    @property
    def excess(self) -> dict[str, float]:
        """Overfitting, underfitting and approximation in units of the test error: with `least` and `mismatch` they add up to it."""
        return {
            name: self.rate * getattr(self, name)
            for name in ("overfitting", "underfitting", "approximation")
        }


def decompose(solution: Solution) -> Decomposition:
    """Split the error of a solved point.

    Raises:
        InvalidParameter: no Solution is given.
        NotConverged: the solution is none.
        OutsideDomain: an average cannot be resolved in double precision.
        ValueError: direct training, where no eigenvalue is left out, or leading features kept exactly.

    >>> from attention_erm import MarchenkoPastur, Problem, decompose, solve
    >>> parts = decompose(solve(Problem(alpha=1, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5)))
    >>> round(parts.rate * parts.overfitting, 4), round(parts.rate * parts.approximation, 4)
    (0.0015, 0.0264)
    >>> abs(parts.least + parts.mismatch + parts.rate * parts.distance - parts.solution.test_error) < 1e-5
    True
    """
    require_solution(solution)
    problem = solution.unwrap().problem
    if problem.leading:
        raise ValueError(
            f"leading = {problem.leading}: test errors are split for Gaussian indices only; use 0"
        )
    prediction, best = prediction_of(problem), best_prediction(problem)
    c_star, at_best = prediction.best_multiple()
    parts = distance_parts(solution, c_star)
    test_error, _ = prediction.test_error(Overlaps(solution.m, solution.q, solution.V))
    return Decomposition(
        solution=solution,
        c_star=c_star,
        **parts._asdict(),
        least=best.least_test_error(),
        mismatch=best.mismatch(c_star),
        rate=(test_error - at_best) / parts.distance if parts.distance else 0.0,
    )


def distance_parts(solution: Solution, c_star: float) -> DistanceParts:
    """Split the distance of a solved S from a multiple of the target; leading features may be kept exactly.

    Raises:
        NotConverged: the solution is none.
        OutsideDomain: an average cannot be resolved in double precision.
        ValueError: direct training, where no eigenvalue is left out.
    """
    problem = solution.unwrap().problem
    if not problem.trains_factors:
        direct = problem.parametrisation is not Parametrisation.FACTORISED
        name, value = (
            ("parametrisation", str(problem.parametrisation))
            if direct
            else ("model", problem.model)
        )
        rule = "trains the matrix itself, which leaves no eigenvalue out"
        raise InvalidParameter(name, value, rule, "use one that trains factors")
    ends = [_learned_features(solution, end) for end in problem.ends(solution.seen_target)]
    q_top, q0_top, hidden = (
        sum(getattr(end, name) for end in ends) for name in ("q", "q0", "hidden")
    )
    others = problem.q0 - q0_top
    if hidden and others < LEAST_SHARE * problem.q0:
        raise OutsideDomain(
            "what is not learned of the target is lost in the rounding of its second moment: leave it out"
        )
    gain = hidden / others if hidden else 0.0
    over, under, approximation, distance = map(
        float,
        generated.decomposition(solution.m, solution.q, problem.q0, q_top, q0_top, gain, c_star),
    )
    rounding = _ROUNDED * (problem.q0 * c_star**2 + 2 * abs(solution.m * c_star) + solution.q)
    over, under, approximation = (
        part if abs(part) > rounding else 0.0 for part in (over, under, approximation)
    )
    return DistanceParts(over, under, approximation, gain, distance)


class _Learned(NamedTuple):
    """What stands for features at one end of the law: its part of q, the same features' part of q0, and what the other eigenvalues
    of S hold of features.
    """

    q: float
    q0: float
    hidden: float


def _learned_features(solution: Solution, target: Target) -> _Learned:
    if solution.q == 0:
        return _Learned(0.0, 0.0, 0.0)
    problem, v, b, c = solution.problem, solution.delta**2, solution.b, solution.c
    learned, features = target.energy(v, b, problem.width), target.features(v)
    if features >= learned.mass:
        return _Learned(
            learned_overlaps(problem, learned, v, b, c)[1],
            _true_energy(problem, target, learned.mass),
            0.0,
        )
    hidden = c * target.hidden_overlap(
        v, b, b if solution.quantile is None else max(b, solution.quantile)
    )
    hidden += _hidden_beyond_strengths(solution, features)
    if features == 0:
        return _Learned(0.0, 0.0, hidden)
    top = energy_above(target, v, b, quantile(target, v, features, b, target.upper_edge(v)))
    return _Learned(
        learned_overlaps(problem, top, v, b, c)[1], _true_energy(problem, target, features), hidden
    )


def _true_energy(problem: Problem, target: Target, share: float) -> float:
    """Part of q0 that the largest eigenvalues at this end have, of the true target where leading features are seen as others."""
    return (problem.target if problem.leading else target).top_energy(share)


def _hidden_beyond_strengths(solution: Solution, share: float) -> float:
    """What S holds of leading features beyond the first `share` of all, less what it would at the strengths seen in their place."""
    problem = solution.problem
    if not problem.leading:
        return 0.0
    s, weight = problem.features
    held = np.array(estimator_of(problem).denoised(solution.conjugates).overlaps.learned)
    unseen = generated.unseen_overlap(held, s, np.array(solution.strengths), weight)
    return float(np.sum(unseen[: max(0, problem.leading - round(share / weight))]))
