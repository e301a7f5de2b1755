"""Message passing compared with a descent on the same data and with the order parameters of the
theory.

V and Vh do not appear in a descent: they are the response of the indices to their fields, and of
the losses to the indices.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from attention_erm.runtime.errors import InvalidParameter, NoAnswer
from numeric.problem.problem import Parametrisation, Problem
from verify.core.draw import draw, empirical_risk, require_memory
from verify.core.intervals import quotient
from verify.core.measure import moments
from verify.core.minimise import MINIMISERS, DescentStatus
from verify.core.pool import Steps, training_task
from verify.core.realised_problem import expected_values, nominal_problem
from verify.core.run import Run, result_record
from verify.core.scores import BAND, Score, score_at
from verify.core.store import Store
from verify.core.theory import predictions_with_progress
from verify.studies.message_passing.iteration import pass_messages, trace_penalty

ORDER_PARAMETERS = ("m", "q", "train_error", "V", "Vh")
SHARED = ("m", "q", "train_error")  #: order parameters that a descent has as well
#: relative change of S at the end of messages, which contract by about 0.6 per step
_TOLERANCE = 1e-6
#: Allowed relative difference of the two maps. A descent ends at a relative gradient of 1e-4; the
#: weight decay keeps the smallest curvature above a hundredth of the largest.
SAME_MAP = 1e-3


@dataclass(frozen=True)
class MessagePassingResult:
    """Order parameters at the end of messages, per d as in RunResult, and `descent`: those of
    SHARED at the end of the descent.

    Attributes:
        distance: distance of the two maps over the norm of the map.
        steps: steps of message passing.
        evaluations: evaluations of the risk by the descent.
        status: first failure of the two methods.
    """

    run: Run
    q0: float
    m: float
    q: float
    train_error: float
    V: float
    Vh: float
    descent: dict[str, float]
    distance: float
    steps: int
    evaluations: int
    status: DescentStatus
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; `from_json` is the inverse."""
        return result_record(self)

    @classmethod
    def from_json(cls, run: Run, record: dict[str, Any]) -> MessagePassingResult:
        """Return the result stored as `record`.

        Args:
            run: the run of the result.
            record: JSON values.

        Raises:
            KeyError, TypeError, ValueError: the record is invalid.
        """
        return cls(**{**record, "run": run, "status": DescentStatus[record["status"]]})


@dataclass(frozen=True)
class MessagePassingPoint:
    """All runs at one sample ratio: a score for each order parameter, means of the descents at the
    largest d, and the largest distance.

    `failed` lists runs in which messages or descent did not converge; they are left out.
    """

    problem: Problem
    scores: tuple[Score, ...]
    descent: dict[str, float]
    distance: float
    steps: int
    evaluations: int
    failed: tuple[MessagePassingResult, ...]

    @property
    def agrees(self) -> bool:
        """Return whether both methods reach one map, and every order parameter agrees with the
        theory.
        """
        return self.distance <= SAME_MAP and all(abs(score.z) < BAND for score in self.scores)


def message_store(folder: Path) -> Store[MessagePassingResult]:
    """Return the store of finished runs of this study in `folder`.

    Raises OSError if it cannot be written.
    """
    return Store(folder, MessagePassingResult, "message_passing.jsonl")


def study_message_passing(
    base: Run,
    alphas: Sequence[float],
    sizes: Sequence[tuple[int, int]],
    store: Store[MessagePassingResult],
) -> Steps[tuple[MessagePassingPoint, ...]]:
    """Run both methods where `store` lacks a result, and compare with the theory.

    Args:
        base: all other parameters.
        alphas: sample ratios.
        sizes: pairs (d, number of runs).
        store: finished runs.

    Raises:
        InvalidParameter: message passing does not solve a run.
        WorkerError: a run failed.
        NoAnswer: no run converged at some alpha, or the theory has no answer.
    """
    require_convex(base)
    runs = [
        base.varied(alpha=a, dim=dim, index=i)
        for a in alphas
        for dim, count in sizes
        for i in range(count)
    ]
    require_memory(runs)
    results = yield [training_task(run, store, minimise_by_both_methods) for run in runs]
    return tuple(
        _point([result for result in results if result.run.problem.alpha == alpha])
        for alpha in alphas
    )


def require_convex(run: Run) -> None:
    """Raise InvalidParameter for a run whose risk is not convex in S.

    Messages minimise over positive S with the trace penalty, which factors have from width 1 on.
    """
    problem = run.problem
    if problem.parametrisation is not Parametrisation.FACTORISED:
        raise InvalidParameter(
            "parametrisation",
            str(problem.parametrisation),
            "has no trace penalty",
            "use factorised",
        )
    if problem.width < 1:
        raise InvalidParameter(
            "width", problem.width, "width < 1 is not supported by message passing", "use 1 or more"
        )


def minimise_by_both_methods(run: Run) -> MessagePassingResult:
    """Run message passing and the minimiser on the data of the run.

    Raises NoAnswer if an inner minimisation fails.
    """
    started, drawn = time.perf_counter(), draw(run)
    risk, nothing = empirical_risk(run, drawn), torch.zeros_like(drawn.s0)
    passed = pass_messages(
        drawn.inputs, drawn.labels, trace_penalty(run), risk.beta, nothing, _TOLERANCE
    )
    minimum = MINIMISERS[run.minimiser]().minimise(risk, drawn.start)
    descended = risk.weights.attention_map(torch.as_tensor(minimum.weights, device=run.device))
    m, q, q0 = moments(passed.s, drawn.s0)
    of_descent = moments(descended, drawn.s0)
    return MessagePassingResult(
        run=run,
        q0=q0,
        m=m,
        q=q,
        train_error=risk.train_error(passed.s),
        V=passed.V,
        Vh=passed.Vh,
        descent={"m": of_descent.m, "q": of_descent.q, "train_error": risk.train_error(descended)},
        distance=quotient(float((passed.s - descended).norm()), float(descended.norm())),
        steps=passed.steps,
        evaluations=minimum.evaluations,
        status=passed.status if passed.status is not DescentStatus.CONVERGED else minimum.status,
        seconds=time.perf_counter() - started,
    )


def _point(results: Sequence[MessagePassingResult]) -> MessagePassingPoint:
    converged = [result for result in results if result.status is DescentStatus.CONVERGED]
    problem = nominal_problem(results[0].run, max(result.run.dim for result in results))
    if not converged:
        raise NoAnswer(f"alpha = {problem.alpha:g}: no run converged: {results[0].status.value}")
    expected = expected_values(
        converged, partial(predictions_with_progress, quantities=ORDER_PARAMETERS)
    )
    judged = [(result, expected[result.run]) for result in converged]
    largest = [
        result for result in converged if result.run.dim == max(r.run.dim for r in converged)
    ]
    return MessagePassingPoint(
        problem=problem,
        scores=tuple(score_at(name, problem, judged) for name in ORDER_PARAMETERS),
        descent={
            name: sum(result.descent[name] for result in largest) / len(largest) for name in SHARED
        },
        distance=max(result.distance for result in converged),
        steps=max(result.steps for result in converged),
        evaluations=max(result.evaluations for result in converged),
        failed=tuple(result for result in results if result.status is not DescentStatus.CONVERGED),
    )
