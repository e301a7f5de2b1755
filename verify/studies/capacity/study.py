"""Capacity in training: the sample ratio up to which labels are predicted, extrapolated in d."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import scipy

from numeric.engines.task import Task
from numeric.problem.problem import Problem
from numeric.studies.capacity import Capacity, capacity
from verify.core.data import DataKind
from verify.core.intervals import INTERVAL_PROBABILITY, Interval
from verify.core.pool import Steps, training_task
from verify.core.scores import BAND, ExtrapolatedResidual, SizeGroup, extrapolated, size_groups
from verify.core.sensing.run import ModelRun
from verify.core.store import Store
from verify.studies.capacity.separation import SeparationResult, SeparationRun, separate

#: Half-width of an interval over the capacity from which no verdict is given.
MAX_HALF_WIDTH = 0.15
#: The largest sample ratio of a run is this over d above the capacity: twice what runs reach.
_REACH = 16.0
_SECONDS = 3.0  # of the theory


@dataclass(frozen=True)
class CapacityCase:
    """One setting: a problem, and whether its labels are random."""

    problem: Problem
    random_labels: bool

    @property
    def setting(self) -> str:
        """Return the setting as text."""
        labels = "random labels" if self.random_labels else f"noise {self.problem.noise:g}"
        return f"{self.problem.model}, {labels}"


@dataclass(frozen=True)
class CapacityPlan:
    """Settings, sizes (d, number of runs), seed and data."""

    cases: tuple[CapacityCase, ...]
    sizes: tuple[tuple[int, int], ...]
    seed: int
    data: DataKind

    def runs(self, case: CapacityCase, largest: float) -> list[SeparationRun]:
        """Return the runs of a setting.

        Args:
            case: the setting.
            largest: capacity, beyond which runs of size d look up to 16/d.
        """
        return [
            SeparationRun(
                ModelRun(
                    case.problem.at(largest * (1 + _REACH / dim)),
                    dim,
                    index,
                    self.seed,
                    data=self.data,
                ),
                case.random_labels,
            )
            for dim, count in self.sizes
            for index in range(count)
        ]


@dataclass(frozen=True)
class CapacityEstimate:
    """Capacity of one setting, in theory and in training.

    Attributes:
        case: the setting.
        theory: capacity with its error.
        groups: sample ratios found in training, by size.
        infinite: their difference from the theory, extrapolated to infinite d.
        unresolved: largest half-width of a bracket that a run left.
    """

    case: CapacityCase
    theory: Capacity
    groups: tuple[SizeGroup, ...]
    infinite: ExtrapolatedResidual
    unresolved: float

    @property
    def interval(self) -> Interval:
        """Return the capacity in training with its interval of 95 %."""
        tail = (1 + INTERVAL_PROBABILITY) / 2
        errors = float(scipy.stats.t.ppf(tail, self.infinite.degrees_of_freedom))
        value = self.theory.alpha + self.infinite.residual
        return Interval(value, value, value).widened(errors * self.infinite.standard_error)

    @property
    def decides(self) -> bool:
        """Return whether the interval is narrow enough for a verdict."""
        return self.interval.half_width < MAX_HALF_WIDTH * self.theory.alpha

    @property
    def agrees(self) -> bool:
        """Return whether theory and training agree, and the interval decides."""
        return self.decides and abs(self.infinite.z) < BAND


@dataclass(frozen=True)
class CapacityOutcome:
    """Every setting of a plan."""

    plan: CapacityPlan
    estimates: tuple[CapacityEstimate, ...]

    @property
    def agrees(self) -> bool:
        """Return whether every setting does."""
        return all(one.agrees for one in self.estimates)


def study_capacity(plan: CapacityPlan, folder: Path) -> Steps[CapacityOutcome]:
    """Compute the capacity of every setting, and find it in training.

    Args:
        plan: settings, sizes, seed and data.
        folder: folder of finished runs; missing ones are trained.

    Raises:
        NoAnswer: all labels can be predicted at any sample ratio.
        InvalidParameter: the capacity of a model is not derived.
    """
    store = Store(folder, SeparationResult, "capacity.jsonl")
    theory = yield [
        Task(capacity, (case.problem, case.random_labels), _SECONDS, "capacity", "theory")
        for case in plan.cases
    ]
    runs = [plan.runs(case, found.alpha) for case, found in zip(plan.cases, theory, strict=True)]
    results = iter((yield [training_task(run, store, separate) for group in runs for run in group]))
    return CapacityOutcome(
        plan,
        tuple(
            _estimate(case, found, [next(results) for _ in group])
            for case, found, group in zip(plan.cases, theory, runs, strict=True)
        ),
    )


def _estimate(
    case: CapacityCase, theory: Capacity, results: Sequence[SeparationResult]
) -> CapacityEstimate:
    measured = ((result.run.base.dim, result.alpha) for result in results)
    groups = size_groups(measured, theory.alpha)
    unresolved = max(result.half_width for result in results)
    found = extrapolated(groups, theory.error + unresolved)
    return CapacityEstimate(case, theory, groups, found, unresolved)
