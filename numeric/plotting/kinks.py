"""Extra points of a figure at kinks: where a line through the given points bends sharply or reaches
zero, for example at a threshold.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from numeric.laws.law import Array
from numeric.plotting.log_axes import MIN_VISIBLE_FRACTION

T = TypeVar("T")
_MIN_BEND = 0.2  # radians on paper; neighbouring segments of a smooth curve bend less
_ASPECT = 0.6  # height / width of a panel
_MAX_ADDED = 16  # maximum number of new points; also at most half of the given ones
_MIN_INTERVAL = 6e-3  # fraction of the width of the panel; shorter segments are thinner than a line


def refine_kinks(
    points: Sequence[T],
    shown: Callable[[T], tuple[float, ...]],
    between: Callable[[T, T, float], T],
    watch: Callable[[Sequence[int]], Iterable[int]] = iter,
) -> list[T]:
    """Add points where a line through the given points has a kink.

    Points are added one by one, each in the middle of the segment with the sharpest bend, on
    logarithmic axes.

    Args:
        points: results along one coordinate; fewer than three have no kink.
        shown: returns the coordinates of a point in one panel: (x, y1, y2, ...). NaN is not drawn.
        between: returns the point at x between two neighbours: `between(left, right, x)`. It is
            discarded if one of its coordinates is NaN.
        watch: wraps a range with the largest possible number of new points, for a progress bar.
            Usually fewer points are added.

    Returns:
        The given and the new points, sorted by x.
    """
    found, tried = sorted(points, key=lambda point: shown(point)[0]), set[float]()
    for _ in watch(range(min(_MAX_ADDED, len(found) // 2))):
        table = np.array([shown(point) for point in found])
        segments = [(k, x) for k, x in _intervals_at_kinks(table) if x not in tried]
        if not segments:
            break
        k, x = segments[0]
        tried.add(x)
        new = between(found[k], found[k + 1], x)
        if not np.isnan(shown(new)).any():
            found.insert(k + 1, new)
    return found


def _intervals_at_kinks(table: Array) -> list[tuple[int, float]]:
    """Return the segments next to a kink, the sharpest kink first, each with its left index and its
    middle.

    Args:
        table: coordinates, shape (points, 1 + lines); column 0 is x.
    """
    places, values = table[:, 0], table[:, 1:].T
    x = np.log(places)
    if not np.ptp(x) > 0 or not (values > 0).any():
        return []
    x = x / np.ptp(x)
    least = MIN_VISIBLE_FRACTION * np.nanmax(values)
    visible = np.log(np.where(values > least, values, np.nan))
    height = np.nanmax(visible) - np.nanmin(visible)
    sharpness = np.zeros(len(x) - 1)  # of each segment
    for line, drawn in zip(values, visible, strict=True):
        angles = np.arctan2(_ASPECT * np.diff(drawn), (height or 1.0) * np.diff(x))
        turns = np.nan_to_num(np.abs(np.diff(angles)))
        leaves = (line[:-1] <= least) != (line[1:] <= least)
        for part in (np.append(turns, 0.0), np.append(0.0, turns), np.pi * leaves):
            sharpness = np.maximum(sharpness, np.where(np.isnan(line[:-1] + line[1:]), 0.0, part))
    sharp = [
        k
        for k in np.argsort(-sharpness)
        if sharpness[k] > _MIN_BEND and np.diff(x)[k] > _MIN_INTERVAL
    ]
    return [(int(k), float(np.sqrt(places[k] * places[k + 1]))) for k in sharp]
