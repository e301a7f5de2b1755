"""Drawing of learning curves: theory as lines with error bands, training as points with standard
errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from scipy.interpolate import PchipInterpolator

from numeric.plotting.caption import add_caption, settings
from numeric.plotting.log_axes import MIN_VISIBLE_FRACTION, keep_in_view, logarithmic
from numeric.plotting.style import COLOURS, Sheet, fit_legend, ink, legend_above, paper
from numeric.problem.solution import Solution, Status
from verify.core.scores import Score

STYLES = (
    ("-", "o"),
    ("--", "s"),
)  #: line and marker of the first and the second quantity in one panel
#: length of a line in a legend, in units of the font size, at which dashes are visible
DASHES_SEEN = 3.0
_MOST_LISTED = 5  # entries of a legend in a row across a page
_PANELS = (("m", "q"), ("train_error", "test_error"))
_PANEL_LABELS = ("overlaps", "mean loss per sample")
SMOOTH = 200  #: points of a line as drawn
QUANTITY_NAMES = {"m": "$m$", "q": "$q$", "train_error": "train error", "test_error": "test error"}


@dataclass(frozen=True)
class Curve:
    """Theory along alpha (solved points and others), and the scores of heads trained at the same
    settings.

    The curve is drawn in the panel of its name, with sample ratios in multiples of `unit`.
    """

    label: str
    solutions: tuple[Solution, ...]
    scores: tuple[Score, ...]
    panel: str = ""
    unit: float = 1.0

    @property
    def name(self) -> str:
        """Label and panel."""
        return f"{self.label}, {self.panel}" if self.panel else self.label


def draw_curves(
    axes: Axes,
    curves: Sequence[Curve],
    quantities: Sequence[str],
    name: str = r"sample ratio $\alpha = n/d^2$",
) -> None:
    """Draw each quantity of each curve against alpha, on logarithmic axes.

    Points are means at the largest d. The line is thin and dotted where replica symmetry is broken,
    and has a gap at a point without solution.

    Args:
        axes: one axes per panel.
        curves: the curves.
        quantities: quantities to draw.
        name: label of alpha in units of a curve.
    """
    for colour, curve in zip(COLOURS, curves, strict=False):
        for quantity, (line, marker) in zip(quantities, STYLES, strict=False):
            _theory(axes, curve, quantity, colour, line)
            _trained(axes, curve, quantity, colour, marker)
    axes.set(xlabel=name)
    logarithmic(axes.xaxis, axes.yaxis)
    axes.set_ylabel(
        QUANTITY_NAMES[quantities[0]] if len(quantities) == 1 else "mean square error per sample"
    )
    keep_in_view(axes)


def add_legend(
    figure: Figure | SubFigure, curves: Sequence[Curve], quantities: Sequence[str] = ()
) -> None:
    """Add a legend above the panels: colours of the curves, styles of the quantities of a panel,
    other labels.

    Args:
        figure: figure with the panels.
        curves: the curves.
        quantities: drawn quantities.
    """
    labels = dict.fromkeys(
        curve.label for curve in curves
    )  # curves with the same label have the same colour, each in its panel
    families = [
        Line2D([], [], color=c, lw=1.5, label=label)
        for c, label in zip(COLOURS, labels, strict=False)
    ]
    styles = style_handles(quantities)
    others = [handle for axes in figure.axes for handle in axes.get_legend_handles_labels()[0]]
    handles = [*families, *styles, *others]
    length = DASHES_SEEN if styles else None
    columns = min((len(handles) + 1) // (2 if styles else 1), _MOST_LISTED)
    place = {
        "handles": handles,
        "title": _title(curves),
        "loc": "outside upper center",
        "handlelength": length,
    }
    fit_legend(figure, figure.bbox.width, columns, **place)


def style_handles(quantities: Sequence[str]) -> list[Line2D]:
    """Return legend handles of the quantities that share a panel."""
    return [
        Line2D(
            [],
            [],
            color=ink(0.3),
            ls=line,
            lw=1.5,
            marker=marker,
            mfc=paper(),
            ms=4.5,
            label=QUANTITY_NAMES[quantity],
        )
        for quantity, (line, marker) in zip(quantities, STYLES, strict=False)
    ]


def _title(curves: Sequence[Curve]) -> str:
    dims = {score.groups[-1].dim for curve in curves for score in curve.scores if score.groups}
    trained = f"trained heads, $d = {max(dims)}$" if dims else "trained heads"
    solutions = [solution for curve in curves for solution in curve.solutions]
    seen = {
        "dotted: replica symmetry broken": any(
            solution.status is Status.UNSTABLE for solution in solutions
        ),
        "gaps: no value to rely on": not all(solution.trusted for solution in solutions),
    }
    told = "; ".join(words for words, there in seen.items() if there)
    return f"lines: theory{told and f' ({told})'}; points: {trained}"


def _theory(axes: Axes, curve: Curve, quantity: str, colour: str, line: str) -> None:
    """Draw a cubic in logarithms through the solved points; it preserves monotonicity."""
    for stable, points in _pieces(curve.solutions, quantity):
        alphas = np.log([solution.problem.alpha / curve.unit for solution in points])
        values = np.array([getattr(solution, quantity) for solution in points])
        errors = np.array([solution.errors.get(quantity, 0.0) for solution in points])
        x = np.linspace(alphas[0], alphas[-1], SMOOTH)
        y, low, high = (
            np.exp(PchipInterpolator(alphas, np.log(v))(x))
            for v in (
                values,
                np.maximum(values - errors, MIN_VISIBLE_FRACTION * values),
                values + errors,
            )
        )
        axes.plot(np.exp(x), y, color=colour, ls=line if stable else ":", lw=1.5 if stable else 1.1)
        axes.fill_between(np.exp(x), low, high, color=colour, alpha=0.25, lw=0)


def _pieces(solutions: Sequence[Solution], quantity: str) -> Iterator[tuple[bool, list[Solution]]]:
    """Return runs of solved neighbours, each with its stability; neighbouring runs share an end
    point.

    Values that are exactly zero are left out, because the axis is logarithmic. Training errors
    vanish where labels are interpolated.
    """

    def kind(pair: tuple[Solution, Solution]) -> tuple[bool, bool]:
        return all(s.trusted and getattr(s, quantity) > 0 for s in pair), all(
            s.status is not Status.UNSTABLE for s in pair
        )

    for (solved, stable), group in groupby(pairwise(solutions), key=kind):
        pairs = list(group)
        if solved:
            yield stable, [first for first, _ in pairs] + [pairs[-1][1]]


def _trained(axes: Axes, curve: Curve, quantity: str, colour: str, marker: str) -> None:
    shown = [score for score in curve.scores if score.quantity == quantity and score.groups]
    groups = [score.groups[-1] for score in shown]
    axes.errorbar(
        [score.problem.alpha / curve.unit for score in shown],
        [group.simulation for group in groups],
        yerr=[group.standard_error for group in groups],
        fmt=marker, ms=4.5, mfc=paper(), mec=colour, ecolor=colour, capsize=2, lw=1, zorder=3,
    )  # fmt: skip


def trained_figure(curve: Curve) -> Figure:
    """Draw overlaps m and q, train and test error of one curve: theory as lines, training as
    points.
    """
    figure = Sheet(2, 2.8)
    for axes, label, quantities in zip(figure.subplots(1, 2), _PANEL_LABELS, _PANELS, strict=True):
        draw_curves(axes, [curve], quantities)
        axes.set_ylabel(label)
        legend_above(axes, handles=style_handles(quantities), handlelength=DASHES_SEEN)
    add_legend(figure, [curve])
    add_caption(figure, settings(curve.solutions[0].problem, "alpha"))
    return figure
