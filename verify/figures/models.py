"""Figure of one model: overlaps and errors along the sample ratio, with what was trained."""

from __future__ import annotations

from matplotlib.figure import Figure

from verify.figures.curve_panel import add_legend, draw_curves
from verify.figures.drawing import styled
from verify.studies.learning_curves import Curve
from verify.studies.models import ModelOutcome


def model_figure(outcome: ModelOutcome) -> bytes:
    """Overlaps m and q, train and test error; points of other settings than those of the line are left out. PNG."""
    first = outcome.scores[0].problem
    on_line = tuple(score for score in outcome.scores if score.problem.at(first.alpha) == first)
    curve = Curve(outcome.model, outcome.curve, on_line)

    def draw() -> Figure:
        figure = Figure(figsize=(8, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        draw_curves(left, [curve], ("m", "q"))
        draw_curves(right, [curve], ("train_error", "test_error"))
        left.set_ylabel("overlaps")
        right.set_ylabel("mean loss per sample")
        add_legend(figure, [curve], ("m", "q"))
        return figure

    return styled(draw)["png"]
