"""Overlaps and errors of one model along the sample ratio: theory and trained points."""

from __future__ import annotations

from verify.core.curve_panel import Curve, trained_figure
from verify.core.drawing import render_figure
from verify.studies.models.study import ModelOutcome


def model_figure(outcome: ModelOutcome) -> bytes:
    """Draw overlaps m and q, train and test error as PNG; points of other settings than those of
    the line are left out.
    """
    first = outcome.scores[0].problem
    on_line = tuple(score for score in outcome.scores if score.problem.at(first.alpha) == first)
    return render_figure(lambda: trained_figure(Curve(outcome.model, outcome.curve, on_line)))[
        "png"
    ]
