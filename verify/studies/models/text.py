"""Text, table rows and JSON values of trained models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from numeric.problem.problem import Problem
from verify.core.documents import score_document, score_rows
from verify.core.scores import Score
from verify.core.text import missing_theory_lines
from verify.studies.models.study import ModelOutcome, judged


def model_document(outcome: ModelOutcome) -> dict[str, Any]:
    """One model trained at several settings as JSON values."""
    return {
        "model": outcome.model,
        "agrees": outcome.agrees,
        "points": [
            {
                **score_document(score),
                **dict(score.problem.extra),
                "target": repr(score.problem.target),
                "agrees": score.agrees,
            }
            for score in outcome.scores
        ],
        "curve": [
            {name: record[name] for name in ("alpha", "status", *judged(solution.problem))}
            for solution, record in ((one, one.record()) for one in outcome.curve)
        ],
    }


def model_rows(outcome: ModelOutcome) -> list[dict[str, object]]:
    """Return table rows of one model, each with its setting."""
    return [
        {**_parameters(score.problem), **row}
        for score in outcome.scores
        for row in score_rows([score])
    ]


def _parameters(problem: Problem) -> dict[str, object]:
    """Return the parameters of a problem of any model, with settings that only this model has."""
    taken = {
        name: getattr(problem, name) for name in ("tokens", "beta", "beta0") if problem.takes(name)
    }
    stated = {
        "target": repr(problem.target),
        "lambda": problem.lambda_,
        "noise": problem.noise,
        "width": problem.width,
    }
    return {
        **stated,
        **taken,
        "parametrisation": str(problem.parametrisation),
        **dict(problem.extra),
    }


def model_lines(outcomes: Iterable[ModelOutcome]) -> Iterator[str]:
    """Yield a line for each model, setting and quantity, and for each gap in a theory line."""
    for outcome in outcomes:
        yield from missing_theory_lines(outcome.model, outcome.curve)
        for score in outcome.scores:
            yield _model_line(score)


def _model_line(score: Score) -> str:
    problem = score.problem
    trained = ", ".join(
        f"{group.simulation:.5f} +- {group.standard_error:.5f}" for group in score.groups
    )
    place = (
        f"{problem.model}, alpha {problem.alpha:g}, lambda {problem.lambda_:g}, noise "
        f"{problem.noise:g}, {score.quantity}"
    )
    verdict = "" if score.agrees else " DISAGREES"
    return (
        f"{place}: theory {score.groups[-1].theory:.5f}; trained {trained}; z "
        f"{score.z:+.2f}{verdict}\n"
    )
