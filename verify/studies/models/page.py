"""Self-contained page of one model."""

from __future__ import annotations

from collections.abc import Mapping

from numeric.problem.problem import Problem
from verify.core.scores import BAND, Score
from verify.core.text import LABELS
from verify.report.html import (
    equations,
    figure_element,
    formatted,
    how_to_repeat,
    page,
    score_table,
)
from verify.studies.models.study import ModelOutcome, judged

CAPTION = (
    "Along the sample ratio at the first setting. Lines: theory, first quantity solid, second "
    "dashed. Points: trained at the "
    "largest d, with standard errors, without any finite-size correction."
)


def model_page(
    outcome: ModelOutcome, title: str, content: bytes, rows: Mapping[str, object]
) -> str:
    """Return the page: verdict, learning curve, every score at every setting, equations, and how to
    repeat it.

    Args:
        outcome: the model.
        title: title of the page.
        content: figure as PNG.
        rows: further facts next to the command.
    """
    sections = (
        _verdict(outcome),
        figure_element(CAPTION, content),
        *(
            _setting_table(outcome, place)
            for place in dict.fromkeys(score.problem for score in outcome.scores)
        ),
        equations(outcome.model),
        how_to_repeat(rows),
    )
    lead = (
        "Theory against minimisation of the empirical risk on Gaussian-equivalent data, in "
        "standard errors."
    )
    return page(f"{outcome.model}: theory and training", title, lead, sections)


def _verdict(outcome: ModelOutcome) -> str:
    word, tone = ("agree", "good") if outcome.agrees else ("disagree", "bad")
    rows = "".join(
        _worst([score for score in outcome.scores if score.quantity == name])
        for name in judged(outcome.scores[0].problem)
    )
    return (
        f'<section class="verdict {tone}"><h2>Theory and simulation {word}.</h2><ul>{rows}</ul>'
        f"<p>Agreement: |z| &lt; {BAND:g} for every quantity at every setting.</p></section>"
    )


def _worst(scores: list[Score]) -> str:
    worst = max(scores, key=lambda score: abs(score.z))
    tone = "good" if all(score.agrees for score in scores) else "bad"
    return (
        f'<li class="{tone}"><b>{LABELS[worst.quantity]}</b>: worst z = '
        f"{formatted(worst.z, '+.1f')} of {len(scores)} settings</li>"
    )


def _setting_table(outcome: ModelOutcome, place: Problem) -> str:
    return score_table(
        setting_text(place),
        [score for score in outcome.scores if score.problem == place],
        judged(place),
    )


def setting_text(problem: Problem) -> str:
    """Return a setting as one line of text."""
    own = "".join(f", {name} = {value:g}" for name, value in problem.extra)
    return (
        f"α = {problem.alpha:g}, λ = {problem.lambda_:g}, Δ = {problem.noise:g}, target "
        f"{problem.target}{own}"
    )
