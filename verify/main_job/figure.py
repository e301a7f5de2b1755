"""The figures: error against alpha, singular values, scores, excess errors, thresholds."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from numeric.plotting import caption
from numeric.plotting.caption import add_caption
from numeric.plotting.style import COLOURS, Sheet, legend_above, style_context
from numeric.problem.problem import Problem
from verify.core.curve_panel import QUANTITY_NAMES, Curve, add_legend, draw_curves
from verify.core.data import DataKind
from verify.core.drawing import png
from verify.core.realised import COMPARED_QUANTITIES
from verify.core.scores import BAND, Comparison, Score
from verify.core.spectrum_panel import trained_spectrum_figure
from verify.main_job.study import MainJobOutcome
from verify.studies.scaling.figure import excess_figure
from verify.studies.thresholds.figure import threshold_figure

BOTH_ERRORS = ("test_error", "train_error")


def main_job_figures(outcome: MainJobOutcome) -> dict[str, bytes]:
    """Return the figures as PNG files, by file name; those with nothing to show are absent."""
    with style_context():
        figures = {"scores.png": score_figure(outcome)}
        if DataKind.SEQUENCES in outcome.comparisons and outcome.curves:
            figures["curve.png"] = trained_curve_figure(outcome)
        if outcome.panels:
            figures["spectra.png"] = trained_spectrum_figure(outcome.panels, outcome.plan.base.problem)
        if outcome.laws:
            figures["scaling.png"] = excess_figure(outcome.laws)
        if outcome.sighted:
            figures["thresholds.png"] = threshold_figure(outcome.sighted.sightings)
        return {name: png(figure) for name, figure in figures.items()}


def trained_curve_figure(outcome: MainJobOutcome) -> Figure:
    """Test and train error against alpha: theory as lines, trained heads at the largest d as points."""
    figure = Sheet(2, 3.3)
    axes = figure.add_subplot()
    scores = outcome.comparisons[DataKind.SEQUENCES].scores
    curves = [
        Curve(rf"$\kappa = {width:g}$", tuple(solutions), tuple(s for s in scores if s.problem.width == width))
        for width, solutions in sorted(outcome.curves.items())
    ]
    draw_curves(axes, curves, BOTH_ERRORS)
    _threshold_lines(axes, outcome)
    add_legend(figure, curves, BOTH_ERRORS)
    add_caption(figure, caption.settings(scores[0].problem, "alpha", "width"))
    return figure


def _threshold_lines(axes: Axes, outcome: MainJobOutcome) -> None:
    for kind, style, name in (("interpolation", ":", "interpolation"), ("recovery", "-.", r"recovery at $\Delta=0$")):
        if kind in outcome.thresholds:
            value = float(outcome.thresholds[kind].value)
            axes.axvline(value, color="0.35", ls=style, lw=1, label=f"{name}, {value:.4f}")


def score_figure(outcome: MainJobOutcome) -> Figure:
    """Score z of each quantity at each point, with the band outside which theory and simulation disagree."""
    figure = Sheet(2, 2.8)
    axes = figure.add_subplot()
    columns = [(kind, problem) for kind, c in outcome.comparisons.items() for problem in _problems(c)]
    for offset, (quantity, colour) in enumerate(zip(COMPARED_QUANTITIES, COLOURS, strict=False)):
        scores = [_find(outcome.comparisons[kind], quantity, problem) for kind, problem in columns]
        positions = np.arange(len(columns)) + (offset - 1.5) * 0.18
        z = np.clip([score.z for score in scores], -_LIMIT, _LIMIT)
        axes.plot(positions, z, "o", ms=4, color=colour, label=QUANTITY_NAMES[quantity])
    axes.axhspan(-BAND, BAND, color="0.93", zorder=0)
    axes.axhline(0, color="0.4", lw=0.7)
    axes.set_xticks(range(len(columns)), [_tick(*column) for column in columns], rotation=90, fontsize="x-small")
    axes.set_ylim(-_LIMIT - 0.5, _LIMIT + 0.5)
    axes.set_xlabel(r"$\alpha$, $\kappa$ (G: Gaussian-equivalent data)")
    axes.set_ylabel("$z$ (simulation $-$ theory)")
    legend_above(axes)
    add_caption(
        figure, caption.settings(outcome.plan.base.problem, "alpha", "width"),
        f"grey: $|z| < {BAND:g}$, beyond which training disagrees", f"beyond ${_LIMIT:g}$ at the margin",
    )  # fmt: skip
    return figure


_LIMIT = 8.0  #: larger scores are drawn at the margin; the table has their values


def _problems(comparison: Comparison) -> list[Problem]:
    return list(dict.fromkeys(score.problem for score in comparison.scores))


def _find(comparison: Comparison, quantity: str, problem: Problem) -> Score:
    return next(s for s in comparison.scores if s.quantity == quantity and s.problem == problem)


def _tick(kind: DataKind, problem: Problem) -> str:
    mark = "" if kind is DataKind.SEQUENCES else " G"
    return rf"{problem.alpha:g}, {problem.width:g}{mark}"
