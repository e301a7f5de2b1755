"""Figure of the universality gap along d."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from numeric.plotting.caption import add_caption, settings
from numeric.plotting.log_axes import logarithmic
from numeric.plotting.style import COLOURS, Sheet, ink, legend_above, paper
from numeric.problem.problem import Problem
from verify.studies.gap.study import GapTrend


def gap_figure(trends: Sequence[GapTrend], problem: Problem) -> Figure:
    """Draw the ratio of excess errors against d, with the fitted limit in the legend.

    Args:
        trends: gaps of every target.
        problem: settings of all of them.
    """
    figure = Sheet(height=2.6)
    axes = figure.add_subplot()
    for colour, trend in zip(COLOURS, trends, strict=False):
        name, limit = (
            rf"$\gamma = {trend.gamma:g}${trend.features_kept}",
            rf"${trend.limit:.3f} \pm {trend.error:.3f}$",
        )
        dims = [gap.dim for gap in trend.gaps]
        axes.errorbar(
            dims,
            [gap.ratio for gap in trend.gaps],
            [gap.error for gap in trend.gaps],
            fmt="o",
            ms=4.5,
            mfc=paper(),
            capsize=2,
            color=colour,
            label=f"{name}: limit {limit}",
        )
    axes.axhline(1, color=ink(0.4), lw=0.8)
    sizes = [gap.dim for gap in trends[0].gaps]
    logarithmic(axes.xaxis)
    axes.set(xlabel="$d$", ylabel="excess error, trained / theory")
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    legend_above(axes, 1)
    add_caption(figure, settings(problem, "target"))
    return figure
