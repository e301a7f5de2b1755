"""Figure of estimation errors along the width."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from numeric.plotting.caption import add_caption, settings
from numeric.plotting.log_axes import logarithmic
from numeric.plotting.numbers import format_ranges
from numeric.plotting.points import BROKEN_SYMMETRY
from numeric.plotting.style import COLOURS, Sheet, ink, legend_above, paper
from numeric.problem.solution import Status
from verify.studies.width.study import WidthPoint


def width_figure(points: Sequence[WidthPoint]) -> Figure:
    """Trained estimation errors with two standard errors against hidden units, compared with the
    theory.
    """
    figure = Sheet(height=2.6)
    axes = figure.add_subplot()
    m = [point.hidden for point in points]
    axes.plot(
        m,
        [point.solution.estimation_error for point in points],
        "-",
        color=ink(0.3),
        lw=1,
        label="theory",
    )
    axes.errorbar(
        m,
        [point.estimation_error for point in points],
        [2 * point.estimation_deviation for point in points],
        fmt="o",
        ms=4.5,
        mfc=paper(),
        capsize=2,
        color=COLOURS[0],
        label="trained",
    )
    logarithmic(axes.xaxis, axes.yaxis)
    axes.set(xlabel="hidden units $m$", ylabel=r"estimation error $\|S-S_0\|^2/d$")
    legend_above(axes)
    broken = [point.hidden for point in points if point.solution.status is Status.UNSTABLE]
    told = f"{BROKEN_SYMMETRY}: $m$ = {format_ranges(broken, m)}" if broken else ""
    add_caption(figure, settings(points[0].solution.problem, "width"), told)
    return figure
