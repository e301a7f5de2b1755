"""Exponents in training: slopes of trained students and of the theory at equal d and n, and the
resulting exponents.

Slopes reach the exponent only at d far beyond training. The estimate of the exponent is the trained
slope plus the derived exponent minus the theory's slope at that d. Its interval contains the
exponent if and only if the interval of the trained slope contains the theory's slope. The limit of
the trained slopes alone is given in addition.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from attention_erm.runtime.errors import InvalidParameter
from numeric.engines.task import Task
from numeric.studies.scaling import ScalingPoint, scaling_curve
from verify.core.intervals import INTERVAL_PROBABILITY, STANDARD_ERRORS, Interval, pooled
from verify.core.pool import Steps, training_task
from verify.core.scores import require_converged
from verify.core.slopes import log_slope, trained_slope
from verify.studies.exponents.measure import StudentResult, student_store, train_student
from verify.studies.exponents.plan import ExponentPlan, ScalingPath
from verify.studies.exponents.slopes import limit_of_slopes, trained_level

#: Relative difference of errors allowed on token sequences in addition to the scatter between runs:
#: 0.5 % from features beyond the leading ones, and up to 3 % of order d/n at n = 10 d in the
#: estimation error.
LEVEL_ALLOWED = 0.05
#: Difference of slopes allowed in addition: change of that d/n term over an octave of n.
SLOPE_ALLOWED = 0.01
_LEAST_SIZES = 3  #: sizes needed for a limit of trained slopes; any power fits two sizes
_COST = 20.0  #: seconds of the theory at one size

SizeKey = tuple[ScalingPath, Fraction, int]  #: path, gamma, size d


@dataclass(frozen=True)
class SlopeAtSize:
    """Slope over an octave of n at one size, trained and of the theory.

    Attributes:
        dim: size d.
        samples: numbers of samples.
        runs: number of converged runs.
        hidden: columns of the students.
        errors: mean trained errors at `samples`.
        theory_errors: errors of the theory at `samples`.
        trained: trained slope with an interval of 95 %.
        judged: the same at the level at which all intervals of a study hold together.
        level: log(trained error/theory) at that joint level.
        theory: slope of the theory.
        theory_error: uncertainty of `theory`.
        exponent: derived exponent.
        left_out: number of runs that did not converge.
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
        """Return the estimate of the exponent, including the uncertainty of the theory."""
        return self.without_theory_error.widened(self.theory_error)

    @property
    def without_theory_error(self) -> Interval:
        """Return the estimate with the scatter between runs alone."""
        return self.trained.shifted(self.exponent - self.theory)

    @property
    def slope_agrees(self) -> bool:
        """Return whether trained and theory slopes agree up to SLOPE_ALLOWED."""
        return self.theory in self.judged.widened(self.theory_error + SLOPE_ALLOWED)

    @property
    def level_agrees(self) -> bool:
        """Return whether the errors agree with the theory up to LEVEL_ALLOWED."""
        return 0.0 in self.level.widened(LEVEL_ALLOWED)

    @property
    def agrees(self) -> bool:
        """Return whether slope and prefactor agree."""
        return self.slope_agrees and self.level_agrees


@dataclass(frozen=True)
class ExponentEstimate:
    """One exponent at one gamma.

    Attributes:
        path: path of samples and decay along d.
        gamma: exponent of the target.
        exponent: derived exponent.
        correction: derived power of d with which slopes tend to the exponent.
        slopes: slopes along d.
        estimate: exponent from all sizes together.
        limit: limit of the trained slopes alone, None for fewer than three sizes.
        approach: (d, slope) of the theory of Gaussian indices beyond training, along the same path.
        near: log10 of the d from which on the theory's slope is within 10 % of the exponent.
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
        """Return whether the theory ends closer to the exponent than at the largest size
        trained.
        """
        if not self.approach:
            return True
        exponent, (_, last) = float(self.exponent), self.approach[-1]
        return abs(last - exponent) < abs(self.slopes[-1].theory - exponent)

    @property
    def agrees(self) -> bool:
        """Return whether all sizes agree with the theory, the limit with the exponent, and the
        theory approaches it.
        """
        limit = self.limit is None or float(self.exponent) in self.limit
        return limit and self.approaches and all(slope.agrees for slope in self.slopes)


@dataclass(frozen=True)
class ExponentOutcome:
    """Every exponent of a plan."""

    plan: ExponentPlan
    exponents: tuple[ExponentEstimate, ...]

    @property
    def agrees(self) -> bool:
        """Return whether there are exponents and all agree."""
        return bool(self.exponents) and all(one.agrees for one in self.exponents)


def study_exponents(plan: ExponentPlan, folder: Path) -> Steps[ExponentOutcome]:
    """Measure exponents on trained students and compare them with the theory.

    Args:
        plan: students to train.
        folder: folder of finished students; missing ones are trained.

    Raises:
        NoAnswer: the theory has no answer, or too few runs converged.
        InvalidParameter: a student cannot be trained.
    """
    store, runs, theory = student_store(folder), {}, {}
    for path, gamma, dims in plan.sequences():
        for dim in dims:
            runs[path, gamma, dim] = plan.runs(path, gamma, dim)
            theory[path, gamma, dim] = plan.problem(path, gamma, dim)
        for dim in plan.beyond(dims):
            theory[path, gamma, dim] = plan.gaussian_problem(path, gamma, dim)
    training = [
        training_task(run, store, train_student) for group in runs.values() for run in group
    ]
    solving = [
        Task(
            scaling_curve,
            (problem, tuple(map(float, path.octave(dim)))),
            _COST,
            f"theory of the slope at gamma {gamma} dim {dim:.0e}",
            "exponents",
        )
        for (path, gamma, dim), problem in theory.items()
    ]
    found = iter((yield [*training, *solving]))
    results = {key: [next(found) for _ in group] for key, group in runs.items()}
    return judge_exponents(plan, results, dict(zip(theory, found, strict=True)))


def judge_exponents(
    plan: ExponentPlan,
    results: Mapping[SizeKey, Sequence[StudentResult]],
    points: Mapping[SizeKey, Sequence[ScalingPoint]],
) -> ExponentOutcome:
    """Compare trained students with the theory at their numbers of samples.

    Args:
        plan: the plan.
        results: trained students at each size.
        points: points of the theory at both ends of each octave, also beyond training.

    Raises:
        NoAnswer: the theory has no answer, or too few runs converged.
    """
    level = 1 - (1 - INTERVAL_PROBABILITY) / max(1, len(results))  # all intervals hold together
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
        # errors of the theory are correlated between sizes, those of runs are independent
        estimate = pooled([slope.without_theory_error for slope in slopes]).widened(
            max(slope.theory_error for slope in slopes)
        )
        approach = tuple(
            (dim, _theory_slope(path, points[path, gamma, dim])) for dim in plan.beyond(dims)
        )
        near = cell.log10_dim_near_along(
            path.powers, (*((slope.dim, slope.theory) for slope in slopes), *approach)
        )
        limit = limit_of_slopes(
            dims, [slope.trained for slope in slopes], correction,
            [slope.theory for slope in slopes], slopes[0].exponent,
        ) if len(slopes) >= _LEAST_SIZES else None  # fmt: skip
        exponents.append(
            ExponentEstimate(
                path, gamma, cell.risk[0], correction, slopes, estimate, limit, approach, near
            )
        )
    return ExponentOutcome(plan, tuple(exponents))


def _theory_slope(path: ScalingPath, points: Sequence[ScalingPoint]) -> float:
    errors = np.array([_error_of(point, path.quantity)[0] for point in points])
    return float(log_slope([round(point.samples) for point in points], errors))


def _slope(
    path: ScalingPath,
    group: Sequence[StudentResult],
    points: Sequence[ScalingPoint],
    exponent: float,
    level: float,
    seed: int,
) -> SlopeAtSize:
    run, converged = group[0].run, require_converged(group)
    learned = max(point.learned for point in points)
    if run.hidden <= learned:
        rule = f"must exceed the {learned:.0f} directions that are learned"
        raise InvalidParameter("hidden", run.hidden, rule, f"try {math.ceil(1.5 * learned)}")
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
    """Return an error of the theory and its uncertainty. Raises NoAnswer if there is none."""
    solution = point.solution.unwrap()
    if quantity == "excess_error":
        return point.excess_error, point.excess_uncertainty
    return getattr(solution, quantity), STANDARD_ERRORS * solution.errors.get(quantity, 0.0)
