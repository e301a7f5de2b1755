"""Sequential recovery in training: overlaps of single features along n, and the n_k at which they
emerge.

Overlaps v_k^T S v_k are scored from the n_k of the theory on, in standard errors of its model.
Below n_k they are overlaps of noise and not Gaussian. An n_k agrees if the interval from training
contains that of the theory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from numeric.engines.task import Task
from numeric.problem.solution import Solution
from numeric.studies.sequential_recovery import FeatureOverlaps, feature_overlaps
from verify.core.draw import require_memory
from verify.core.intervals import (
    INTERVAL_PROBABILITY,
    Interval,
    quotient,
)
from verify.core.measure import RunResult
from verify.core.minimise import DescentStatus
from verify.core.pool import Steps, training_task
from verify.core.run import Run
from verify.core.scores import BAND, require_converged
from verify.core.store import Store
from verify.studies.emergence.location import emergence_interval
from verify.studies.emergence.overlaps import model_overlaps, trained_overlaps
from verify.studies.emergence.plan import EmergencePlan
from verify.studies.emergence.theory import EmergenceTheory, emergence_theory, theory_grid

MODEL_MAPS = 400  #: maps of the model at each n; their mean scatters 1/7 as much as that of 8 runs
_BISECTIONS = 5  #: approximate number of solves for each n_k
#: Seconds: a point of the theory with Gaussian indices, a point with leading features treated
#: exactly, a map of the model divided by d^2.
_COST, _COST_LEADING, _COST_MAP = (0.15, 10.0, 1e-6)


@dataclass(frozen=True)
class OverlapPoint:
    """Overlaps at one size and number of samples.

    Attributes:
        dim: size d.
        samples: number n of samples.
        trained: overlaps of the runs, arrays of shape (runs, features).
        model: overlaps of maps drawn from the theory's model, arrays of shape (MODEL_MAPS,
            features).
        formula: overlaps of the theory at infinite d, arrays of shape (features,).
        judged: whether each feature is scored, shape (features,).
    """

    dim: int
    samples: int
    trained: FeatureOverlaps
    model: FeatureOverlaps
    formula: FeatureOverlaps
    judged: np.ndarray

    @property
    def z(self) -> np.ndarray:
        """Return trained v_k^T S v_k minus the model's mean, in standard errors of the model, shape
        (features,).
        """
        runs, maps = self.trained.held, self.model.held
        error = maps.std(axis=0, ddof=1) * math.sqrt(1 / len(runs) + 1 / len(maps))
        residual = runs.mean(axis=0) - maps.mean(axis=0)
        return np.array([quotient(*pair) for pair in zip(residual, error, strict=True)])


@dataclass(frozen=True)
class Emergence:
    """The number n_k of samples at which one feature emerges.

    Attributes:
        dim: size d.
        feature: number k of the feature, from 1.
        eigenvalue: eigenvalue s_k of the target.
        theory: n_k of the theory.
        trained: n_k of training with an interval of 95 %; None if not within an octave of the
            theory's.
        judged: the same at the level at which all intervals of a study hold together.
    """

    dim: int
    feature: int
    eigenvalue: float
    theory: float
    trained: Interval | None
    judged: Interval | None

    @property
    def agrees(self) -> bool:
        """Return whether the feature emerges in training at the theory's n_k."""
        return self.judged is not None and self.theory in self.judged


@dataclass(frozen=True)
class EmergenceOutcome:
    """All measured overlaps and n_k.

    Attributes:
        plan: the plan.
        places: overlaps at each size and number of samples.
        emergences: n_k of each feature inside the samples trained.
        theory: theory by size.
        left_out: number of runs that did not converge.
    """

    plan: EmergencePlan
    places: tuple[OverlapPoint, ...]
    emergences: tuple[Emergence, ...]
    theory: Mapping[int, EmergenceTheory]
    left_out: int

    @property
    def scores(self) -> np.ndarray:
        """Return all scores that are judged."""
        return np.concatenate([np.zeros(0), *(place.z[place.judged] for place in self.places)])

    @property
    def agrees(self) -> bool:
        """Return whether there are scores and n_k, and all of them agree."""
        located = bool(self.emergences) and all(one.agrees for one in self.emergences)
        return located and len(self.scores) > 0 and bool(np.all(np.abs(self.scores) < BAND))


def study_emergence(plan: EmergencePlan, folder: Path) -> Steps[EmergenceOutcome]:
    """Compare single features in training with the theory.

    Args:
        plan: heads to train.
        folder: folder of finished runs; missing ones are trained.

    Raises:
        WorkerError: a run failed.
        NoAnswer: too few runs converged, or the theory has no answer.
        InvalidParameter: the data of a run would not fit into memory.
    """
    store, dims = Store(folder, RunResult), [dim for dim, _ in plan.sizes]
    runs = {dim: plan.runs(dim) for dim in dims}
    require_memory(group[0] for groups in runs.values() for group in groups)
    found = iter(
        (
            yield [
                *(
                    training_task(run, store)
                    for dim in dims
                    for group in runs[dim]
                    for run in group
                ),
                *(_theory_task(plan, dim) for dim in dims),
            ]
        )
    )
    results = {dim: [[next(found) for _ in group] for group in runs[dim]] for dim in dims}
    solved: dict[int, EmergenceTheory] = dict(zip(dims, found, strict=True))
    places: list[OverlapPoint] = []
    for dim in dims:
        places += yield from _overlap_points(plan, solved[dim], results[dim])
    failed = [
        result
        for groups in results.values()
        for result in chain.from_iterable(groups)
        if result.status is not DescentStatus.CONVERGED
    ]
    emergences = _emergences(plan, places, solved)
    return EmergenceOutcome(plan, tuple(places), emergences, solved, len(failed))


def _overlap_points(
    plan: EmergencePlan, theory: EmergenceTheory, results: Sequence[Sequence[RunResult]]
) -> Steps[list[OverlapPoint]]:
    """Return the overlaps at one size where the theory has a solution."""
    by_samples = {group[0].run.samples: group for group in results}
    groups = [require_converged(by_samples[n]) for n in theory.samples]
    pairs = list(zip(theory.solutions, groups, strict=True))
    drawn = yield [_model_task(solution, group[0].run, plan.features) for solution, group in pairs]
    places = []
    for (solution, group), model in zip(pairs, drawn, strict=True):
        run, count = group[0].run, plan.features
        applies = plan.theory_applies(run.dim, run.samples)
        judged = np.array(
            [applies and n is not None and run.samples >= n for n in theory.transitions]
        )
        trained, formula = trained_overlaps(group, count), feature_overlaps(solution, count)
        places.append(OverlapPoint(run.dim, run.samples, trained, model, formula, judged))
    return places


def _emergences(
    plan: EmergencePlan, places: Sequence[OverlapPoint], solved: Mapping[int, EmergenceTheory]
) -> tuple[Emergence, ...]:
    """Return n_k of the features that emerge inside the samples trained, at least one point from an
    end.
    """
    inside: list[tuple[int, int, float]] = []
    for dim, theory in solved.items():
        inner = theory.samples[1:-1]
        inside += [
            (dim, k, n_k)
            for k, n_k in enumerate(theory.transitions)
            if n_k and inner and inner[0] <= n_k <= inner[-1] and plan.theory_applies(dim, n_k)
        ]
    joint = 1 - (1 - INTERVAL_PROBABILITY) / max(1, len(inside))
    by_size = {dim: [place for place in places if place.dim == dim] for dim in solved}
    return tuple(
        _emergence(plan, by_size[dim], solved[dim], k, n_k, joint) for dim, k, n_k in inside
    )


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

    trained = [curves(place.trained) for place in places]
    model = [curves(place.model) for place in places]
    line, seed = (theory.line_samples, curves(theory.overlaps)), plan.base.entropy
    intervals = (
        emergence_interval(samples, trained, model, line, n_k, probability, seed)
        for probability in (INTERVAL_PROBABILITY, joint)
    )
    return Emergence(dim, k + 1, eigenvalue, n_k, *intervals)


def _theory_task(plan: EmergencePlan, dim: int) -> Task:
    problem, samples = plan.problem(dim), tuple(runs[0].samples for runs in plan.runs(dim))
    count = len(theory_grid(problem, samples)) + len(samples) + _BISECTIONS * plan.features
    cost = (_COST_LEADING if problem.leading else _COST) * count
    label = f"theory of the features at dim {dim}"
    return Task(emergence_theory, (problem, samples, plan.features), cost, label, "emergence")


def _model_task(solution: Solution, run: Run, count: int) -> Task:
    arguments = solution, run, count, MODEL_MAPS
    label = f"maps of the model at {run.label}"
    return Task(model_overlaps, arguments, _COST_MAP * run.dim**2 * MODEL_MAPS, label, "emergence")
