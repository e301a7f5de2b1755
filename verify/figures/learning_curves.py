"""Figure of a preset of learning curves."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from verify.figures.curve_panel import add_legend, draw_curves
from verify.figures.drawing import styled
from verify.studies.learning_curves import Curve


def preset_figure(curves: Sequence[Curve], quantities: Sequence[str]) -> dict[str, bytes]:
    """Return the figure of a preset, a panel for each quantity, as PNG and as PDF file, by suffix."""

    def draw() -> Figure:
        figure = Figure(figsize=(1.2 + 3.6 * len(quantities), 3.6), layout="constrained")
        for axes, quantity in zip(figure.subplots(1, len(quantities), squeeze=False)[0], quantities, strict=True):
            draw_curves(axes, curves, (quantity,))
        add_legend(figure, curves)
        return figure

    return styled(draw)
