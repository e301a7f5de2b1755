"""Figure of heads trained on output sequences and heads trained on labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from numeric.plotting.caption import add_caption, settings
from numeric.plotting.log_axes import logarithmic
from numeric.plotting.style import COLOURS, Sheet, legend_above, paper
from verify.core.curve_panel import QUANTITY_NAMES
from verify.core.data import Output
from verify.core.intervals import precisions
from verify.core.realised_problem import COMPARED_QUANTITIES
from verify.studies.sequence_output.study import OutputDifference, OutputOutcome

_MARKERS = {Output.LABELS: ("o", "labels $y$", 0), Output.SEQUENCES: ("s", "sequences $yX$", 1)}
_ERRORS = ("test_error", "train_error")


def output_figure(outcome: OutputOutcome) -> Figure:
    """Draw errors along alpha, differences between the outputs along d, and their term of order
    d^-1/2 by number of tokens.
    """
    figure = Sheet(2, 2.9)
    errors, differences, roots = figure.subplots(1, 3)
    _errors(errors, outcome)
    alpha = outcome.differences[-1].problem.alpha
    shown = [d for d in outcome.differences if d.problem.alpha == alpha]
    _differences(
        differences,
        [d for d in shown if d.problem.tokens == 2 and d.quantity in COMPARED_QUANTITIES],
    )
    _roots(roots, [d for d in shown if d.quantity == "best_error"])
    add_caption(figure, settings(outcome.line[0].problem, "alpha", "tokens"))
    return figure


def _errors(axes: Axes, outcome: OutputOutcome) -> None:
    alphas = [solution.problem.alpha for solution in outcome.line]
    for quantity, style in zip(_ERRORS, ("-", "--"), strict=True):
        axes.plot(
            alphas,
            [getattr(solution, quantity) for solution in outcome.line],
            color="k",
            ls=style,
            lw=1.4,
        )
        for output, (marker, _, colour) in _MARKERS.items():
            scores = [
                score for score in outcome.comparisons[output].scores if score.quantity == quantity
            ]
            groups = [score.groups[-1] for score in scores]
            axes.errorbar(
                [score.problem.alpha for score in scores],
                [group.simulation for group in groups],
                yerr=[group.standard_error for group in groups],
                fmt=marker,
                ms=5 + 3 * colour,
                mfc="none",
                mec=COLOURS[colour],
                ecolor=COLOURS[colour],
                capsize=2,
                lw=1,
            )
    dim = max(
        group.dim for score in outcome.comparisons[Output.LABELS].scores for group in score.groups
    )
    axes.set(xlabel=r"sample ratio $\alpha = n/d^2$", ylabel="mean square error per sample")
    logarithmic(axes.xaxis, axes.yaxis)
    names = [
        Line2D([], [], color="k", ls=ls, label=QUANTITY_NAMES[q])
        for q, ls in zip(_ERRORS, ("-", "--"), strict=True)
    ]
    points = [
        Line2D(
            [],
            [],
            ls="",
            marker=marker,
            mfc="none",
            mec=COLOURS[colour],
            ms=5 + 3 * colour,
            label=f"on {name}",
        )
        for marker, name, colour in _MARKERS.values()
    ]
    legend_above(
        axes, 1, handles=[*names, *points], title=f"theory, and heads trained at $d = {dim}$"
    )


def _differences(axes: Axes, differences: Sequence[OutputDifference]) -> None:
    """Draw differences relative to training on labels; lines show the term of order 1/d of the
    joint fit.
    """
    for colour, item in zip(COLOURS, differences, strict=False):
        dims, scale = np.array(item.dims), abs(item.labels)
        name = QUANTITY_NAMES[item.quantity]
        label = (
            f"{name}: slope ${item.slope.value:.2f} \\pm {item.slope.error:.2f}$"
            if item.slope
            else name
        )
        axes.errorbar(
            dims,
            np.abs(item.means) / scale,
            np.array(item.errors) / scale,
            fmt="o",
            ms=4.5,
            mfc=paper(),
            color=colour,
            capsize=2,
            lw=1,
            label=label,
        )
        means, weights = np.abs(item.means) * dims, precisions(np.array(item.errors) * dims)
        axes.plot(dims, np.average(means, weights=weights) / dims / scale, color=colour, lw=1.2)
    axes.set(xlabel="dimension $d$", ylabel="relative change by training on sequences")
    logarithmic(axes.xaxis, axes.yaxis)
    legend_above(
        axes,
        1,
        title=rf"two tokens, $\alpha = {differences[0].problem.alpha:g}$; lines $\propto 1/d$",
    )


def _roots(axes: Axes, differences: Sequence[OutputDifference]) -> None:
    """Draw sqrt(d) times the difference against d^-1/2; its intercept is the leading term."""
    for colour, item in zip(COLOURS, differences, strict=False):
        x = np.power(item.dims, -0.5)
        axes.errorbar(
            x,
            np.array(item.means) / x,
            np.array(item.errors) / x,
            fmt="o",
            ms=4.5,
            mfc=paper(),
            color=colour,
            capsize=2,
            lw=1,
            label=f"$T = {item.problem.tokens}$, drawn",
        )
        line = np.array([0.0, x.max()])
        axes.plot(line, item.root.value + item.inverse.value * line, color=colour, lw=1.2)
        if item.expected_root:
            axes.plot(
                0,
                item.expected_root.value,
                "*",
                color=colour,
                ms=11,
                clip_on=False,
                zorder=4,
                label=f"theory: {item.expected_root.value:.4f}",
            )
    axes.set(xlim=(0, None), xlabel=r"$d^{-1/2}$")
    axes.set_ylabel(r"$\sqrt{d}$ $\times$ change of the error of $c^* S_0$")
    legend_above(axes, 2, title=r"the term of order $d^{-1/2}$")
