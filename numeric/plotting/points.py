"""Helpers of the figure functions for lists of points: type checks, marks of unreliable points, and
caption notes about them.

A point is unreliable if replica symmetry is broken there (status unstable), if it is inaccurate, or
if it was not solved.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from attention_erm.runtime.errors import InvalidParameter
from numeric.maths.domain import require_kind, require_list
from numeric.plotting.numbers import format_ranges, in_mathtext
from numeric.plotting.style import paper
from numeric.problem.solution import Solution, Status

BROKEN_SYMMETRY = "replica symmetry broken, an approximation"  #: note in captions
COARSE = 20  #: fewer points than this are marked: the line between them may bend elsewhere
CIRCLES = "open circles: "  #: prefix of notes about points marked by open circles
ALPHA_LABEL = r"sample ratio $\alpha=n/d^2$"  #: axis label


def require_points(
    name: str, points: Sequence[object], kind: type, maker: str, allow_empty: bool = False
) -> None:
    """Check that an argument is a list whose elements all have one type.

    Args:
        name: name of the argument, for the error message.
        points: the argument.
        kind: required type of each element.
        maker: name of the function that returns such elements, for the error message.
        allow_empty: whether the list may be empty.

    Raises:
        InvalidParameter: `points` is not a list, is empty, or an element has another type.
    """
    require_list(name, points)
    for number, point in enumerate(points):
        require_kind(f"{name}[{number}]", point, kind, f"pass results of {maker}")
    if not (allow_empty or len(points)):
        rule = "is empty: there is nothing to draw"
        raise InvalidParameter(name, points, rule, "pass one point or more")


def point_marks(points: int) -> dict[str, Any]:
    """Return options of `axes.plot` that mark the points of a line by dots where they are few."""
    return {"marker": "." if points < COARSE else "", "ms": 3}


def plot_line(
    axes: Axes,
    x: np.ndarray,
    y: np.ndarray,
    stable: np.ndarray,
    line: str,
    colour: str,
    label: str,
    **look: Any,
) -> None:
    """Plot a line through stable points, and a faint line to and between unstable points.

    Args:
        axes: axes to draw on.
        x: coordinates, shape (points,).
        y: values, shape (points,); NaN leaves a gap.
        stable: False where replica symmetry is broken, shape (points,).
        line: line style of matplotlib, such as "--".
        colour: colour of matplotlib.
        label: label in the legend.
        **look: further options of `axes.plot` for the line through stable points.
    """
    look = {**point_marks(len(x)), **look}
    axes.plot(x, np.where(stable, y, np.nan), line, color=colour, label=label, **look)
    if not stable.all():
        near_unstable = ~stable | np.append(~stable[1:], False) | np.append(False, ~stable[:-1])
        axes.plot(x, np.where(near_unstable, y, np.nan), line, color=colour, lw=0.5, alpha=0.6)


def mark_broken(
    axes: Axes,
    x: Iterable[float],
    y: Iterable[float],
    solutions: Sequence[Solution],
    colour: str,
    mark: str = "o",
) -> None:
    """Mark points where replica symmetry is broken by open circles, or by another marker.

    Args:
        axes: axes to draw on.
        x: coordinates, one for each solution.
        y: values, one for each solution.
        solutions: solutions, whose status decides which points are marked.
        colour: colour of the edge of the marker.
        mark: marker of matplotlib.
    """
    pairs = zip(zip(x, y, strict=True), solutions, strict=True)
    if broken := [point for point, one in pairs if one.status is Status.UNSTABLE]:
        axes.plot(*zip(*broken, strict=True), mark, color=colour, mfc=paper(), ms=3, zorder=3)


def omitted_note(alphas: Sequence[float], among: Sequence[float]) -> str:
    """Return the caption note that lists points without a value; empty if there are none.

    Args:
        alphas: sample ratios of the points without a value.
        among: sample ratios of all points.
    """
    ranges = _parameter_ranges(alphas, among)
    return f"left out as inaccurate or unsolved: {ranges}" if alphas else ""


def broken_note(
    solutions: Sequence[Solution],
    mark: str = "",
    values: Sequence[float] = (),
    glyph: str = r"\alpha",
) -> str:
    """Return the caption note that lists where replica symmetry is broken; empty if it is nowhere.

    Args:
        solutions: solutions of all points.
        mark: prefix of the note, such as "open circles: ".
        values: coordinates of the points; default: their sample ratios.
        glyph: symbol of the coordinate in mathtext.
    """
    along = values or [solution.problem.alpha for solution in solutions]
    pairs = zip(along, solutions, strict=True)
    where = [value for value, solution in pairs if solution.status is Status.UNSTABLE]
    if not where:
        return ""
    # The settings in the caption include the coordinate of a single point.
    ranges = "" if len(along) == 1 else f": {_parameter_ranges(where, along, glyph)}"
    return f"{mark}{BROKEN_SYMMETRY}{ranges}"


def _parameter_ranges(
    values: Sequence[float], among: Sequence[float], glyph: str = r"\alpha"
) -> str:
    return f"${glyph}$ = {format_ranges(values, among, lambda value: f'${in_mathtext(value)}$')}"


def below_panel_note(least: float, lines: Mapping[str, np.ndarray]) -> str:
    """Return the caption note that lists lines with values below the panel; empty if there are
    none.

    Args:
        least: lower end of the y axis.
        lines: values of each line by its label.
    """
    low = " and ".join(label for label, values in lines.items() if (values < least).any())
    return low and rf"not drawn: {low} below ${in_mathtext(float(f'{least:.0e}'))}$"
