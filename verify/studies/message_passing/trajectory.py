"""One run of message passing step by step: a frozen, seeded run gives a frozen result."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from attention_erm.runtime.errors import NoAnswer
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.messages.stages import FirstMessage, Stage
from verify.core.draw import TrainingData, draw
from verify.core.measure import moments
from verify.core.run import Run
from verify.core.store import Store
from verify.studies.message_passing import posterior_steps
from verify.studies.message_passing.fresh_labels import (
    LabelPredictor,
    fresh_error,
    posterior_labels,
    student_labels,
)
from verify.studies.message_passing.iteration import message_steps, trace_penalty
from verify.studies.message_passing.posterior_steps import PosteriorEstimate


class Messages(NamedTuple):
    """Kind of messages: those of the risk or Bayes-optimal ones, with start and number of steps."""

    optimal: bool
    start: FirstMessage
    steps: int


@dataclass(frozen=True)
class Trajectory:
    """Order parameters and errors after each step, per d as in RunResult; test errors are measured
    on fresh samples.
    """

    run: Run
    q0: float
    stages: tuple[Stage, ...]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; `from_json` is the inverse."""
        return {**{k: v for k, v in vars(self).items() if k != "run"}, "run": self.run.record()}

    @classmethod
    def from_json(cls, run: Run, record: dict[str, Any]) -> Trajectory:
        """Return the result stored as `record`.

        Args:
            run: the run of the result.
            record: JSON values.

        Raises:
            KeyError, TypeError, ValueError: the record is invalid.
        """
        stages = tuple(Stage(*stage) for stage in record["stages"])
        return cls(run, record["q0"], stages, record["seconds"])


def trajectory_store(folder: Path, messages: Messages) -> Store[Trajectory]:
    """Return the store of finished trajectories of these messages in `folder`.

    Raises OSError if it cannot be written.
    """
    return Store(folder, Trajectory, "trajectories.jsonl", depends_on=repr(messages))


def follow_messages(run: Run, messages: Messages) -> Trajectory:
    """Draw the data of the run and pass messages on them.

    Args:
        run: the run.
        messages: kind of messages.

    Raises:
        NoAnswer: an inner minimisation fails, or messages break off before their last step.
    """
    started, drawn = time.perf_counter(), draw(run)
    passed = (
        _optimal(run, drawn, messages.start)
        if messages.optimal
        else _of_the_risk(run, drawn, messages.start)
    )
    stages = tuple(_measured(run, drawn.s0, *step) for step in islice(passed, messages.steps))
    if len(stages) < messages.steps:
        raise NoAnswer(f"{run.label}: messages broke off after {len(stages)} steps")
    return Trajectory(run, moments(drawn.s0, drawn.s0).q0, stages, time.perf_counter() - started)


def starting_map(run: Run, s0: torch.Tensor, start: FirstMessage) -> torch.Tensor:
    """Return the initial map S of the messages, shape (d, d).

    Args:
        run: run that gives target law and seed.
        s0: target S0, shape (d, d).
        start: kind of initial map.
    """
    dim, law = len(s0), run.problem.target
    match start:
        case FirstMessage.ZERO:
            return torch.zeros_like(s0)
        case FirstMessage.INFORMED:
            return s0
    mean = law.t0 * torch.eye(dim).to(s0)
    if start is FirstMessage.MEAN:
        return mean
    g = torch.as_tensor(np.random.default_rng(run.seeds()["start"]).standard_normal((dim, dim))).to(
        s0
    )
    return mean + math.sqrt((law.q0 - law.t0**2) / (2 * dim)) * (g + g.T)


def _of_the_risk(
    run: Run, drawn: TrainingData, start: FirstMessage
) -> Iterator[tuple[torch.Tensor, float, LabelPredictor]]:
    beta, first = run.problem.beta, starting_map(run, drawn.s0, start)
    for step in message_steps(drawn.inputs, drawn.labels, trace_penalty(run), beta, first):
        if step.has_next:
            yield step.s, step.V, student_labels(beta)


def _optimal(
    run: Run, drawn: TrainingData, start: FirstMessage
) -> Iterator[tuple[torch.Tensor, float, LabelPredictor]]:
    problem, law, first = run.problem, run.problem.target, starting_map(run, drawn.s0, start)
    assert isinstance(law, MarchenkoPastur)  # checked by the study
    known = PosteriorEstimate(first, float((first - drawn.s0).square().sum()) / run.dim)
    for s, V in posterior_steps.posterior_steps(
        drawn.inputs, drawn.labels, problem.noise, problem.beta0, law, known
    ):
        yield s, V, posterior_labels(problem.beta0, V + problem.noise / 2)


def _measured(
    run: Run, s0: torch.Tensor, s: torch.Tensor, V: float, predict: LabelPredictor
) -> Stage:
    m, q, q0 = moments(s, s0)
    return Stage(m, q, V, q0 - 2 * m + q, fresh_error(run, s, s0, predict))
