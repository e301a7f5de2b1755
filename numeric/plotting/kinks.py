"""Points between those that were asked for, where a line drawn through them has a kink or leaves zero: at a threshold, say."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from numeric.laws.law import Array
from numeric.plotting.log_axes import MIN_VISIBLE_FRACTION

T = TypeVar("T")
_MIN_BEND = 0.2  # angle between neighbouring pieces of a line as drawn: ten points of a smooth one turn by less
_ASPECT = 0.6  # height of a panel over its width
_MAX_ADDED = 16  # points added, and no more than half of those that there were: they are the slow ones
_MIN_INTERVAL = 6e-3  # of the width of the panel: shorter pieces are within the thickness of a line


def refine_kinks(
    points: Sequence[T],
    shown: Callable[[T], tuple[float, ...]],
    between: Callable[[T, T, float], T],
    watch: Callable[[Sequence[int]], Iterable[int]] = iter,
) -> list[T]:
    """The points along an axis, and more of them where a line through them has a kink: one by one in the sharpest piece.

    Args:
        points: at least three for there to be a kink.
        shown: where a point stands on the axis, and what is drawn of it in one panel, all on logarithmic scales; NaN is not drawn.
        between: the point at a place between two neighbours; left out if part of it is not drawn.
        watch: wraps as many numbers as points may be added, for a progress bar; seldom all of them are.
    """
    found, tried = sorted(points, key=lambda point: shown(point)[0]), set[float]()
    for _ in watch(range(min(_MAX_ADDED, len(found) // 2))):
        table = np.array([shown(point) for point in found])
        pieces = [(k, place) for k, place in _intervals_at_kinks(table) if place not in tried]
        if not pieces:
            break
        k, place = pieces[0]
        tried.add(place)
        new = between(found[k], found[k + 1], place)
        if not np.isnan(shown(new)).any():
            found.insert(k + 1, new)
    return found


def _intervals_at_kinks(table: Array) -> list[tuple[int, float]]:
    """Pieces of a line that meet at a kink and their middles, the sharpest first; rows are points (place, values)."""
    places, values = table[:, 0], table[:, 1:].T
    x = np.log(places)
    if not np.ptp(x) > 0 or not (values > 0).any():
        return []
    x = x / np.ptp(x)
    least = MIN_VISIBLE_FRACTION * np.nanmax(values)
    seen = np.log(np.where(values > least, values, np.nan))
    height = np.nanmax(seen) - np.nanmin(seen)
    sharpness = np.zeros(len(x) - 1)  # of each piece
    for line, drawn in zip(values, seen, strict=True):
        angles = np.arctan2(_ASPECT * np.diff(drawn), (height or 1.0) * np.diff(x))
        turns = np.nan_to_num(np.abs(np.diff(angles)))
        leaves = (line[:-1] <= least) != (line[1:] <= least)
        for part in (np.append(turns, 0.0), np.append(0.0, turns), np.pi * leaves):
            sharpness = np.maximum(sharpness, np.where(np.isnan(line[:-1] + line[1:]), 0.0, part))
    sharp = [k for k in np.argsort(-sharpness) if sharpness[k] > _MIN_BEND and np.diff(x)[k] > _MIN_INTERVAL]
    return [(int(k), float(np.sqrt(places[k] * places[k + 1]))) for k in sharp]
