"""Sequential recovery in training: overlaps of single features along n beside the theory, and the n_k at which they emerge.

Overlaps v_k^T S v_k are scored from the theory's n_k on, in standard errors that the theory's model has itself: before, they are those
of noise alone, and no Gaussian numbers. An n_k agrees if the interval in which training has it holds the theory's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attention_erm.runtime.errors import NoAnswer
from numeric.problem.solution import Solution
from numeric.studies.sequential_recovery import FeatureOverlaps, feature_overlaps
from verify.core.draw import require_memory
from verify.core.intervals import INTERVAL_PROBABILITY, Interval
from verify.core.measure import RunResult
from verify.core.minimise import DescentStatus
from verify.core.pool import Job, Steps, training_job
from verify.core.run import Run
from verify.core.scores import BAND, MINIMUM_RUNS
from verify.core.store import Store
from verify.studies.emergence.location import emergence_interval
from verify.studies.emergence.overlaps import model_overlaps, trained_overlaps
from verify.studies.emergence.plan import EmergencePlan
from verify.studies.emergence.theory import EmergenceTheory, emergence_theory, theory_line

MODEL_MAPS = 400  #: drawn at each n: their mean then scatters by a seventh of that of eight runs
_BISECTIONS = 5  #: about, for each n_k
#: seconds: of a point of the theory without and with these; of a map, by d^2
_COST, _COST_LEADING, _COST_MAP = (0.15, 10.0, 1e-6)


@dataclass(frozen=True)
class OverlapPoint:
    """At one size and number of samples: overlaps of the runs and of the model's maps, shapes (runs or MODEL_MAPS, features), and
    the formula's, (features,).

    `judged`: which features are scored, (features,).
    """

    dim: int
    samples: int
    trained: FeatureOverlaps
    model: FeatureOverlaps
    formula: FeatureOverlaps
    judged: np.ndarray

    @property
    def z(self) -> np.ndarray:
        """Trained v_k^T S v_k less the model's mean in standard errors of the model, shape (features,)."""
        runs, maps = self.trained.held, self.model.held
        error = maps.std(axis=0, ddof=1) * math.sqrt(1 / len(runs) + 1 / len(maps))
        return np.divide(
            runs.mean(axis=0) - maps.mean(axis=0), error, out=np.zeros(len(error)), where=error > 0
        )


@dataclass(frozen=True)
class Emergence:
    """Feature number `feature` in dimension d: the theory's n_k, and that of training with its interval of 95 per cent.

    `judged` is the interval at the level at which all of a study hold together; both are None where training does not have it
    within an octave of the theory's.
    """

    dim: int
    feature: int
    eigenvalue: float
    theory: float
    trained: Interval | None
    judged: Interval | None

    @property
    def agrees(self) -> bool:
        """Whether training has it, at the theory's n_k."""
        return self.judged is not None and self.theory in self.judged


@dataclass(frozen=True)
class EmergenceOutcome:
    """Everything measured; `theory` by size; `left_out`: runs that did not converge."""

    plan: EmergencePlan
    places: tuple[OverlapPoint, ...]
    emergences: tuple[Emergence, ...]
    theory: Mapping[int, EmergenceTheory]
    left_out: int

    @property
    def scores(self) -> np.ndarray:
        """All scores that are judged."""
        return np.concatenate([np.zeros(0), *(place.z[place.judged] for place in self.places)])

    @property
    def agrees(self) -> bool:
        """Whether every score and every n_k does, and there are any."""
        located = bool(self.emergences) and all(one.agrees for one in self.emergences)
        return located and len(self.scores) > 0 and bool(np.all(np.abs(self.scores) < BAND))


def study_emergence(plan: EmergencePlan, folder: Path) -> Steps[EmergenceOutcome]:
    """Train what `folder` lacks, solve the theory, judge.

    Raises WorkerError if a run fails, NoAnswer where too few converged or the theory has none, InvalidParameter if data would not fit.
    """
    store = Store(folder, RunResult)
    jobs = {dim: _size_jobs(plan, dim, store) for dim, _ in plan.sizes}
    require_memory(runs[0] for dim, _ in plan.sizes for runs in plan.runs(dim))
    found = iter((yield [job for size in jobs.values() for job in size.all()]))
    solved, results = {}, {}
    for dim, size in jobs.items():
        results[dim] = [[next(found) for _ in group] for group in size.training]
        solved[dim] = next(found)
    places = []
    for dim in jobs:
        places += yield from _places(plan, solved[dim], results[dim])
    return EmergenceOutcome(
        plan,
        tuple(places),
        _emergences(plan, places, solved),
        solved,
        sum(
            not _converged(result)
            for groups in results.values()
            for group in groups
            for result in group
        ),
    )


class _SizeJobs(NamedTuple):
    """Of one size: training by number of samples, and the theory."""

    training: list[list[Job]]
    theory: Job

    def all(self) -> list[Job]:
        return [*(job for group in self.training for job in group), self.theory]


def _size_jobs(plan: EmergencePlan, dim: int, store: Store[RunResult]) -> _SizeJobs:
    training = [[training_job(run, store) for run in runs] for runs in plan.runs(dim)]
    return _SizeJobs(training, _theory_job(plan, dim))


def _converged(result: RunResult) -> bool:
    return result.status is DescentStatus.CONVERGED


def _places(
    plan: EmergencePlan, theory: EmergenceTheory, results: Sequence[Sequence[RunResult]]
) -> Steps[list[OverlapPoint]]:
    """Return the overlaps at one size, where the theory has a solution."""
    by_samples = {group[0].run.samples: group for group in results}
    groups = [_enough(by_samples[n]) for n in theory.samples]
    pairs = list(zip(theory.solutions, groups, strict=True))
    drawn = yield [_model_job(solution, group[0].run, plan.features) for solution, group in pairs]
    places = []
    for (solution, group), model in zip(pairs, drawn, strict=True):
        run, count = group[0].run, plan.features
        judged = np.array([_is_judged(plan, run, leaves) for leaves in theory.transitions])
        trained, formula = trained_overlaps(group, count), feature_overlaps(solution, count)
        places.append(OverlapPoint(run.dim, run.samples, trained, model, formula, judged))
    return places


def _enough(results: Sequence[RunResult]) -> list[RunResult]:
    kept = [result for result in results if _converged(result)]
    if len(kept) < MINIMUM_RUNS:
        raise NoAnswer(
            f"{len(kept)} runs converged at {results[0].run.label}: an interval needs {MINIMUM_RUNS}"
        )
    return kept


def _is_judged(plan: EmergencePlan, run: Run, leaves: float | None) -> bool:
    return (
        leaves is not None and plan.theory_applies(run.dim, run.samples) and run.samples >= leaves
    )


def _emergences(
    plan: EmergencePlan, places: Sequence[OverlapPoint], solved: Mapping[int, EmergenceTheory]
) -> tuple[Emergence, ...]:
    """Of the features that leave the bulk with a number of samples trained to spare on either side."""
    inside: list[tuple[int, int, float]] = []
    for dim, theory in solved.items():
        spared = theory.samples[1:-1]
        inside += [
            (dim, k, n_k)
            for k, n_k in enumerate(theory.transitions)
            if n_k and spared and spared[0] <= n_k <= spared[-1] and plan.theory_applies(dim, n_k)
        ]
    joint = 1 - (1 - INTERVAL_PROBABILITY) / max(1, len(inside))
    at = {dim: [place for place in places if place.dim == dim] for dim in solved}
    return tuple(_emergence(plan, at[dim], solved[dim], k, n_k, joint) for dim, k, n_k in inside)


def _emergence(
    plan: EmergencePlan,
    places: Sequence[OverlapPoint],
    theory: EmergenceTheory,
    k: int,
    n_k: float,
    joint: float,
) -> Emergence:
    dim, samples = places[0].dim, np.array([place.samples for place in places])
    eigenvalue = float(plan.at(dim).target_eigenvalues()[k])

    def curves(overlaps: FeatureOverlaps) -> np.ndarray:
        return np.stack([overlaps.held[:, k] / eigenvalue, overlaps.aligned[:, k]], axis=1)

    measured = (
        [curves(place.trained) for place in places],
        [curves(place.model) for place in places],
    )
    line, seed = (theory.line_samples, curves(theory.overlaps)), plan.base.entropy
    own, judged = (
        emergence_interval(samples, *measured, line, n_k, probability, seed)
        for probability in (INTERVAL_PROBABILITY, joint)
    )
    return Emergence(dim, k + 1, eigenvalue, n_k, own, judged)


def _theory_job(plan: EmergencePlan, dim: int) -> Job:
    problem, samples = plan.problem(dim), tuple(runs[0].samples for runs in plan.runs(dim))
    count = len(theory_line(problem, samples)) + len(samples) + _BISECTIONS * plan.features
    cost = (_COST_LEADING if problem.leading else _COST) * count
    arguments = problem, samples, plan.features
    return Job(
        emergence_theory, arguments, "emergence", cost, f"theory of the features at dim {dim}"
    )


def _model_job(solution: Solution, run: Run, count: int) -> Job:
    arguments = solution, run, count, MODEL_MAPS
    label = f"maps of the model at {run.label}"
    return Job(model_overlaps, arguments, "emergence", _COST_MAP * run.dim**2 * MODEL_MAPS, label)
