"""Thresholds along the rank of the target, theory alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from numeric.engines.task import Task
from numeric.thresholds.along_rank import (
    RankThresholds,
    direct_interpolation,
    thresholds_along_rank,
)
from verify.core.pool import Steps

_COST = 20.0  #: estimated seconds


@dataclass(frozen=True)
class RankThresholdPlan:
    """Rank ratios kappa0 in increasing order, and variances of the label noise."""

    kappa0: tuple[Fraction, ...]
    noises: tuple[Fraction, ...]


@dataclass(frozen=True)
class RankThresholdOutcome:
    """Thresholds by rank ratio in units of D alpha, which do not depend on the number of tokens.

    Attributes:
        noises: variances of the label noise, in the order of the columns.
        rows: thresholds of factors, one row per rank ratio.
        symmetric: interpolation threshold of a symmetric matrix trained directly.
        general: interpolation threshold of a general matrix trained directly, for two tokens.
    """

    noises: tuple[Fraction, ...]
    rows: tuple[RankThresholds, ...]
    symmetric: float
    general: float

    @property
    def agrees(self) -> bool:
        """Return whether the thresholds have the order that the theory requires at every rank."""
        return all(map(ordered, self.rows))


def study_rank_thresholds(plan: RankThresholdPlan, folder: Path) -> Steps[RankThresholdOutcome]:
    """Compute the thresholds of the plan; `folder` is not used because nothing is trained."""
    job = Task(thresholds_along_rank, (plan.kappa0, plan.noises), _COST, "thresholds", "theory")
    (rows,) = yield [job]
    symmetric, general = map(direct_interpolation, ("direct_symmetric", "direct_general"))
    return RankThresholdOutcome(plan.noises, tuple(rows), symmetric, general)


def ordered(row: RankThresholds) -> bool:
    """Return whether the thresholds are ordered as the theory requires.

    Bayes recovery is at or below recovery, which is at or below interpolation without noise. More
    noise lowers the interpolation threshold.
    """
    fitted = (row.interpolation_limit, *row.interpolation)
    return row.bayes <= row.recovery <= row.interpolation_limit and all(
        more > less for more, less in pairwise(fitted)
    )
