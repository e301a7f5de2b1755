"""Points of a figure: checks of the lists that figure functions take, marks and notes for points that are not reliable."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from numeric.maths.domain import InvalidParameter, require_kind, require_list
from numeric.plotting.numbers import format_ranges, in_mathtext
from numeric.problem.solution import Solution, Status

BROKEN_SYMMETRY = "replica symmetry broken, an approximation"  #: what a caption says of points where it is
CIRCLES = "open circles: "
ALPHA_LABEL = r"sample ratio $\alpha=n/d^2$"


def require_each(name: str, points: Sequence[object], kind: type, maker: str) -> None:
    """Raises InvalidParameter for one thing in place of a list, and for one in the list of another kind than its maker returns."""
    require_list(name, points)
    for number, point in enumerate(points):
        require_kind(f"{name}[{number}]", point, kind, f"give what {maker} returns")


def require_nonempty(name: str, points: Sequence[object], kind: type, maker: str) -> None:
    """Raises InvalidParameter as `require_each`, and where there is nothing to draw."""
    require_each(name, points, kind, maker)
    if not len(points):
        raise InvalidParameter(name, points, "holds nothing to draw", "give one point or more")


def plot_line(
    axes: Axes, x: np.ndarray, y: np.ndarray, stable: np.ndarray, line: str, colour: str, label: str, **look: Any
) -> None:
    """A line, faint to and between points that are approximations."""
    axes.plot(x, np.where(stable, y, np.nan), line, color=colour, label=label, **look)
    if not stable.all():
        beside = ~stable | np.append(~stable[1:], False) | np.append(False, ~stable[:-1])
        axes.plot(x, np.where(beside, y, np.nan), line, color=colour, lw=0.5, alpha=0.6)


def mark_broken(
    axes: Axes, x: Iterable[float], y: Iterable[float], solutions: Sequence[Solution], colour: str, mark: str = "o"
) -> None:
    """Open circles, or other marks, over the points that are approximations."""
    marked = [(*at,) for *at, one in zip(x, y, solutions, strict=True) if one.status is Status.UNSTABLE]
    if marked:
        axes.plot(*zip(*marked, strict=True), mark, color=colour, mfc="white", ms=3, zorder=3)


def omitted_note(alphas: Sequence[float], among: Sequence[float]) -> str:
    """Of points that leave a gap."""
    return f"left out as inaccurate or unsolved: {_parameter_ranges(alphas, among)}" if alphas else ""


def broken_note(solutions: Sequence[Solution], values: Sequence[float] = (), glyph: str = r"\alpha") -> str:
    """Of points that are approximations, along the sample ratio or `values` of another parameter."""
    along = values or [solution.problem.alpha for solution in solutions]
    where = [value for value, solution in zip(along, solutions, strict=True) if solution.status is Status.UNSTABLE]
    if len(along) == 1:  # which the caption has stated
        return BROKEN_SYMMETRY if where else ""
    return f"{BROKEN_SYMMETRY}: {_parameter_ranges(where, along, glyph)}" if where else ""


def circles_note(told: str) -> str:
    """Prefix a note with the mark that it explains; an empty note stays empty."""
    return told and CIRCLES + told


def _parameter_ranges(values: Sequence[float], among: Sequence[float], glyph: str = r"\alpha") -> str:
    return f"${glyph}$ = {format_ranges(values, among, lambda value: f'${in_mathtext(value)}$')}"


def below_panel_note(least: float, lines: Mapping[str, np.ndarray]) -> str:
    """Of lines that leave the panel below."""
    low = [label for label, values in lines.items() if (values < least).any()]
    return rf"not drawn: {' and '.join(low)} below ${in_mathtext(float(f'{least:.0e}'))}$" if low else ""
