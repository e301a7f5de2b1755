"""Figure of a preset of learning curves."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from numeric.plotting.caption import add_caption, common_settings
from numeric.plotting.style import Sheet
from verify.core.curve_panel import Curve, add_legend, draw_curves
from verify.core.spectrum_panel import draw_spectra
from verify.studies.learning_curves.study import LearningCurveOutcome

WIDE, HIGH = 2.2, 2.0  #: size of a panel of curves, in inches
SPECTRUM_WIDE, SPECTRUM_HIGH = 1.7, 2.0  #: size of a spectrum, in inches

_Panel = tuple[str, list[Curve], str]  #: panel: name, curves, quantity


def preset_figure(outcome: LearningCurveOutcome) -> Figure:
    """Return the figure of a preset: its curves, and below them the spectra of each."""
    rows = list(_rows(outcome))
    spectra = [list(group) for _, group in groupby(outcome.spectra, key=lambda pair: pair[0])]
    heights = [HIGH * len(rows) + 0.5, *(SPECTRUM_HIGH for _ in spectra)]
    wide = max(WIDE * len(rows[0]), *(SPECTRUM_WIDE * len(group) for group in spectra), 0)
    figure = Sheet(1 if wide < 5 else 2, sum(heights))
    above, *below = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    _draw_panels(above, rows, outcome)
    for part, group in zip(below, spectra, strict=True):
        part.suptitle(group[0][0], fontsize="medium")
        draw_spectra(
            part.subplots(1, len(group), squeeze=False)[0].tolist(),
            [spectrum for _, spectrum in group],
        )
    add_caption(
        figure,
        common_settings(
            [one.problem for curve in outcome.curves for one in curve.solutions], "alpha"
        ),
    )
    return figure


def _rows(outcome: LearningCurveOutcome) -> Iterator[list[_Panel]]:
    """Return the panels: a column for each panel and a row for each quantity; one row if there is
    one panel.
    """
    quantities = outcome.preset.quantities
    panels: dict[str, list[Curve]] = {}
    for curve in outcome.curves:
        panels.setdefault(curve.panel, []).append(curve)
    if len(panels) == 1:
        yield [(*panel, quantity) for panel in panels.items() for quantity in quantities]
    else:
        yield from ([(*panel, quantity) for panel in panels.items()] for quantity in quantities)


def _draw_panels(part: SubFigure, rows: list[list[_Panel]], outcome: LearningCurveOutcome) -> None:
    grid = part.subplots(len(rows), len(rows[0]), squeeze=False)
    for row, (axes_row, panels) in enumerate(zip(grid, rows, strict=True)):
        for axes, (name, curves, quantity) in zip(axes_row, panels, strict=True):
            _draw_panel(axes, name if row == 0 else "", curves, quantity, outcome.preset.axis)
    add_legend(part, outcome.curves)


def _draw_panel(axes: Axes, name: str, curves: list[Curve], quantity: str, axis: str) -> None:
    draw_curves(axes, curves, (quantity,), axis)
    axes.set_title(name, fontsize="medium")
