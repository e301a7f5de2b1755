"""Study of message passing: steps, end points, and the Bayes optimum."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from numeric.studies.bayes_comparison import BayesPoint, bayes_curve
from verify.core.data import DataKind
from verify.core.pool import Steps
from verify.core.run import Run
from verify.studies.message_passing.study import (
    MessagePassingPoint,
    message_store,
    study_message_passing,
)
from verify.studies.message_passing.trajectories import TrajectoryPoint, study_trajectories
from verify.studies.message_passing.trajectory import Messages, trajectory_store


@dataclass(frozen=True)
class MessagePlan:
    """Sample ratios and sizes (d, number of runs) at the parameters of `base`.

    Attributes:
        messages: steps compared with state evolution; None for none.
        bayes: whether the steps are Bayes-optimal.
    """

    base: Run
    alphas: tuple[float, ...]
    sizes: tuple[tuple[int, int], ...]
    messages: Messages | None
    bayes: bool


@dataclass(frozen=True)
class MessageOutcome:
    """Trajectories, end points of messages, and the Bayes optimum."""

    plan: MessagePlan
    trajectories: tuple[TrajectoryPoint, ...]
    points: tuple[MessagePassingPoint, ...]
    optima: tuple[BayesPoint, ...]

    @property
    def agrees(self) -> bool:
        """Return whether every trajectory and every end agrees."""
        ends = all(point.agrees for point in self.points)
        return ends and all(trajectory.agrees for trajectory in self.trajectories)


def study_messages(plan: MessagePlan, folder: Path) -> Steps[MessageOutcome]:
    """Pass messages for runs that the folder lacks, and compare with state evolution, descent and
    theory.

    Args:
        plan: the plan.
        folder: folder of finished runs.

    Raises:
        InvalidParameter: message passing does not solve a run.
        NoAnswer: an iteration breaks off, or the theory has no answer.
    """
    trajectories: tuple[TrajectoryPoint, ...] = ()
    if plan.messages:
        store = trajectory_store(folder, plan.messages)
        trajectories = yield from study_trajectories(
            plan.base, plan.alphas, plan.sizes, plan.messages, store
        )
    points: tuple[MessagePassingPoint, ...] = ()
    if (
        not plan.bayes and plan.base.data is DataKind.GAUSSIAN_EQUIVALENT
    ):  # on sequences of small d messages may not converge
        points = yield from study_message_passing(
            plan.base, plan.alphas, plan.sizes, message_store(folder)
        )
    optima = bayes_curve(plan.base.problem, plan.alphas) if plan.bayes else []
    return MessageOutcome(plan, trajectories, points, tuple(optima))
