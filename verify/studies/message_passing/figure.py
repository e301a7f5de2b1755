"""Figure of message passing step by step."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from numeric.plotting.caption import add_caption, settings
from numeric.plotting.style import COLOURS, Sheet, ink, paper
from verify.core.data import DataKind
from verify.core.scores import Score
from verify.studies.message_passing.trajectories import TrajectoryPoint

#: Panels: title, and the quantities of a Stage drawn in each.
PANELS = (
    ("$m$, $q$", ("m", "q")),
    ("$V$", ("V",)),
    ("estimation error", ("estimation_error",)),
    ("test error", ("test_error",)),
)
MARKERS = ("o", "s", "^")  #: markers of the sizes, from the smallest
LINES = ("-", "--")  #: line styles of the quantities in one panel


def trajectory_figure(points: Sequence[TrajectoryPoint], data: DataKind) -> Figure:
    """Draw state evolution as lines and messages as points with standard errors, at every size; a
    colour for each alpha.

    Args:
        points: trajectories at each sample ratio.
        data: kind of data.
    """
    figure = Sheet(2, 2.2)
    for axes, (name, quantities) in zip(figure.subplots(1, len(PANELS)), PANELS, strict=True):
        for colour, point in zip(cycle(COLOURS), points, strict=False):
            for line, quantity in zip(LINES, quantities, strict=False):
                _draw(axes, point, quantity, colour, line)
        axes.set(xlabel="step", ylabel=name)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    _add_legend(figure, points)
    add_caption(figure, settings(points[0].problem, "alpha"), f"data: {data}")
    return figure


def _add_legend(figure: Figure, points: Sequence[TrajectoryPoint]) -> None:
    """Add colours of the sample ratios and markers of the sizes."""
    alphas = [
        Line2D([], [], color=colour, label=rf"$\alpha = {point.problem.alpha:g}$")
        for colour, point in zip(cycle(COLOURS), points, strict=False)
    ]
    sizes = [
        Line2D(
            [],
            [],
            color=ink(0.3),
            ls="",
            marker=marker,
            mfc=paper(),
            ms=4.5,
            label=f"$d = {group.dim}$",
        )
        for marker, group in zip(cycle(MARKERS), points[0].steps[0][0].groups, strict=False)
    ]
    figure.legend(
        handles=[*alphas, *sizes],
        loc="outside upper center",
        ncols=len(alphas) + len(sizes),
        fontsize="small",
        title=_title(points[0]),
        title_fontsize="small",
    )


def _draw(axes: Axes, point: TrajectoryPoint, quantity: str, colour: str, line: str) -> None:
    scores = [next(s for s in step if s.quantity == quantity) for step in point.steps]
    steps = range(1, len(scores) + 1)
    axes.plot(steps, [s.groups[-1].theory for s in scores], line, color=colour)
    sizes = len(scores[0].groups)
    for k, marker in zip(range(sizes), cycle(MARKERS), strict=False):
        shift = 0.12 * (k - (sizes - 1) / 2)  # next to each other
        _points(axes, [step + shift for step in steps], scores, k, marker, colour)


def _points(
    axes: Axes, at: Sequence[float], scores: Sequence[Score], size: int, marker: str, colour: str
) -> None:
    groups = [score.groups[size] for score in scores]
    axes.errorbar(
        at,
        [g.simulation for g in groups],
        yerr=[g.standard_error for g in groups],
        fmt=marker,
        ms=3.5,
        mfc=paper(),
        color=colour,
        capsize=1.5,
        lw=0.8,
    )


def _title(point: TrajectoryPoint) -> str:
    kind = (
        "Bayes-optimal message passing" if point.messages.optimal else "message passing of the risk"
    )
    return (
        f"{kind} from the start '{point.messages.start}' (points) and its state evolution "
        "(lines; $m$ full, $q$ dashed)"
    )
