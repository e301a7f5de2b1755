"""Figures of campaigns: error along the sample ratio, and all scores."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from numeric.plotting.caption import add_caption, settings
from numeric.plotting.style import COLOURS, Sheet, ink, legend_above
from numeric.problem.problem import Problem
from verify.core.curve_panel import QUANTITY_NAMES, Curve, add_legend, draw_curves
from verify.core.data import DataKind
from verify.core.realised_problem import COMPARED_QUANTITIES
from verify.core.scores import BAND, Comparison, Score
from verify.studies.learning_curves.campaigns import CampaignOutcome

BOTH_ERRORS = ("test_error", "train_error")
_LIMIT = 8.0  #: larger scores are drawn at the margin; the table has their values
_THRESHOLD_STYLES = {
    "interpolation": (":", "interpolation"),
    "recovery": ("-.", r"recovery at $\Delta=0$"),
}


def campaign_figure(outcome: CampaignOutcome, thresholds: Mapping[str, float]) -> Figure:
    """Draw test and train error against alpha: theory as lines, trained heads at the largest d as
    points, thresholds as vertical lines.

    Args:
        outcome: comparison of every campaign.
        thresholds: sample ratios by name.
    """
    figure = Sheet(2, 3.3)
    axes = figure.add_subplot()
    scores = outcome.comparisons[DataKind.SEQUENCES].scores
    curves = [
        Curve(
            rf"$\kappa = {width:g}$",
            tuple(solutions),
            tuple(s for s in scores if s.problem.width == width),
        )
        for width, solutions in sorted(outcome.curves.items())
    ]
    draw_curves(axes, curves, BOTH_ERRORS)
    for kind, (style, name) in _THRESHOLD_STYLES.items():
        if kind in thresholds:
            axes.axvline(
                thresholds[kind],
                color=ink(0.35),
                ls=style,
                lw=1,
                label=f"{name}, {thresholds[kind]:.4f}",
            )
    add_legend(figure, curves, BOTH_ERRORS)
    add_caption(figure, settings(scores[0].problem, "alpha", "width"))
    return figure


def score_figure(outcome: CampaignOutcome) -> Figure:
    """Draw the score z of each quantity at each point, with the band outside which theory and
    training disagree.
    """
    figure = Sheet(2, 2.8)
    axes = figure.add_subplot()
    columns = [
        (kind, problem) for kind, c in outcome.comparisons.items() for problem in _problems(c)
    ]
    for offset, (quantity, colour) in enumerate(zip(COMPARED_QUANTITIES, COLOURS, strict=False)):
        scores = [_find(outcome.comparisons[kind], quantity, problem) for kind, problem in columns]
        positions = np.arange(len(columns)) + (offset - 1.5) * 0.18
        z = np.clip([score.z for score in scores], -_LIMIT, _LIMIT)
        axes.plot(positions, z, "o", ms=4, color=colour, label=QUANTITY_NAMES[quantity])
    axes.axhspan(-BAND, BAND, color=ink(0.93), zorder=0)
    axes.axhline(0, color=ink(0.4), lw=0.7)
    axes.set_xticks(
        range(len(columns)), [_tick(*column) for column in columns], rotation=90, fontsize="x-small"
    )
    axes.set_ylim(-_LIMIT - 0.5, _LIMIT + 0.5)
    axes.set_xlabel(r"$\alpha$, $\kappa$ (G: Gaussian-equivalent data)")
    axes.set_ylabel("$z$ (simulation $-$ theory)")
    legend_above(axes)
    add_caption(
        figure,
        settings(outcome.plan.base.problem, "alpha", "width"),
        f"grey: $|z| < {BAND:g}$, beyond which training disagrees",
        f"beyond ${_LIMIT:g}$ at the margin",
    )
    return figure


def _problems(comparison: Comparison) -> list[Problem]:
    return list(dict.fromkeys(score.problem for score in comparison.scores))


def _find(comparison: Comparison, quantity: str, problem: Problem) -> Score:
    return next(s for s in comparison.scores if s.quantity == quantity and s.problem == problem)


def _tick(kind: DataKind, problem: Problem) -> str:
    mark = "" if kind is DataKind.SEQUENCES else " G"
    return rf"{problem.alpha:g}, {problem.width:g}{mark}"
