"""Scaling laws in training: heads trained on power-law targets compared with the theory at finite
d, along the number of samples.

All quantities are compared at equal n/d^2 and law of weight decay. The excess error of a run is
measured above the best multiple of its target on the same test samples, that of the theory above
the best multiple on Gaussian fields. Each is therefore relative to its limit of infinitely many
samples.

Power-law targets are dominated by few features, whose indices are not Gaussian on token sequences
(theory note, section 8). There the theory of Gaussian indices is off by a factor, the universality
gap, and the theory with leading features treated exactly (section 10) replaces it. On
Gaussian-equivalent data the theory is tested in standard errors.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from numeric.engines.task import Task
from numeric.problem.decay_law import DecayLaw
from numeric.problem.problem import Problem
from numeric.studies.phase_diagram import PhaseDiagram, Sketch, phase_diagram, spectrum_sketches
from numeric.studies.regimes import Regime, regime_at
from numeric.studies.scaling import ScalingPoint, power_law_of
from verify.core.data import DataKind
from verify.core.draw import require_memory
from verify.core.intervals import (
    DRAWS,
    INTERVAL_PROBABILITY,
    STANDARD_ERRORS,
    Interval,
    bootstrap_means,
    quotient,
    student_interval,
)
from verify.core.measure import RunResult
from verify.core.minimise import DescentStatus
from verify.core.pool import Steps, training_task
from verify.core.realised_problem import TheoryValues
from verify.core.run import Run
from verify.core.scaling_curve import scaling_curve_task
from verify.core.scores import BAND, MINIMUM_RUNS, Comparison, compare_with_theory, normal_score
from verify.core.slopes import log_slope
from verify.core.spectra import TrainedSpectrum, spectrum_task
from verify.core.store import Store
from verify.core.theory import expected_of, progress
from verify.studies.scaling.error_parts import ErrorParts, error_parts, limits_of
from verify.studies.scaling.plan import (
    PointKey,
    PointTheory,
    ScalingPlan,
    SizeAndDecay,
    point_key,
    theories,
    theory_tasks,
)

_LINE = 40  #: points of a theory curve
_LEAST_POINTS = 3  #: least number of points of a window: a slope through two points has no residual
#: size d of the spectra in the diagram: separates features, bulk and heavy tail within seconds
SKETCH_DIM = 1000
PHASE_DIM = 10_000  #: size d of the local slopes in the phase diagram: half a minute for 25


@dataclass(frozen=True)
class TrainedPoint:
    """Runs at one size, law of weight decay and n/d^2, with the theory.

    Attributes:
        dim: size d.
        decay: law of the weight decay.
        alpha: n/d^2.
        samples: number n of samples.
        excess: excess test error of each run.
        theory: excess test error of Gaussian indices.
        expected: excess test error for the index distribution of the runs.
        expected_error: standard error of `expected`.
        regime: regime of the phase diagram.
        learned: number of eigenvalues of S that represent features in the theory, not an integer
            where the threshold cuts the scatter of one of them.
        whole_feature: whether at least one feature is learned.
        parts: parts of the error, with those of the theory.
    """

    dim: int
    decay: DecayLaw
    alpha: float
    samples: int
    excess: tuple[float, ...]
    theory: float
    expected: float
    expected_error: float
    regime: Regime
    learned: float
    whole_feature: bool
    parts: ErrorParts

    @property
    def mean(self) -> float:
        """Return the mean excess error of the runs."""
        return float(np.mean(self.excess))

    @property
    def deviation(self) -> float:
        """Return the standard deviation of the excess error between runs."""
        return float(np.std(self.excess, ddof=1))

    @property
    def ratio(self) -> tuple[float, float]:
        """Return the mean excess error over that of the theory, with its standard error."""
        return self.mean / self.theory, self.deviation / math.sqrt(len(self.excess)) / self.theory

    @property
    def z(self) -> float:
        """Return excess error minus the expected one in standard errors, without correction for
        finite size.
        """
        error = math.hypot(self.deviation / math.sqrt(len(self.excess)), self.expected_error)
        return normal_score(quotient(self.mean - self.expected, error), len(self.excess) - 1)


@dataclass(frozen=True)
class Slope:
    """Slope of log(excess error) against log(n) over the points of one window, by least squares.

    Attributes:
        dim: size d.
        decay: law of the weight decay.
        regime: name of the regime.
        samples: first and last number of samples.
        trained: trained slope with an interval of 95 %.
        joint: the same at the level at which all slopes of a study hold together.
        theory: slope of the expected errors.
        exponent: exponent of the regime at large d.
        judged: whether the theory applies at all samples of the window.
    """

    dim: int
    decay: DecayLaw
    regime: str
    samples: tuple[int, int]
    trained: Interval
    joint: Interval
    theory: float
    exponent: float
    judged: bool

    @property
    def agrees(self) -> bool:
        """Return whether the theory's slope lies within the interval of the trained one."""
        return self.theory in self.joint


@dataclass(frozen=True)
class ScalingOutcome:
    """All measurements of the study.

    Attributes:
        lines: theory curves along n.
        panels: spectra at the largest size by law of weight decay and n/d^2, where something is
            learned.
        target: eigenvalues of the target there, decreasing, shape (d,).
        comparison: scores of the runs at their d eigenvalues.
        phases: regimes with local slopes of the theory, if the plan requests them.
        sketches: a spectrum in each regime.
    """

    plan: ScalingPlan
    places: tuple[TrainedPoint, ...]
    slopes: tuple[Slope, ...]
    lines: Mapping[SizeAndDecay, tuple[ScalingPoint, ...]]
    panels: Mapping[tuple[DecayLaw, float], TrainedSpectrum]
    target: np.ndarray
    comparison: Comparison
    phases: PhaseDiagram | None = None
    sketches: tuple[Sketch, ...] = ()

    @property
    def gaussian(self) -> bool:
        """Return whether the indices of the data are Gaussian, as in the theory."""
        return self.plan.base.data is DataKind.GAUSSIAN_EQUIVALENT

    @property
    def judged(self) -> tuple[str, ...]:
        """Return the names of the compared quantities."""
        overlaps = ("overlaps", "train and test errors") if self.comparison.scores else ()
        if self.gaussian:
            return (
                "excess errors",
                "their parts",
                *overlaps,
                *(("spectra",) if self.panels else ()),
            )
        return (*overlaps, *(("slopes",) if any(slope.judged for slope in self.slopes) else ()))

    @property
    def agrees(self) -> bool:
        """Return whether everything that is compared agrees, and something is compared.

        At a single size there is no finite-size extrapolation. The theory of sequences then lacks
        the features beyond the leading ones, and excess errors and spectra resolve this (theory
        note, section 10).
        """
        if self.gaussian:
            errors = all(abs(place.z) < BAND for place in self.places)
            parts = all(place.parts.agrees for place in self.places)
            return (
                errors
                and parts
                and self.comparison.agrees
                and all(panel.agrees for panel in self.panels.values())
            )
        return (
            bool(self.judged)
            and self.comparison.agrees
            and all(slope.agrees for slope in self.slopes if slope.judged)
        )


def study_scaling(plan: ScalingPlan, folder: Path) -> Steps[ScalingOutcome]:
    """Train what `folder` lacks, solve the theory, and compare.

    Args:
        plan: the plan.
        folder: folder of finished runs.

    Raises:
        NoAnswer: the theory has no answer where heads were trained.
        InvalidParameter: the data of a run do not fit into memory.
    """
    store = Store(folder, RunResult)
    runs = list(
        dict.fromkeys(
            [*plan.runs(), *(run for group in plan.spectrum_runs().values() for run in group)]
        )
    )
    require_memory(runs)
    training = [training_task(run, store) for run in runs]
    results = yield [*training, *theory_tasks(plan), *_line_tasks(plan)]
    trained = dict(zip(runs, results, strict=False))
    spectra = {key: [trained[run] for run in group] for key, group in plan.spectrum_runs().items()}
    return (yield from judge(plan, [trained[run] for run in plan.runs()], spectra))


def _line_tasks(plan: ScalingPlan) -> list[Task]:
    """Return the tasks of the theory of Gaussian indices along integer n at each planned point."""
    alphas = np.unique(np.geomspace(min(plan.alphas), max(plan.alphas), _LINE))
    return [
        scaling_curve_task(
            plan.run_at(dim, decay).problem, sorted({max(1, round(n)) for n in alphas * dim**2})
        )
        for dim, decay in plan.places()
    ]


def judge(
    plan: ScalingPlan,
    results: Sequence[RunResult],
    spectra: Mapping[tuple[DecayLaw, float], Sequence[RunResult]],
) -> Steps[ScalingOutcome]:
    """Compare trained heads with the theory.

    Args:
        plan: the plan.
        results: trained heads.
        spectra: spectra of the runs.

    Raises:
        NoAnswer: the theory has no answer where heads were trained.
    """
    solved = yield from theories(plan)
    places = tuple(_places(plan, results, solved))
    laws = {key: solved[point_key(group[0].run)].own.solution for key, group in spectra.items()}
    trusted = [key for key, solution in laws.items() if solution.trusted]
    drawn = yield [spectrum_task(spectra[key], laws[key]) for key in trusted]
    lines = yield _line_tasks(plan)
    return ScalingOutcome(
        plan,
        places,
        tuple(_slopes(plan, places)),
        {place: tuple(line) for place, line in zip(plan.places(), lines, strict=True)},
        {
            key: found
            for key, found in zip(trusted, drawn, strict=True)
            if found.theory.zero_mass < 1
        },
        plan.base.varied(dim=plan.sizes[-1][0]).target_eigenvalues(),
        _comparison(plan, results, solved),
        *(_phases(plan) if plan.tiles else (None, ())),
    )


def _phases(plan: ScalingPlan) -> tuple[PhaseDiagram, tuple[Sketch, ...]]:
    noise = plan.base.problem.noise
    with progress("local slopes", plan.tiles**2) as watch:
        diagram = phase_diagram(plan.gamma, PHASE_DIM, noise, plan.tiles, watch)
    return diagram, spectrum_sketches(diagram, SKETCH_DIM, noise)


def _comparison(
    plan: ScalingPlan, results: Sequence[RunResult], solved: Mapping[PointKey, PointTheory]
) -> Comparison:
    """Compare runs with the theory of their indices where it applies; list all runs that did not
    converge.
    """
    excluded = tuple(result for result in results if result.status is not DescentStatus.CONVERGED)
    judged = [
        result
        for result in results
        if solved[point_key(result.run)].whole_feature
        and plan.theory_applies_at_every_size(result.run.dim, result.run.samples)
    ]
    if not judged:
        return Comparison((), (), excluded)

    def expected(problems: Sequence[Problem]) -> list[TheoryValues]:
        sizes = [power_law_of(problem).dim for problem in problems]
        keys = [
            (dim, p.lambda_, round(p.alpha * dim**2))
            for dim, p in zip(sizes, problems, strict=True)
        ]
        return [expected_of(solved[key].own.solution.unwrap()) for key in keys]

    found = compare_with_theory(judged, expected, lambda run: _law(run, plan))
    return dataclasses.replace(found, excluded=excluded)


def _law(run: Run, plan: ScalingPlan) -> Problem:
    """Return the key of the point of a run: runs of one law of weight decay belong together at
    every size.
    """
    dim = plan.sizes[-1][0]
    return run.varied(dim=dim, lambda_=plan.decay_of(run).at(dim)).problem


def _places(
    plan: ScalingPlan, results: Sequence[RunResult], solved: Mapping[PointKey, PointTheory]
) -> Iterator[TrainedPoint]:
    groups: dict[PointKey, list[RunResult]] = {}
    for result in results:
        if result.status is DescentStatus.CONVERGED:
            groups.setdefault(point_key(result.run), []).append(result)
    limits = {
        (dim, decay): limits_of(plan.run_at(dim, decay).problem) for dim, decay in plan.places()
    }
    for key, group in groups.items():
        (dim, _, n), (gaussian, own) = key, solved[key]
        decay = plan.decay_of(group[0].run)
        learned = solved[key].learned
        yield TrainedPoint(
            dim,
            decay,
            group[0].run.problem.alpha,
            n,
            tuple(r.excess_error for r in group),
            gaussian.excess_error,
            own.excess_error,
            own.excess_uncertainty / STANDARD_ERRORS,
            _regime(plan.run_at(dim, decay).problem, n),
            learned,
            solved[key].whole_feature,
            error_parts(group, learned, limits[dim, decay], own.solution, own.excess_error),
        )


def _regime(problem: Problem, samples: float) -> Regime:
    target = power_law_of(problem)
    logs = (math.log(samples), math.log(problem.lambda_), math.log(target.dim))
    return regime_at(Fraction(str(target.gamma)), *logs)


def _slopes(plan: ScalingPlan, places: Sequence[TrainedPoint]) -> Iterator[Slope]:
    """Return one slope for each window, in the order of the plan."""
    windows = [
        (window, all(plan.theory_applies(dim, place.samples) for place in window))
        for dim, decay in plan.places()
        for window in _windows(
            [place for place in places if (place.dim, place.decay) == (dim, decay)]
        )
    ]
    together = 1 - (1 - INTERVAL_PROBABILITY) / max(1, sum(judged for _, judged in windows))
    for window, judged in windows:
        yield slope_over(window, np.random.default_rng(plan.base.entropy), judged, together)


def _windows(places: Sequence[TrainedPoint]) -> Iterator[Sequence[TrainedPoint]]:
    """Return the fit window of each regime that has enough points.

    A regime needs _LEAST_POINTS places with at least one learned feature and scatter between runs.
    """
    for regime in dict.fromkeys(place.regime for place in places):
        inside = (place for place in places if place.regime == regime and place.whole_feature)
        window = [place for place in inside if len(place.excess) >= MINIMUM_RUNS]
        if len(window) >= _LEAST_POINTS:
            yield window


def slope_over(
    window: Sequence[TrainedPoint], rng: np.random.Generator, judged: bool, together: float
) -> Slope:
    """Return the slope over points of one size and law, with bootstrap intervals over runs and over
    the error of the theory.

    Args:
        window: points of the window.
        rng: source of the bootstrap.
        judged: whether the theory applies.
        together: number of slopes whose intervals hold jointly.
    """
    samples = [place.samples for place in window]
    rows = [np.array(place.excess) for place in window]
    expected = np.array([place.expected for place in window])
    scatter = expected + np.array([place.expected_error for place in window]) * rng.standard_normal(
        (DRAWS, len(window))
    )
    value, theory = (
        float(log_slope(samples, errors))
        for errors in (np.array([row.mean() for row in rows]), expected)
    )
    drawn = (
        log_slope(samples, np.stack([bootstrap_means(row, rng) for row in rows], axis=1))
        + log_slope(samples, scatter)
        - theory
    )
    runs = min(len(row) for row in rows)
    trained, held = (
        student_interval(value, drawn, runs, level) for level in (INTERVAL_PROBABILITY, together)
    )
    first, regime = window[0], window[0].regime
    ends = (first.samples, window[-1].samples)
    return Slope(
        first.dim,
        first.decay,
        regime.name,
        ends,
        trained,
        held,
        theory,
        float(regime.risk[0]),
        judged,
    )
