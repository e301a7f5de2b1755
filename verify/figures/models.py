"""Overlaps and errors along the sample ratio, with what was trained: of a curve, and of a model."""

from __future__ import annotations

from matplotlib.figure import Figure

from numeric.plotting.caption import add_caption, settings
from numeric.plotting.style import Sheet, legend_above
from verify.figures.curve_panel import DASHES_SEEN, add_legend, draw_curves, style_handles
from verify.figures.drawing import styled
from verify.studies.learning_curves import Curve
from verify.studies.models import ModelOutcome

_PANELS = (("m", "q"), ("train_error", "test_error"))
_LABELS = ("overlaps", "mean loss per sample")


def model_figure(outcome: ModelOutcome) -> bytes:
    """Overlaps m and q, train and test error; points of other settings than those of the line are left out. PNG."""
    first = outcome.scores[0].problem
    on_line = tuple(score for score in outcome.scores if score.problem.at(first.alpha) == first)
    return styled(lambda: trained_figure(Curve(outcome.model, outcome.curve, on_line)))["png"]


def trained_figure(curve: Curve) -> Figure:
    """Overlaps m and q, train and test error of one curve: theory as lines, what was trained as points."""
    figure = Sheet(2, 2.8)
    for axes, label, quantities in zip(figure.subplots(1, 2), _LABELS, _PANELS, strict=True):
        draw_curves(axes, [curve], quantities)
        axes.set_ylabel(label)
        legend_above(axes, handles=style_handles(quantities), handlelength=DASHES_SEEN)
    add_legend(figure, [curve])
    add_caption(figure, settings(curve.solutions[0].problem, "alpha"))
    return figure
