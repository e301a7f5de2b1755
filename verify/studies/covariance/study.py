"""Heads trained on tokens with a covariance that is independent of the target, compared with the
theory of this covariance, and with that of isotropic tokens as a control.

The isotropic theory gets the measured second moment of the whitened target, so that it differs by
the penalty alone. If the norms of the tokens are not Gaussian, a second control has the theory of
Gaussian norms.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.covariance.independent import IndependentCovariance
from verify.core.campaign import Campaign
from verify.core.draw import require_memory
from verify.core.measure import RunResult
from verify.core.pool import Steps, training_task
from verify.core.run import Run
from verify.core.scores import Comparison, compare_with_theory
from verify.core.store import Store
from verify.core.theory import predictions_of, with_gaussian_norms, without_covariance


@dataclass(frozen=True)
class CovariancePlan:
    """Runs of one campaign, with the covariance of the target of `base`.

    Raises:
        InvalidParameter: the tokens have no covariance that is independent of the target.
    """

    base: Run
    campaign: Campaign

    def __post_init__(self) -> None:
        target = self.base.problem.target
        if not isinstance(target, IndependentCovariance):
            rule = "has no covariance of the tokens that is independent of it"
            raise InvalidParameter("target", target, rule, "give IndependentCovariance")


@dataclass(frozen=True)
class CovarianceOutcome:
    """Comparison with the theory of the covariance, and with those of the controls.

    Attributes:
        plan: the plan.
        comparison: comparison with the theory of covariance and norms.
        isotropic: comparison with the theory of isotropic tokens of the same norms.
        gaussian_norms: comparison with the theory of Gaussian norms and the same covariance; None
            if the norms are Gaussian.
    """

    plan: CovariancePlan
    comparison: Comparison
    isotropic: Comparison
    gaussian_norms: Comparison | None = None

    @property
    def rejects_isotropic(self) -> bool:
        """Return whether the theory of isotropic tokens disagrees."""
        return not self.isotropic.agrees

    @property
    def rejects_gaussian_norms(self) -> bool | None:
        """Return whether the theory of Gaussian norms disagrees; None if the norms are Gaussian."""
        return None if self.gaussian_norms is None else not self.gaussian_norms.agrees

    @property
    def agrees(self) -> bool:
        """Return whether the theory with the covariance agrees."""
        return self.comparison.agrees


def study_covariance(plan: CovariancePlan, folder: Path) -> Steps[CovarianceOutcome]:
    """Train what `folder` lacks and compare with both theories.

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
    without = yield from predictions_of(results, without_covariance, "isotropic theory")
    isotropic = compare_with_theory(results, without)
    gaussian = None
    if plan.base.problem.has_norms:
        stage = "theory of Gaussian norms"
        other = yield from predictions_of(results, with_gaussian_norms, stage)
        gaussian = compare_with_theory(results, other)
    return CovarianceOutcome(plan, comparison, isotropic, gaussian)
