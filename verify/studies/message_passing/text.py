"""Text and JSON values of message passing step by step, and of the Bayes optimum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attention_erm.runtime.text_table import table_text
from numeric.maths.domain import finite
from numeric.messages.stages import Stage
from numeric.studies.bayes_comparison import BayesPoint
from verify.core.documents import run_document, size_documents
from verify.core.scores import BAND, Score
from verify.core.text import excluded_lines
from verify.studies.message_passing.study import MessagePassingPoint
from verify.studies.message_passing.trajectories import TrajectoryPoint


def trajectory_document(point: TrajectoryPoint) -> dict[str, Any]:
    """Return every score of every step with the sizes it is extrapolated from, and the verdict."""
    return {
        "alpha": point.problem.alpha,
        "optimal": point.messages.optimal,
        "start": str(point.messages.start),
        "agrees": point.agrees,
        "determined": point.undetermined is None,
        "steps": [
            {"step": k, **{score.quantity: _score(score) for score in scores}}
            for k, scores in enumerate(point.steps, 1)
        ],
    }


def trajectory_lines(point: TrajectoryPoint) -> Iterator[str]:
    """Yield a table: for each step messages at the largest d with standard error, state evolution
    there, and z at infinite d.
    """
    largest = point.steps[0][0].groups[-1]
    kind = "Bayes-optimal messages" if point.messages.optimal else "messages"
    yield (
        f"alpha {point.problem.alpha:g}, {kind} from {point.messages.start}: mean of "
        f"{largest.runs} runs at d = {largest.dim} with "
        "its standard error, state evolution at that target, z extrapolated in d\n"
    )
    named = [name.replace("_", " ") for name in Stage._fields]
    yield table_text(
        [
            {"step": k, **dict(zip(named, map(_cell, scores), strict=True))}
            for k, scores in enumerate(point.steps, 1)
        ]
    )
    yield (
        f"alpha {point.problem.alpha:g}: {_verdict(point)}; largest |z| {abs(point.worst.z):.1f} "
        f"({point.worst.quantity})\n"
    )


def _verdict(point: TrajectoryPoint) -> str:
    if point.agrees:
        return "agrees with state evolution at every step"
    if abs(point.worst.z) < BAND and point.undetermined:
        return (
            f"UNDETERMINED: {point.undetermined.quantity} scatters by more than its value; use "
            "larger --dim or more --runs"
        )
    return "DISAGREES with state evolution"


def optimum_line(point: BayesPoint) -> str:
    """Return the least errors with those at the best weight decay."""
    found = {
        name: "-" if value is None else f"{value:.5f}" for name, value in point.record().items()
    }
    return (
        f"alpha {point.problem.alpha:g}, theory: Bayes-optimal estimation error "
        f"{found['bayes_error']}, test error "
        f"{found['bayes_test_error']} (label of the posterior mean {found['plug_in_test_error']}); "
        "learned at the best weight decay "
        f"{found['lambda']} {found['estimation_error']} and {found['test_error']}\n"
    )


def _cell(score: Score) -> str:
    largest = score.groups[-1]
    return (
        f"{largest.simulation:.4f}+-{largest.standard_error:.4f} {largest.theory:.4f} "
        f"{score.z:+.1f}"
    )


def _score(score: Score) -> dict[str, Any]:
    largest = score.groups[-1]
    return {
        "simulation": largest.simulation,
        "standard_error": finite(largest.standard_error),
        "theory": largest.theory,
        "z_at_largest_size": finite(score.raw_in_errors),
        "z": finite(score.z),
        "extrapolated": {
            "residual": finite(score.residual),
            "standard_error": finite(score.standard_error),
        },
        "sizes": [
            {
                "dim": g.dim,
                "runs": g.runs,
                "simulation": g.simulation,
                "theory": g.theory,
                "standard_error": finite(g.standard_error),
            }
            for g in score.groups
        ],
    }


def message_passing_document(point: MessagePassingPoint) -> dict[str, Any]:
    """Return message passing at one sample ratio as JSON values: scores, descents, and excluded
    runs.
    """
    return {
        "alpha": point.problem.alpha,
        "agrees": point.agrees,
        "order_parameters": [
            {
                "quantity": s.quantity,
                "z": finite(s.z),
                "residual": finite(s.residual),
                "standard_error": finite(s.standard_error),
                "theory_error": finite(s.theory_error),
                "descent": point.descent.get(s.quantity),
                "sizes": size_documents(s),
            }
            for s in point.scores
        ],
        "largest_distance_of_maps": point.distance,
        "most_steps": point.steps,
        "most_evaluations": point.evaluations,
        "excluded": [
            {"run": run_document(r.run), "status": r.status.name.lower(), "advice": r.status.value}
            for r in point.failed
        ],
    }


def message_passing_lines(point: MessagePassingPoint) -> Iterator[str]:
    """Yield each order parameter of message passing, descent and theory, the distance of the two
    maps, and the excluded runs.
    """
    place = f"alpha {point.problem.alpha:g}"
    for score in point.scores:
        largest = score.groups[-1]
        descent = (
            f", descent {point.descent[score.quantity]:.5f}"
            if score.quantity in point.descent
            else ""
        )
        yield (
            f"{place} {score.quantity}: messages {largest.simulation:.5f} +- "
            f"{largest.standard_error:.5f}{descent}, theory "
            f"{largest.theory:.5f} (d = {largest.dim}); z {score.z:+.2f}\n"
        )
    word = "agrees" if point.agrees else "DISAGREES"
    yield (
        f"{place}: {word}; maps of messages and descent differ by {point.distance:.1e} or less, "
        f"after {point.steps} steps and "
        f"{point.evaluations} evaluations or fewer\n"
    )
    yield from excluded_lines(point.failed)
