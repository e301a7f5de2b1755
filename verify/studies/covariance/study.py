"""Heads trained on tokens with a covariance that is independent of the target, compared with the
theory of this covariance, and with that of isotropic tokens as a control.

The isotropic theory gets the measured second moment of the whitened target, so that it differs by
the penalty alone. If the norms of the tokens are not Gaussian, a second control has the theory of
Gaussian norms.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.covariance.independent import IndependentCovariance
from numeric.laws.norms import GAUSSIAN_NORMS
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution
from verify.core.campaign import Campaign
from verify.core.draw import require_memory
from verify.core.measure import RunResult
from verify.core.minimise import DescentStatus
from verify.core.pool import Steps, training_task
from verify.core.realised_problem import TheoryValues, problems_to_solve
from verify.core.run import Run
from verify.core.scores import Comparison, compare_with_theory
from verify.core.store import Store
from verify.core.theory import curve_task, expected_of, families_of, predictions_of


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
    isotropic = yield from _control(results, without_covariance, "isotropic theory")
    gaussian = None
    if plan.base.problem.has_norms:
        gaussian = yield from _control(results, with_gaussian_norms, "theory of Gaussian norms")
    return CovarianceOutcome(plan, comparison, isotropic, gaussian)


def _control(
    results: Sequence[RunResult], changed: Callable[[Problem], Problem], name: str
) -> Steps[Comparison]:
    """Compare with the theory of other problems."""
    converged = [result for result in results if result.status is DescentStatus.CONVERGED]
    families = families_of([changed(problem) for problem in problems_to_solve(converged)])
    jobs = [curve_task(family, alphas, name) for family, alphas in families.items()]
    curves = dict(zip(families, (yield jobs), strict=True))

    def control(problems: Sequence[Problem]) -> list[TheoryValues]:
        return [_control_values(curves, changed(problem)) for problem in problems]

    return compare_with_theory(results, control)


def with_gaussian_norms(problem: Problem) -> Problem:
    """Return the problem of Gaussian tokens with the same covariance."""
    return dataclasses.replace(problem, norms=GAUSSIAN_NORMS)


def _control_values(curves: dict[Problem, dict[float, Solution]], problem: Problem) -> TheoryValues:
    return expected_of(curves[problem.at(1.0)][problem.alpha])


def without_covariance(problem: Problem) -> Problem:
    """Return the problem of isotropic tokens with the same second moment of the whitened target.

    Args:
        problem: problem of tokens with a covariance that is independent of the target.
    """
    target = problem.target
    assert isinstance(target, IndependentCovariance)
    scaled = target.target.scaled(math.sqrt(target.q0 / target.target.q0))
    return dataclasses.replace(problem, target=scaled)
