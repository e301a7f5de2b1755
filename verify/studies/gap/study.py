"""Universality gap: excess error of heads trained on token sequences over that of the theory, along
d and the decay of the target.

Indices of sequences are Gaussian if no eigenvalue of S has a finite share of tr S^2 (theory note,
end of section 8). For s_k ~ k^-gamma the share of the first eigenvalue falls like d^-(1 - 2 gamma)
below gamma = 1/2 and is constant above. Above 1/2 the gap remains; it vanishes for the theory that
keeps the leading features exactly (section 10).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attention_erm.runtime.errors import NoAnswer
from numeric.engines.task import Task
from numeric.laws.power_law import power_law
from numeric.studies.scaling import ScalingPoint
from verify.core.intervals import (
    STANDARD_ERRORS,
    precisions,
    quotient,
)
from verify.core.measure import RunResult
from verify.core.minimise import DescentStatus
from verify.core.pool import Steps, training_task
from verify.core.run import Run
from verify.core.scaling_curve import scaling_curve_task
from verify.core.scores import BAND
from verify.core.sequences import LEADING, leading_feature_count
from verify.core.store import Store


@dataclass(frozen=True)
class GapAtSize:
    """Mean excess error of the runs at one size over that of the theory at the same d eigenvalues,
    with its standard error.
    """

    dim: int
    runs: int
    ratio: float
    error: float


@dataclass(frozen=True)
class GapTrend:
    """Gaps of one target along d, and the limit a of the fit a + c d^-p with its standard error.

    `leading` is the number of features that the theory keeps exactly.
    """

    gamma: float
    leading: int
    gaps: tuple[GapAtSize, ...]
    power: float
    limit: float
    error: float

    @property
    def features_kept(self) -> str:
        """Return as text the number of features that the theory keeps exactly; empty if there are
        none.
        """
        return f", {self.leading} features treated exactly" if self.leading else ""

    @property
    def must_vanish(self) -> bool:
        """Return whether the theory of the limit applies: no eigenvalue treated as Gaussian has a
        finite share.
        """
        return self.gamma < 0.5 or self.leading > 0

    @property
    def z(self) -> float:
        """Return the limit minus one in its standard errors."""
        return quotient(self.limit - 1, self.error)

    @property
    def agrees(self) -> bool:
        """Return whether the gap vanishes where it must; elsewhere it is only reported."""
        return not self.must_vanish or abs(self.z) < BAND


@dataclass(frozen=True)
class GapPlan:
    """Exponents gamma of the target and sizes (d, number of runs), at the sample ratio and weight
    decay of `base`.
    """

    base: Run
    gammas: tuple[float, ...]
    sizes: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class GapOutcome:
    """A trend for each gamma. Above gamma = 1/2 there are two: Gaussian indices, and leading
    features treated exactly.
    """

    plan: GapPlan
    trends: tuple[GapTrend, ...]

    @property
    def agrees(self) -> bool:
        """Return whether the gap vanishes wherever it must."""
        return all(trend.agrees for trend in self.trends)


def study_gap(plan: GapPlan, folder: Path) -> Steps[GapOutcome]:
    """Train what `folder` lacks and compare the excess error with the theory along d.

    Args:
        plan: the plan.
        folder: folder of finished runs.

    Raises:
        NoAnswer: too few runs converged, or the theory has no answer.
    """
    store = Store(folder, RunResult)
    base = plan.base
    keys = [
        (gamma, leading)
        for gamma in plan.gammas
        for leading in ((0, LEADING) if gamma > 0.5 else (0,))
    ]
    runs = {
        gamma: [
            [base.varied(target=power_law(gamma, dim), dim=dim, index=i) for i in range(count)]
            for dim, count in plan.sizes
        ]
        for gamma in plan.gammas
    }
    training = [
        training_task(run, store) for groups in runs.values() for group in groups for run in group
    ]
    theory = [_theory_task(group[0], leading) for gamma, leading in keys for group in runs[gamma]]
    found = iter((yield [*training, *theory]))
    trained = {
        gamma: [[next(found) for _ in group] for group in groups] for gamma, groups in runs.items()
    }
    solved = {key: [next(found) for _ in plan.sizes] for key in keys}
    trends = (
        _trend(gamma, leading, tuple(map(_gap, trained[gamma], curves)))
        for (gamma, leading), curves in solved.items()
    )
    return GapOutcome(plan, tuple(trends))


def _theory_task(run: Run, leading: int) -> Task:
    problem = dataclasses.replace(run.problem, leading=min(leading, leading_feature_count(run.dim)))
    return scaling_curve_task(problem, [run.samples])


def _gap(results: Sequence[RunResult], curve: Sequence[ScalingPoint]) -> GapAtSize:
    dim = results[0].run.dim
    excess = [result.excess_error for result in results if result.status is DescentStatus.CONVERGED]
    if len(excess) < 2:
        raise NoAnswer(f"d = {dim}: fewer than two runs converged")
    (point,) = curve
    point.solution.unwrap()
    ratio, spread = (
        value / point.excess_error
        for value in (np.mean(excess), np.std(excess, ddof=1) / math.sqrt(len(excess)))
    )
    of_theory = point.excess_uncertainty / STANDARD_ERRORS / point.excess_error
    return GapAtSize(dim, len(excess), float(ratio), math.hypot(spread, ratio * of_theory))


def _trend(gamma: float, leading: int, gaps: tuple[GapAtSize, ...]) -> GapTrend:
    """Fit the gaps by weighted least squares; the power p is 1 above gamma = 1/2."""
    power = 1 - 2 * gamma if gamma < 0.5 else 1.0
    errors = np.array([gap.error for gap in gaps])
    weights = precisions(errors)
    design = np.array([[1.0, gap.dim**-power] for gap in gaps])
    shares = np.linalg.solve((design.T * weights) @ design, design.T * weights)[0]
    limit = float(shares @ [gap.ratio for gap in gaps])
    return GapTrend(gamma, leading, gaps, power, limit, float(np.linalg.norm(shares * errors)))
