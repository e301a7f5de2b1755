"""Message passing compared with its state evolution: a score for every order parameter and error
after every step.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.law import Target
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.messages.bayes_evolution import bayes_evolution
from numeric.messages.stages import Stage
from numeric.messages.state_evolution import state_evolution
from numeric.problem.problem import Problem
from verify.core.draw import require_memory
from verify.core.pool import Steps, training_task
from verify.core.realised_problem import TheoryValues, expected_values, nominal_problem
from verify.core.run import Run
from verify.core.scores import BAND, Score, score_at
from verify.core.store import Store
from verify.studies.message_passing.study import require_convex
from verify.studies.message_passing.trajectory import Messages, Trajectory, follow_messages


class StepResult(NamedTuple):
    """One trajectory after one step, as a score reads it."""

    run: Run
    q0: float
    m: float
    q: float
    V: float
    estimation_error: float
    test_error: float


@dataclass(frozen=True)
class TrajectoryPoint:
    """All trajectories at one sample ratio: for each step a score of each quantity of a Stage, in
    that order.
    """

    problem: Problem
    messages: Messages
    steps: tuple[tuple[Score, ...], ...]

    @property
    def worst(self) -> Score:
        """Return the score farthest from zero; NaN counts as infinite."""
        return max(
            (score for step in self.steps for score in step),
            key=lambda s: abs(s.z) if s.z == s.z else float("inf"),
        )

    @property
    def undetermined(self) -> Score | None:
        """Return a score whose standard error exceeds its value, or None. Messages of small d can
        diverge, and then any value would agree.
        """
        scores = (score for step in self.steps for score in step)
        return next(
            (score for score in scores if score.standard_error > abs(score.groups[-1].theory)), None
        )

    @property
    def agrees(self) -> bool:
        """Return whether every quantity agrees with state evolution after every step, with small
        enough errors.
        """
        return abs(self.worst.z) < BAND and self.undetermined is None


def study_trajectories(
    base: Run,
    alphas: Sequence[float],
    sizes: Sequence[tuple[int, int]],
    messages: Messages,
    store: Store[Trajectory],
) -> Steps[tuple[TrajectoryPoint, ...]]:
    """Follow the messages that `store` lacks, and compare with state evolution.

    Args:
        base: all other parameters.
        alphas: sample ratios.
        sizes: pairs (d, number of runs).
        messages: kind of messages and number of steps.
        store: finished trajectories.

    Raises:
        InvalidParameter: these messages do not solve a run.
        WorkerError: a run failed.
        NoAnswer: messages break off.
    """
    (require_posterior if messages.optimal else require_convex)(base)
    runs = [
        base.varied(alpha=a, dim=dim, index=i)
        for a in alphas
        for dim, count in sizes
        for i in range(count)
    ]
    require_memory(runs)
    follow = partial(follow_messages, messages=messages)
    results = yield [training_task(run, store, follow) for run in runs]
    return tuple(
        trajectory_point([r for r in results if r.run.problem.alpha == alpha], messages)
        for alpha in alphas
    )


def require_posterior(run: Run) -> None:
    """Raise InvalidParameter if the posterior means of the target or of a label have no closed
    form.
    """
    if not isinstance(run.problem.target, MarchenkoPastur):
        raise InvalidParameter(
            "target", run.problem.target, "has no posterior mean here", "use --kappa0"
        )
    if run.problem.tokens != 2:
        rule = "the posterior mean of a label is averaged for two tokens"
        raise InvalidParameter("tokens", run.problem.tokens, rule, "use 2")


def trajectory_point(results: Sequence[Trajectory], messages: Messages) -> TrajectoryPoint:
    """Compare trajectories at one sample ratio with state evolution at their realised problems.

    Args:
        results: trajectories.
        messages: kind of messages.
    """
    problem = nominal_problem(results[0].run, max(result.run.dim for result in results))
    expected = expected_values(
        results, partial(expected_stages, messages=messages, law=problem.target)
    )
    return TrajectoryPoint(
        problem,
        messages,
        tuple(_scores(k, problem, results, expected) for k in range(messages.steps)),
    )


def expected_stages(
    problems: Sequence[Problem], messages: Messages, law: Target
) -> list[TheoryValues]:
    """Return state evolution at each problem; Bayes-optimal messages know the law of the target,
    not its eigenvalues.

    Args:
        problems: realised problems.
        messages: kind of messages.
        law: law of the target.
    """
    expected = []
    for problem in problems:
        if messages.optimal:
            known = problem.target if isinstance(problem.target, MarchenkoPastur) else law
            stages = bayes_evolution(
                dataclasses.replace(problem, target=known), messages.start, messages.steps
            )
            expected.append(
                TheoryValues(_flat(stages), _flat([Stage(*(0.0,) * 5)] * messages.steps))
            )
        else:
            evolution = state_evolution(problem, messages.start, messages.steps)
            expected.append(TheoryValues(_flat(evolution.stages), _flat(evolution.errors)))
    return expected


def _flat(stages: Sequence[Stage]) -> dict[str, float]:
    return {
        _key(name, k): float(value)
        for k, stage in enumerate(stages)
        for name, value in stage._asdict().items()
    }


def _key(quantity: str, step: int) -> str:
    return f"{quantity} {step}"


def _scores(
    step: int, problem: Problem, results: Sequence[Trajectory], expected: dict[Run, TheoryValues]
) -> tuple[Score, ...]:
    at_step = [StepResult(result.run, result.q0, *result.stages[step]) for result in results]
    pairs = [(measured, _at(step, expected[measured.run])) for measured in at_step]
    return tuple(score_at(quantity, problem, pairs) for quantity in Stage._fields)


def _at(step: int, expected: TheoryValues) -> TheoryValues:
    values, errors = (
        {q: of[_key(q, step)] for q in Stage._fields} for of in (expected.values, expected.errors)
    )
    return TheoryValues(values, errors)
