"""Exponents against training: slopes of trained students beside the theory's at equal d and n, what they say of the exponent.

The exponent itself shows at d far beyond training. The exponent seen is the trained slope plus what the theory has left of its way
at that d, the derived exponent less its slope there: the interval of one holds the exponent if and only if that of the other holds the
theory's slope. Beside it stands the limit of the trained slopes alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from attention_erm.runtime.errors import InvalidParameter, NoAnswer
from numeric.studies.scaling import ScalingPoint, scaling_curve
from verify.core.intervals import INTERVAL_PROBABILITY, STANDARD_ERRORS, Interval, pooled
from verify.core.minimise import DescentStatus
from verify.core.pool import Job, Steps
from verify.core.scores import MINIMUM_RUNS
from verify.core.slopes import log_slope, trained_slope
from verify.core.store import Store
from verify.studies.exponents.measure import StudentResult, student_store, train_student
from verify.studies.exponents.plan import ExponentPlan, ScalingPath
from verify.studies.exponents.run import StudentRun
from verify.studies.exponents.slopes import limit_of_slopes, trained_level

#: Relative difference of errors that remains on sequences beside the scatter between runs: half a per cent from features beyond the
#: leading ones, up to 3 per cent of d/n at n = 10 d in the estimation error at weak decay.
LEVEL_ALLOWED = 0.05
#: The same of a slope: a change by that of d/n over an octave of n.
SLOPE_ALLOWED = 0.01
_LEAST_SIZES = 3  #: of a limit of trained slopes alone: through two sizes any power passes
_COST = 20.0  #: seconds of the theory at one size


@dataclass(frozen=True)
class SlopeAtSize:
    """Trained slope over an octave of n at one size, with the theory's; `theory_error` is that of the theory's slope.

    `trained` has the level INTERVAL_PROBABILITY, `judged` the one at which all slopes of a study hold together; `level` is
    log(trained error/theory) at the same. `errors` are the mean trained ones, `theory_errors` the theory's at `samples`.
    `left_out`: runs that did not converge.
    """

    dim: int
    samples: tuple[int, ...]
    runs: int
    hidden: int
    errors: tuple[float, ...]
    theory_errors: tuple[float, ...]
    trained: Interval
    judged: Interval
    level: Interval
    theory: float
    theory_error: float
    exponent: float
    left_out: int

    @property
    def estimate(self) -> Interval:
        """The exponent seen: trained slope, and what the theory has left of its way, with the theory's own error."""
        return self.without_theory_error.widened(self.theory_error)

    @property
    def without_theory_error(self) -> Interval:
        """The same with the scatter between runs alone."""
        return self.trained.shifted(self.exponent - self.theory)

    @property
    def slope_agrees(self) -> bool:
        """Whether the interval of the exponent seen holds the derived one, beyond what sequences may differ by."""
        return self.theory in self.judged.widened(self.theory_error + SLOPE_ALLOWED)

    @property
    def level_agrees(self) -> bool:
        """Whether the errors themselves are the theory's, beyond what sequences may differ by."""
        return 0.0 in self.level.widened(LEVEL_ALLOWED)

    @property
    def agrees(self) -> bool:
        """Whether law and prefactor are met."""
        return self.slope_agrees and self.level_agrees


@dataclass(frozen=True)
class ExponentEstimate:
    """One exponent at one gamma: slopes along d, the exponent seen at all sizes together, and the limit of trained slopes alone.

    `limit` is missing for fewer than three sizes; `correction` is the derived power of d with which slopes tend to it. `approach`:
    (d, slope) of the theory of Gaussian indices far beyond training, along the same path; `near`: log10 of the d from which on the
    theory's slope is within a tenth of the exponent, as `Regime.log10_dim_near_along`.
    """

    path: ScalingPath
    gamma: Fraction
    exponent: Fraction
    correction: float
    slopes: tuple[SlopeAtSize, ...]
    estimate: Interval
    limit: Interval | None
    approach: tuple[tuple[int, float], ...] = ()
    near: float = math.nan

    @property
    def approaches(self) -> bool:
        """Whether the theory ends closer to the exponent than it was at the largest size trained, where it is asked to."""
        if not self.approach:
            return True
        first, last = (
            abs(slope - float(self.exponent))
            for slope in (self.slopes[-1].theory, self.approach[-1][1])
        )
        return last < first

    @property
    def agrees(self) -> bool:
        """Whether every size agrees with the theory, the limit, if there is one, with the exponent, and the theory approaches it."""
        limit = self.limit is None or float(self.exponent) in self.limit
        return limit and self.approaches and all(slope.agrees for slope in self.slopes)


@dataclass(frozen=True)
class ExponentOutcome:
    """Every exponent of a plan."""

    plan: ExponentPlan
    exponents: tuple[ExponentEstimate, ...]

    @property
    def agrees(self) -> bool:
        """Whether all agree, and there are any."""
        return bool(self.exponents) and all(one.agrees for one in self.exponents)


def study_exponents(plan: ExponentPlan, folder: Path) -> Steps[ExponentOutcome]:
    """Train what `folder` lacks, solve the theory, judge.

    Raises NoAnswer if the theory has none or too few runs converged, InvalidParameter for what cannot be trained.
    """
    store = student_store(folder)
    runs = {key: plan.runs(*key) for key in _sizes(plan)}
    solved = [*runs, *_beyond(plan)]
    training = [_training_job(run, store) for group in runs.values() for run in group]
    found = iter((yield [*training, *(_theory_job(plan, *key) for key in solved)]))
    results = {key: [next(found) for _ in group] for key, group in runs.items()}
    return judge_exponents(plan, results, dict(zip(solved, found, strict=True)))


SizeKey = tuple[ScalingPath, Fraction, int]


def _sizes(plan: ExponentPlan) -> list[SizeKey]:
    """Where students are trained."""
    return [(path, gamma, dim) for path, gamma, dims in plan.sequences() for dim in dims]


def _beyond(plan: ExponentPlan) -> list[SizeKey]:
    """Where the theory goes on alone."""
    return [
        (path, gamma, dim)
        for path, gamma, trained in plan.sequences()
        for dim in plan.dims
        if dim > trained[-1]
    ]


def judge_exponents(
    plan: ExponentPlan,
    results: Mapping[SizeKey, Sequence[StudentResult]],
    points: Mapping[SizeKey, Sequence[ScalingPoint]],
) -> ExponentOutcome:
    """Set trained students beside points of the theory at their numbers of samples.

    Raises NoAnswer if the theory has none or too few runs converged.
    """
    level = 1 - (1 - INTERVAL_PROBABILITY) / max(
        1, len(results)
    )  # all intervals together hold with that
    exponents = []
    for path, gamma, dims in plan.sequences():
        cell, correction = plan.cell(path, gamma), plan.correction(path, gamma)
        slopes = tuple(
            _slope(
                path,
                results[path, gamma, dim],
                points[path, gamma, dim],
                float(cell.risk[0]),
                level,
                plan.entropy,
            )
            for dim in dims
        )
        beyond = [dim for dim in plan.dims if dim > dims[-1]]
        # errors of the theory at several sizes are alike, those of runs independent
        seen = pooled([slope.without_theory_error for slope in slopes]).widened(
            max(s.theory_error for s in slopes)
        )
        limit = _limit(slopes, correction)
        approach = tuple((dim, _theory_slope(path, points[path, gamma, dim])) for dim in beyond)
        near = cell.log10_dim_near_along(
            path.powers, (*((slope.dim, slope.theory) for slope in slopes), *approach)
        )
        exponents.append(
            ExponentEstimate(
                path, gamma, cell.risk[0], correction, slopes, seen, limit, approach, near
            )
        )
    return ExponentOutcome(plan, tuple(exponents))


def _training_job(run: StudentRun, store: Store[StudentResult]) -> Job:
    return Job(train_student, (run,), "training", run.cost, f"run {run.label}", run.device, store)


def _theory_job(plan: ExponentPlan, path: ScalingPath, gamma: Fraction, dim: int) -> Job:
    trained = (path, gamma, dim) in _sizes(plan)
    problem = plan.problem(path, gamma, dim) if trained else plan.gaussian_problem(path, gamma, dim)
    arguments = problem, tuple(map(float, path.octave(dim)))
    return Job(
        scaling_curve,
        arguments,
        "exponents",
        _COST,
        f"theory of the slope at gamma {gamma} dim {dim:.0e}",
    )


def _theory_slope(path: ScalingPath, points: Sequence[ScalingPoint]) -> float:
    samples = [round(point.samples) for point in points]
    return float(
        log_slope(samples, np.array([_error_of(point, path.quantity)[0] for point in points]))
    )


def _slope(
    path: ScalingPath,
    group: Sequence[StudentResult],
    points: Sequence[ScalingPoint],
    exponent: float,
    level: float,
    seed: int,
) -> SlopeAtSize:
    converged = [result for result in group if result.status is DescentStatus.CONVERGED]
    run = group[0].run
    if len(converged) < MINIMUM_RUNS:
        raise NoAnswer(
            f"{len(converged)} runs converged at {run.label}: a slope with an interval needs {MINIMUM_RUNS}"
        )
    _require_width(run.hidden, points)
    theory, bars = zip(*(_error_of(point, path.quantity) for point in points), strict=True)
    errors = np.array([result.errors(path.quantity) for result in converged])
    trained, judged = (
        trained_slope(run.samples, errors, np.random.default_rng(seed), one)
        for one in (INTERVAL_PROBABILITY, level)
    )
    span = math.log(run.samples[-1] / run.samples[0])
    return SlopeAtSize(
        dim=run.dim,
        samples=run.samples,
        runs=len(converged),
        hidden=run.hidden,
        errors=tuple(errors.mean(axis=0).tolist()),
        theory_errors=tuple(theory),
        trained=trained,
        judged=judged,
        level=trained_level(theory, errors, np.random.default_rng(seed), level),
        theory=float(log_slope(run.samples, np.array(theory))),
        theory_error=math.hypot(*(bar / value for bar, value in zip(bars, theory, strict=True)))
        / span,
        exponent=exponent,
        left_out=len(group) - len(converged),
    )


def _error_of(point: ScalingPoint, quantity: str) -> tuple[float, float]:
    """An error of the theory and its uncertainty. Raises NoAnswer where there is none."""
    solution = point.solution.unwrap()
    if quantity == "excess_error":
        return point.excess_error, point.excess_uncertainty
    return float(getattr(solution, quantity)), STANDARD_ERRORS * float(
        solution.errors.get(quantity, 0.0)
    )


def _require_width(hidden: int, points: Sequence[ScalingPoint]) -> None:
    """Raises InvalidParameter if students are no wider than the rank that they are to learn: the theory's are wide."""
    learned = max(point.learned for point in points)
    if hidden <= learned:
        raise InvalidParameter(
            "hidden",
            hidden,
            f"must exceed the {learned:.0f} directions that are learned",
            f"try {math.ceil(1.5 * learned)}",
        )


def _limit(slopes: Sequence[SlopeAtSize], correction: float) -> Interval | None:
    if len(slopes) < _LEAST_SIZES:
        return None
    dims, theory = [slope.dim for slope in slopes], [slope.theory for slope in slopes]
    return limit_of_slopes(
        dims, [slope.trained for slope in slopes], correction, theory, slopes[0].exponent
    )
