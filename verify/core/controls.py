"""Heads compared with the theory of their tokens, and with theories that leave a property of the
tokens out as controls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from numeric.problem.problem import Problem
from verify.core.campaign import Campaign
from verify.core.draw import require_memory
from verify.core.measure import RunResult
from verify.core.pool import Steps, training_task
from verify.core.run import Run
from verify.core.scores import Comparison, compare_with_theory
from verify.core.store import Store
from verify.core.theory import predictions_of, with_gaussian_norms, without_covariance


@dataclass(frozen=True)
class Control:
    """A theory that leaves a property of the tokens out.

    Attributes:
        key: key in documents.
        theory: what the theory has instead, e.g. "isotropic tokens".
        applies: whether the tokens of a problem have the property.
        changed: problem without it.
    """

    key: str
    theory: str
    applies: Callable[[Problem], bool]
    changed: Callable[[Problem], Problem]


#: The isotropic theory gets the measured second moment of the whitened target, so that it differs
#: by the penalty alone.
WITHOUT_COVARIANCE = Control(
    "isotropic", "isotropic tokens", lambda problem: problem.has_covariance, without_covariance
)
WITHOUT_NORMS = Control(
    "gaussian_norms", "Gaussian norms", lambda problem: problem.has_norms, with_gaussian_norms
)
WITHOUT_VOCABULARY = Control(
    "new_tokens",
    "new tokens in every sample",
    lambda problem: problem.has_vocabulary,
    lambda problem: problem.of_new_tokens,
)
CONTROLS = (WITHOUT_COVARIANCE, WITHOUT_NORMS, WITHOUT_VOCABULARY)


@dataclass(frozen=True)
class ControlledPlan:
    """Runs of one campaign.

    Attributes:
        base: parameters that do not vary.
        campaign: sizes, sample ratios and widths.
        title: heading of the section.
        tokens: name of the tokens in text, e.g. "tokens with a covariance".
        must_reject: control that must be rejected; None if none must be. A weak property changes
            too little for that.
    """

    base: Run
    campaign: Campaign
    title: str
    tokens: str
    must_reject: Control | None = None


@dataclass(frozen=True)
class ControlledOutcome:
    """Comparison with the theory of the tokens, and with that of each control that applies."""

    plan: ControlledPlan
    comparison: Comparison
    controls: Mapping[Control, Comparison]

    @property
    def agrees(self) -> bool:
        """Return whether the theory agrees and the control of the plan is rejected."""
        required = self.plan.must_reject
        return self.comparison.agrees and (required is None or self.rejects(required))

    def rejects(self, control: Control) -> bool:
        """Return whether the theory of a control disagrees."""
        return not self.controls[control].agrees


def covariance_plan(base: Run, campaign: Campaign, must_reject: bool = False) -> ControlledPlan:
    """Return the plan of tokens with a covariance that is independent of the target.

    Args:
        base: parameters that do not vary.
        campaign: sizes, sample ratios and widths.
        must_reject: whether the theory of isotropic tokens must be rejected.
    """
    control = WITHOUT_COVARIANCE if must_reject else None
    named = "Tokens with a covariance", "tokens with a covariance"
    return ControlledPlan(base, campaign, *named, control)


def vocabulary_plan(base: Run, campaign: Campaign, must_reject: bool = False) -> ControlledPlan:
    """Return the plan of tokens of a finite vocabulary.

    Args:
        base: parameters that do not vary.
        campaign: sizes, sample ratios and widths.
        must_reject: whether the theory of new tokens must be rejected.
    """
    control = WITHOUT_VOCABULARY if must_reject else None
    named = "Tokens of a finite vocabulary", "tokens of a vocabulary"
    return ControlledPlan(base, campaign, *named, control)


def study_controls(plan: ControlledPlan, folder: Path) -> Steps[ControlledOutcome]:
    """Train what `folder` lacks and compare with all theories.

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
    controls = {}
    for control in CONTROLS:
        if control.applies(plan.base.problem):
            stage = f"theory of {control.theory}"
            other = yield from predictions_of(results, control.changed, stage)
            controls[control] = compare_with_theory(results, other)
    return ControlledOutcome(plan, comparison, controls)
