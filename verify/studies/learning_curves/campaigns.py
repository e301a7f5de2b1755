"""Learning curves of campaigns: the theory along the sample ratio, and trained heads compared with
it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from numeric.engines.task import Task
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution
from numeric.saddle.curve import learning_curve
from verify.core.campaign import CURVE_POINTS, Campaign
from verify.core.data import DataKind
from verify.core.draw import require_memory
from verify.core.measure import RunResult
from verify.core.pool import Steps, training_task
from verify.core.run import Run
from verify.core.scores import Comparison, compare_with_theory
from verify.core.store import Store
from verify.core.theory import ACCURACY, POINT_SECONDS, curve_task, predictions_of

_BEYOND = 1.2  #: factor by which a line extends beyond the trained points


@dataclass(frozen=True)
class CampaignPlan:
    """Campaigns with the parameters of `base`; the theory is solved along alpha at each of their
    widths.
    """

    base: Run
    campaigns: tuple[Campaign, ...]

    def widths(self) -> list[float]:
        """Return every width once."""
        return list(
            dict.fromkeys(width for campaign in self.campaigns for width in campaign.widths)
        )

    def runs(self) -> list[Run]:
        """Return every run once."""
        return list(
            dict.fromkeys(run for campaign in self.campaigns for run in campaign.runs(self.base))
        )


@dataclass(frozen=True)
class TheoryCurves:
    """Solutions along alpha, by width."""

    base: Run
    curves: Mapping[float, Sequence[Solution]]


@dataclass(frozen=True)
class CampaignOutcome:
    """Comparison of each kind of data with the theory, the curves of the theory, and the results by
    run.
    """

    plan: CampaignPlan
    comparisons: Mapping[DataKind, Comparison]
    curves: Mapping[float, Sequence[Solution]]
    results: Mapping[Run, RunResult]

    @property
    def agrees(self) -> bool:
        """Return whether every quantity agrees on every kind of data."""
        return all(comparison.agrees for comparison in self.comparisons.values())


def solve_curves(plan: CampaignPlan) -> Steps[TheoryCurves]:
    """Solve the theory along alpha at each width. Raises NoAnswer if it has none."""
    widths = plan.widths()
    solved = yield [_curve_task(plan, width) for width in widths]
    return TheoryCurves(
        plan.base,
        {width: list(curve.values()) for width, curve in zip(widths, solved, strict=True)},
    )


def study_campaigns(plan: CampaignPlan, folder: Path) -> Steps[CampaignOutcome]:
    """Train what `folder` lacks and compare with the theory.

    Args:
        plan: the plan.
        folder: folder of finished runs.

    Raises:
        NoAnswer: the theory has no answer.
    """
    store = Store(folder, RunResult)
    runs = plan.runs()
    results = dict(zip(runs, (yield [training_task(run, store) for run in runs]), strict=True))
    theory = yield from solve_curves(plan)
    groups: dict[DataKind, list[RunResult]] = {}
    for campaign in plan.campaigns:
        groups.setdefault(campaign.data, []).extend(
            results[run] for run in campaign.runs(plan.base)
        )
    comparisons = {}
    for kind, group in groups.items():
        comparisons[kind] = compare_with_theory(group, (yield from predictions_of(group)))
    return CampaignOutcome(plan, comparisons, theory.curves, results)


def _curve_task(plan: CampaignPlan, width: float) -> Task:
    alphas = [alpha for campaign in plan.campaigns for alpha in campaign.alphas]
    grid = np.geomspace(min(alphas), max(alphas), CURVE_POINTS)
    return curve_task(
        dataclasses.replace(plan.base.problem, width=width), grid.tolist(), "theory curves"
    )


@dataclass(frozen=True)
class CurvePlan:
    """One campaign at one width.

    `line` requests the theory between the sample ratios; `settings` states the parameters as text.
    """

    base: Run
    campaign: Campaign
    line: bool
    settings: str


@dataclass(frozen=True)
class CurveOutcome:
    """Comparison with the theory, and its line along alpha; the line is empty if the plan does not
    request it.
    """

    plan: CurvePlan
    comparison: Comparison
    line: tuple[Solution, ...]

    @property
    def agrees(self) -> bool:
        """Return whether every quantity agrees."""
        return self.comparison.agrees


def study_curve(plan: CurvePlan, folder: Path) -> Steps[CurveOutcome]:
    """Train what `folder` lacks and compare with the theory.

    Args:
        plan: the plan.
        folder: folder of finished runs.

    Raises:
        NoAnswer: the theory has no answer.
        InvalidParameter: the data of a run do not fit into memory.
    """
    store = Store(folder, RunResult)
    runs = plan.campaign.runs(plan.base)
    require_memory(runs)
    results = yield [training_task(run, store) for run in runs]
    comparison = compare_with_theory(results, (yield from predictions_of(results)))
    line = yield ([_line_task(plan)] if plan.line else [])
    return CurveOutcome(plan, comparison, tuple(line[0]) if line else ())


def _line_task(plan: CurvePlan) -> Task:
    """Return the task that solves the theory from just below the least sample ratio to just above
    the largest.
    """
    alphas = plan.campaign.alphas
    grid = np.geomspace(min(alphas) / _BEYOND, max(alphas) * _BEYOND, CURVE_POINTS).tolist()
    return Task(
        theory_line,
        (plan.base.problem, tuple(grid)),
        POINT_SECONDS * len(grid),
        "line of the theory",
        "line of the theory",
    )


def theory_line(problem: Problem, alphas: tuple[float, ...]) -> list[Solution]:
    """Return the theory at each alpha, including points without solution.

    Args:
        problem: all other parameters.
        alphas: sample ratios.
    """
    return learning_curve(problem, alphas, accuracy=ACCURACY)
