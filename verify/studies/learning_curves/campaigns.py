"""Learning curves of campaigns: the theory along the sample ratio, and trained heads compared with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from numeric.problem.solution import Solution
from verify.core.campaign import CURVE_POINTS, Campaign
from verify.core.data import DataKind
from verify.core.measure import RunResult
from verify.core.pool import Job, Steps, training_job
from verify.core.run import Run
from verify.core.scores import Comparison, compare_with_theory
from verify.core.store import Store
from verify.core.theory import curve_job, predictions_of


@dataclass(frozen=True)
class CampaignPlan:
    """Campaigns with the parameters of `base`; the theory is solved along alpha at each of their widths."""

    base: Run
    campaigns: tuple[Campaign, ...]

    def widths(self) -> list[float]:
        """Return every width once."""
        return list(dict.fromkeys(width for campaign in self.campaigns for width in campaign.widths))

    def runs(self) -> list[Run]:
        """Return every run once."""
        return list(dict.fromkeys(run for campaign in self.campaigns for run in campaign.runs(self.base)))


@dataclass(frozen=True)
class TheoryCurves:
    """Solutions along alpha, by width."""

    base: Run
    curves: Mapping[float, Sequence[Solution]]


@dataclass(frozen=True)
class CampaignOutcome:
    """Comparison of each kind of data with the theory, the theory's curves, and the results by run."""

    plan: CampaignPlan
    comparisons: Mapping[DataKind, Comparison]
    curves: Mapping[float, Sequence[Solution]]
    results: Mapping[Run, RunResult]

    @property
    def agrees(self) -> bool:
        """Whether every quantity agrees on every kind of data."""
        return all(comparison.agrees for comparison in self.comparisons.values())


def solve_curves(plan: CampaignPlan) -> Steps[TheoryCurves]:
    """Solve the theory along alpha at each width. Raises NoAnswer if it has none."""
    widths = plan.widths()
    solved = yield [_curve_job(plan, width) for width in widths]
    return TheoryCurves(plan.base, {width: list(curve.values()) for width, curve in zip(widths, solved, strict=True)})


def study_campaigns(plan: CampaignPlan, store: Store[RunResult]) -> Steps[CampaignOutcome]:
    """Train what `store` lacks and compare with the theory. Raises NoAnswer if the theory has none."""
    runs = plan.runs()
    results = dict(zip(runs, (yield [training_job(run, store) for run in runs]), strict=True))
    theory = yield from solve_curves(plan)
    groups: dict[DataKind, list[RunResult]] = {}
    for campaign in plan.campaigns:
        groups.setdefault(campaign.data, []).extend(results[run] for run in campaign.runs(plan.base))
    comparisons = {}
    for kind, group in groups.items():
        comparisons[kind] = compare_with_theory(group, (yield from predictions_of(group)))
    return CampaignOutcome(plan, comparisons, theory.curves, results)


def _curve_job(plan: CampaignPlan, width: float) -> Job:
    alphas = [alpha for campaign in plan.campaigns for alpha in campaign.alphas]
    grid = np.geomspace(min(alphas), max(alphas), CURVE_POINTS)
    return curve_job(dataclasses.replace(plan.base.problem, width=width), grid.tolist(), "theory curves")
