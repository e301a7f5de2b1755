"""Parts of the test error: overfitting, underfitting, approximation, mismatch and label noise.

See the theory note, section 7. With infinitely many samples, the best student is a multiple c* of
the target. The distance of S from c* S0 splits exactly into three parts:

- overfitting: energy of S in eigenvectors that represent noise, minus their overlap with features
  that are not learned;
- underfitting: energy of the features of c* S0 that are not learned, minus their overlap with
  noisy eigenvectors; S contains `gain` times these features;
- approximation: the rest, learned features with a wrong eigenvalue or direction.

If noisy eigenvectors have no overlap with the target (gain 0), the first two parts are the energy
of S in the noise and c*^2 s_k^2. If many weak features fill the lowest interval together, S
contains a large part of them although none has left the interval. The overlap of noisy eigenvectors
with learned features counts as approximation, which it can make slightly negative.

The eigenvectors of S that represent features are determined by their order: of those above the
threshold, the first `features` (a fraction of all eigenvalues) represent features, and they
correspond to the largest eigenvalues of the target. For a list of eigenvalues, these are the ones
that have left the lowest interval of the support of Y. For the Marchenko-Pastur target, the
fraction is its rank ratio kappa0. This is the mass of the upper interval once the law has split
into two; the same number is used where the intervals have merged.

The excess test error is the distance times a rate. To leading order, the rate is the derivative of
the error with respect to q, because the error is stationary along c S0.
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
from numeric.problem.problem import Parametrisation
from numeric.problem.solution import Solution, require_solution
from numeric.saddle.estimator import estimator_of, learned_overlaps
from numeric.studies.spectrum import least_learned_position

# Minimum fraction of q0 in features that are not learned; below it, their energy, a difference, has
# fewer than six digits.
_MIN_UNLEARNED_FRACTION = 1e-10
_ROUNDING = 4e-15  # relative rounding error of the terms of a part; a smaller part is set to zero


class DistanceParts(NamedTuple):
    """Parts of the distance ||S - c* S0||^2/d (eigenvalue^2), gain of noisy eigenvectors, and the
    distance itself.
    """

    overfitting: float
    underfitting: float
    approximation: float
    gain: float
    distance: float


@dataclass(frozen=True)
class Decomposition:
    """Parts of the distance ||S - c* S0||^2/d (eigenvalue^2) and of the test error.

    distance = overfitting + underfitting + approximation, and
    test error = least + mismatch + rate * distance (unit: loss of a sample).

    Attributes:
        c_star: best multiple of the target.
        gain: fraction of the unlearned features in S.
        least: test error of the best possible predictor E[y | X].
        mismatch: test error of c* S0 above `least`.
        rate: excess test error / distance; 0 if both are 0.
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
        """Overfitting, underfitting and approximation, each as a part of the test error."""
        names = ("overfitting", "underfitting", "approximation")
        return {name: self.rate * getattr(self, name) for name in names}


def decompose(solution: Solution) -> Decomposition:
    """Split the test error of a solution.

    Raises:
        InvalidParameter: the argument is not a Solution; the matrix itself is trained, which omits
            no eigenvalue; labels are classes, or the loss has kinks.
        NotConverged: the solution has not converged.
        OutsideDomain: an average cannot be resolved in double precision.
        ValueError: leading features are treated exactly.

    >>> from attention_erm import MarchenkoPastur, Problem, decompose, solve
    >>> target = MarchenkoPastur(0.5)
    >>> parts = decompose(solve(Problem(alpha=1, target=target, lambda_=0.01, noise=0.5)))
    >>> round(parts.rate * parts.overfitting, 4), round(parts.rate * parts.approximation, 4)
    (0.0015, 0.0264)
    >>> total = parts.least + parts.mismatch + parts.rate * parts.distance
    >>> abs(total - parts.solution.test_error) < 1e-5
    True
    """
    require_solution(solution)
    problem = solution.unwrap().problem
    problem.require_gaussian_norms("the decomposition of errors")
    problem.require_index_as_label("the decomposition of errors")
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
    """Split the distance of the learned S from a multiple of the target.

    Args:
        solution: solution, also with leading features treated exactly.
        c_star: the multiple.

    Raises:
        NotConverged: the solution has not converged.
        OutsideDomain: an average cannot be resolved in double precision.
        InvalidParameter: the matrix itself is trained, which omits no eigenvalue.
    """
    problem = solution.unwrap().problem
    problem.require_gaussian_norms("the decomposition of errors")
    if not problem.trains_factors:
        name = (
            "model" if problem.parametrisation is Parametrisation.FACTORISED else "parametrisation"
        )
        rule = "trains the matrix itself, which leaves no eigenvalue out"
        raise InvalidParameter(
            name, str(getattr(problem, name)), rule, "use a model that trains factors"
        )
    ends = [
        _learned_features(solution, end)
        for end in problem.signed_targets(solution.effective_target)
    ]
    q_top, q0_top, hidden = map(sum, zip(*ends, strict=True))
    others = problem.q0 - q0_top
    if hidden and others < _MIN_UNLEARNED_FRACTION * problem.q0:
        raise OutsideDomain(
            "the energy of features that are not learned is lost in the rounding of q0: leave it "
            "out"
        )
    gain = hidden / others if hidden else 0.0
    over, under, approximation, distance = map(
        float,
        generated.decomposition(solution.m, solution.q, problem.q0, q_top, q0_top, gain, c_star),
    )
    rounding = _ROUNDING * (problem.q0 * c_star**2 + 2 * abs(solution.m * c_star) + solution.q)
    over, under, approximation = (
        part if abs(part) > rounding else 0.0 for part in (over, under, approximation)
    )
    return DistanceParts(over, under, approximation, gain, distance)


def _learned_features(solution: Solution, target: Target) -> tuple[float, float, float]:
    """Return three energies for the upper end of a law: the part of q in features, the part of q0
    of the same features, and the overlap of all other eigenvectors of S with features.
    """
    if solution.q == 0:
        return 0.0, 0.0, 0.0
    problem, v, b, c = solution.problem, solution.delta**2, solution.b, solution.c
    learned, features, hidden = target.energy(v, b, problem.width), target.features(v), 0.0
    share = min(features, learned.mass)
    if features < learned.mass:
        hidden = c * target.hidden_overlap(v, b, least_learned_position(solution))
        hidden += _hidden_beyond_strengths(solution, features)
        if features == 0:
            return 0.0, 0.0, hidden
        cut = quantile(target, v, features, b, target.upper_edge(v))
        learned = energy_above(target, v, b, cut)
    true_target = problem.target if problem.leading else target
    return learned_overlaps(problem, learned, v, b, c)[1], true_target.top_energy(share), hidden


def _hidden_beyond_strengths(solution: Solution, share: float) -> float:
    """Return the overlap of S with leading features beyond the first `share` of all, minus its
    value for the strengths that replace them in the equations.
    """
    problem = solution.problem
    if not problem.leading:
        return 0.0
    s, weight = problem.features
    learned = np.array(estimator_of(problem).denoised(solution.conjugates).overlaps.learned)
    unseen = generated.unseen_overlap(learned, s, np.array(solution.strengths), weight)
    return float(np.sum(unseen[: max(0, problem.leading - round(share / weight))]))
