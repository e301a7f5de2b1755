"""Scores of training against theory in standard errors: residuals, finite-size extrapolation, and a
verdict per quantity.

A residual is the measured value minus the theory at the realised problem
(`verify.core.realised_problem`). At each point and for each quantity the residuals are modelled as
r(d) = a + c/d, the leading finite-size effect (theory note, section 9), or as a + c/d + e/d^2 with
three sizes or more. The score is that of a, the residual extrapolated to infinite d. Two sizes
cannot separate 1/d from 1/d^2. If the second dominates (training error at width below 1 and few
samples), a is biased, and many runs show the bias.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import scipy

from attention_erm.runtime.errors import NoAnswer
from numeric.problem.problem import Problem
from verify.core.intervals import mean_with_error, precisions, quotient
from verify.core.minimise import DescentStatus
from verify.core.realised_problem import (
    COMPARED_QUANTITIES,
    Predictor,
    ScoredRun,
    TheoryValues,
    TrainedHead,
    expected_values,
    nominal_problem,
)
from verify.core.run import Run

_ROUNDING = 1e-13  # relative rounding error of sums over the samples of a run
BAND = 4.0  #: |z| from which a score disagrees; by chance this happens once in 16000 comparisons
MINIMUM_RUNS = 2  #: converged runs needed at each d for a standard error


class Trained(Protocol):
    """Result of training one run."""

    @property
    def run(self) -> Any:
        """Return the run."""

    @property
    def status(self) -> DescentStatus:
        """Return how the minimisation ended."""


_Trained = TypeVar("_Trained", bound=Trained)


def require_converged(results: Sequence[_Trained]) -> list[_Trained]:
    """Return the results that converged.

    Raises:
        NoAnswer: fewer than MINIMUM_RUNS converged.
    """
    converged = [result for result in results if result.status is DescentStatus.CONVERGED]
    if len(converged) < MINIMUM_RUNS:
        raise NoAnswer(
            f"{len(converged)} runs converged at {results[0].run.label}, "
            f"an interval needs {MINIMUM_RUNS}; add --runs"
        )
    return converged


@dataclass(frozen=True)
class SizeGroup:
    """Runs of one size at one point: mean residual with its standard error, mean of the
    measurements, and theory.
    """

    dim: int
    runs: int
    simulation: float
    theory: float
    residual: float
    standard_error: float


@dataclass(frozen=True)
class Score:
    """Score of one quantity at one point. `z` is NaN if too few runs converged for a standard
    error, or if the theory has no value.

    `broken` states that the theory is an approximation there, because replica symmetry is broken.
    """

    quantity: str
    problem: Problem
    groups: tuple[SizeGroup, ...]
    theory_error: float
    residual: float
    standard_error: float
    degrees_of_freedom: float
    z: float
    broken: bool = False

    @property
    def theory_status(self) -> str:
        """Status of the theory as text, for documents and tables."""
        return "unstable" if self.broken else "converged"

    @property
    def raw_in_errors(self) -> float:
        """Return the residual at the largest d in its standard errors, without extrapolation; the
        theory counts as exact.
        """
        return quotient(self.groups[-1].residual, self.groups[-1].standard_error)

    @property
    def raw_percent(self) -> float:
        """Return the residual at the largest d in percent of the theory."""
        return 100 * quotient(self.groups[-1].residual, abs(self.groups[-1].theory))

    @property
    def agrees(self) -> bool:
        """Return whether |z| < BAND; NaN does not agree."""
        return abs(self.z) < BAND


@dataclass(frozen=True)
class PooledResidual:
    """Mean over the points of the extrapolated residual relative to the theory; it shows a common
    bias. The residual is absolute if the theory is zero at all points.
    """

    relative: float
    standard_error: float
    degrees_of_freedom: float

    @property
    def z(self) -> float:
        """Return the mean in its standard errors, as a normal score."""
        ratio = quotient(self.relative, self.standard_error)
        return normal_score(ratio, self.degrees_of_freedom)


@dataclass(frozen=True)
class Verdict:
    """Verdict on one quantity: agreement at every point and in the mean over them."""

    quantity: str
    agrees: bool
    worst: Score
    pooled: PooledResidual
    advice: str


def worst_verdict(verdicts: Sequence[Verdict]) -> Verdict:
    """Return a verdict that disagrees, if any, with the largest score of the mean."""
    return max(verdicts, key=lambda verdict: (not verdict.agrees, abs(verdict.pooled.z)))


@dataclass(frozen=True)
class Comparison:
    """All scores, the verdict per quantity, and the runs that are left out because they did not
    converge.
    """

    scores: tuple[Score, ...]
    verdicts: tuple[Verdict, ...]
    excluded: tuple[TrainedHead, ...]

    @property
    def agrees(self) -> bool:
        """Return whether every quantity agrees."""
        return all(verdict.agrees for verdict in self.verdicts)


def compare_with_theory(
    results: Sequence[TrainedHead], theory: Predictor, point: Callable[[Run], Problem] | None = None
) -> Comparison:
    """Compare `results` with `theory`, each at its realised problem.

    Runs that did not converge are excluded and listed.

    Args:
        results: trained heads.
        theory: solves problems; its exceptions are not caught.
        point: runs of equal `point` are averaged; by default those of one problem at the largest
            size.

    Raises:
        ValueError: there is nothing to compare.
    """
    if not results:
        raise ValueError("no runs to compare: request at least one")
    converged = [r for r in results if r.status is DescentStatus.CONVERGED]
    excluded = tuple(r for r in results if r.status is not DescentStatus.CONVERGED)
    expected = expected_values(converged, theory)
    first = next(iter(expected.values()), None)
    quantities = tuple(first.values) if first else COMPARED_QUANTITIES
    largest = max(r.run.dim for r in results)
    place = point or (lambda run: nominal_problem(run, largest))
    points = sorted({place(r.run) for r in results}, key=_order)
    scores = tuple(
        score_at(quantity, at, [(r, expected[r.run]) for r in converged if place(r.run) == at])
        for quantity in quantities
        for at in points
    )
    verdicts = tuple(verdict_of(q, [s for s in scores if s.quantity == q]) for q in quantities)
    return Comparison(scores, verdicts, excluded)


def _order(problem: Problem) -> tuple[str, tuple[float, ...], str]:
    """Return a sort key: target law first, then all numbers."""
    names = ("alpha", "width", "lambda_", "noise", "tokens", "beta", "beta0")
    return (
        repr(problem.target),
        tuple(getattr(problem, name) for name in names),
        problem.parametrisation,
    )


def score_at(
    quantity: str, point: Problem, judged: Sequence[tuple[ScoredRun, TheoryValues]]
) -> Score:
    """Score one quantity at one point; runs of several sizes are extrapolated to infinite d.

    Args:
        quantity: name of the quantity.
        point: the point.
        judged: converged runs with the theory's values for each.

    Returns:
        The score; z is NaN if a size has fewer than MINIMUM_RUNS runs.
    """
    groups = tuple(
        _group(quantity, dim, [(r, p) for r, p in judged if r.run.dim == dim])
        for dim in sorted({r.run.dim for r, _ in judged})
    )
    if not groups or any(group.runs < MINIMUM_RUNS for group in groups):
        return Score(quantity, point, groups, math.nan, math.nan, math.nan, math.nan, math.nan)
    theory_error = max(p.errors[quantity] for _, p in judged)
    broken = any(p.broken for _, p in judged)
    return Score(quantity, point, groups, theory_error, *extrapolated(groups, theory_error), broken)


class ExtrapolatedResidual(NamedTuple):
    """Residual at infinite d with its standard error, degrees of freedom, and score."""

    residual: float
    standard_error: float
    degrees_of_freedom: float
    z: float


def extrapolated(groups: Sequence[SizeGroup], theory_error: float) -> ExtrapolatedResidual:
    """Extrapolate the mean residuals of several sizes, each of at least MINIMUM_RUNS runs, to
    infinite d.

    Args:
        groups: mean residuals by size.
        theory_error: absolute error of the theory.
    """
    weights = intercept_weights([g.dim for g in groups], [g.runs for g in groups])
    variances = (weights * [g.standard_error for g in groups]) ** 2
    rounding = _ROUNDING * abs(groups[-1].theory)
    total = variances.sum() + theory_error**2 + rounding**2
    # the error of the theory has infinitely many degrees of freedom
    degrees = _degrees_of_freedom(variances, total, [g.runs - 1 for g in groups])
    residual = float(weights @ [g.residual for g in groups])
    z = normal_score(quotient(residual, math.sqrt(total)), degrees)
    return ExtrapolatedResidual(residual, math.sqrt(total), degrees, z)


def _group(quantity: str, dim: int, judged: Sequence[tuple[ScoredRun, TheoryValues]]) -> SizeGroup:
    simulation = np.array([getattr(result, quantity) for result, _ in judged])
    theory = np.array([prediction.values[quantity] for _, prediction in judged])
    residual = simulation - theory
    error = residual.std(ddof=1) / math.sqrt(len(residual)) if len(residual) > 1 else math.nan
    return SizeGroup(
        dim,
        len(judged),
        float(simulation.mean()),
        float(theory.mean()),
        float(residual.mean()),
        float(error),
    )


def size_groups(measured: Iterable[tuple[int, float]], theory: float) -> tuple[SizeGroup, ...]:
    """Return the runs of each size with the one value of the theory, in the order of the sizes.

    Args:
        measured: d and measurement of each run.
        theory: value of the theory.
    """
    values: dict[int, list[float]] = {}
    for dim, value in measured:
        values.setdefault(dim, []).append(value)
    means = {dim: mean_with_error(group) for dim, group in values.items()}
    return tuple(
        SizeGroup(dim, len(values[dim]), mean, theory, mean - theory, error)
        for dim, (mean, error) in means.items()
    )


def intercept_weights(dims: Sequence[int], runs: Sequence[int]) -> np.ndarray:
    """Return w with a = sum_k w_k r_k, the least-squares intercept of r(d) = a + c/d, or of a + c/d
    + e/d^2 from three sizes on.

    Each mean has the weight runs * d^2, because the scatter of a run is proportional to 1/d. The
    measured scatter of eight runs would correlate weights and residuals. A single d gives w = 1,
    that is no extrapolation.

    Args:
        dims: sizes d.
        runs: number of runs of each.
    """
    d = np.asarray(dims, dtype=float)
    importance = np.asarray(runs) * d**2
    design = d[:, None] ** -np.arange(min(len(d), 3))
    return np.linalg.solve((design.T * importance) @ design, design.T * importance)[0]


def normal_score(ratio: float, degrees_of_freedom: float) -> float:
    """Return the standard normal deviate with the tail probability of Student's t = `ratio`.

    Eight runs give heavy tails: |t| > 4 has probability 0.5 % at 7 degrees of freedom, not 0.006 %.
    The score saturates at 38, where the tail probability underflows. NaN stays NaN.

    Args:
        ratio: t.
        degrees_of_freedom: of t.
    """
    log_tail = max(
        scipy.stats.t.logsf(abs(ratio), degrees_of_freedom), math.log(sys.float_info.min) - 36
    )
    return float(math.copysign(scipy.special.ndtri_exp(log_tail), ratio))


def pool(scores: Sequence[Score]) -> PooledResidual:
    """Average the relative residuals of independent points, weighted by the inverse squared error.

    Standard errors of few runs give too much weight to points that happen to scatter little. The
    variance is corrected for this, to first order in the inverse degrees of freedom (P. Meier,
    Biometrics 9, 59, 1953).
    """
    if any(not score.groups or math.isnan(score.z) for score in scores):
        return PooledResidual(math.nan, math.nan, math.nan)
    # A point that agrees without any scatter, such as S = 0, has no common bias to show.
    scores = [score for score in scores if score.residual or score.standard_error]
    if not scores:
        return PooledResidual(0.0, 0.0, math.inf)
    theory = np.array([score.groups[-1].theory for score in scores])
    scale = theory if np.any(theory) else np.ones_like(theory)
    errors = np.array([score.standard_error for score in scores])
    residual = np.array([score.residual for score in scores])
    degrees = np.array([score.degrees_of_freedom for score in scores])
    # weights times residual/theory, written without the quotient, because the theory may be zero
    weights = precisions(errors)
    total = float((scale**2 * weights).sum())
    share = scale**2 * weights / total
    relative = float((scale * residual * weights).sum() / total)
    variances = (scale * weights * errors / total) ** 2
    corrected = variances.sum() * (1 + 4 * (share * (1 - share) / degrees).sum())
    freedom = _degrees_of_freedom(variances, float(variances.sum()), degrees)
    return PooledResidual(relative, math.sqrt(corrected), freedom)


def verdict_of(quantity: str, scores: Sequence[Score]) -> Verdict:
    """Return the verdict on one quantity from its scores at several points.

    Args:
        quantity: name of the quantity.
        scores: scores at all points.
    """
    # NaN counts as the worst score: a point has too few converged runs
    worst = max(scores, key=lambda s: math.inf if math.isnan(s.z) else abs(s.z))
    pooled = pool(scores)
    if math.isnan(worst.z):
        few = any(group.runs < MINIMUM_RUNS for group in worst.groups) or not worst.groups
        why = (
            "too few runs converged; raise --runs"
            if few
            else f"no theory at alpha {worst.problem.alpha:g}"
        )
        return Verdict(quantity, False, worst, pooled, f"undetermined: {why}")
    if not worst.agrees:
        return Verdict(quantity, False, worst, pooled, f"disagrees: |z| reaches {abs(worst.z):.1f}")
    if not abs(pooled.z) < BAND:  # a missing mean disagrees
        return Verdict(
            quantity,
            False,
            worst,
            pooled,
            f"disagrees in the mean over points: z = {pooled.z:+.1f}",
        )
    where = f"all {len(scores)} points" if len(scores) > 1 else "1 point"
    return Verdict(quantity, True, worst, pooled, f"agrees at {where}")


def largest_score(scores: Sequence[Score]) -> str:
    """Return as text the largest |z| among `scores` and its probability among so many if the theory
    is right.
    """
    known = [score for score in scores if math.isfinite(score.z)]
    worst = max(known, key=lambda score: abs(score.z))
    chance = -math.expm1(len(known) * math.log1p(-2 * float(scipy.stats.norm.sf(abs(worst.z)))))
    return (
        f"{len(known)} scores; the largest is z {worst.z:+.2f} ({worst.quantity} at alpha "
        f"{worst.problem.alpha:g}): "
        f"among so many, one this large has probability {chance:.2g}\n"
    )


def _degrees_of_freedom(
    variances: np.ndarray, total: float, degrees: np.ndarray | Sequence[float]
) -> float:
    """Return the degrees of freedom of a sum of variances (Welch and Satterthwaite).

    Args:
        variances: estimated variances, shape (terms,).
        total: their sum, with exactly known variances added.
        degrees: degrees of freedom of each estimate.
    """
    scatter = float((variances**2 / degrees).sum())
    return total**2 / scatter if scatter else math.inf
