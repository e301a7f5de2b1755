"""Points between those that were asked for, where a line drawn through them has a kink or leaves zero: at a threshold, say."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from numeric.laws.law import Array

T = TypeVar("T")
_BEND = 0.2  # angle between neighbouring pieces of a line as drawn: ten points of a smooth one turn by less
_SHAPE = 0.6  # height of a panel over its width
_ROUNDS = 5  # of halving the pieces beside a kink
_MOST = 16  # points added
_NARROW = 2e-3  # of the width of the panel: shorter pieces are not seen


def resolved(
    points: Sequence[T], shown: Callable[[T], tuple[float, ...]], at: Callable[[list[float]], Iterable[T]]
) -> list[T]:
    """The points along an axis, and more of them where a line through them has a kink.

    Args:
        points: at least three for there to be a kink.
        shown: where a point stands on the axis, and what is drawn of it, all on logarithmic scales; NaN is not drawn.
        at: points at such places, ascending.
    """
    found = sorted(points, key=lambda point: shown(point)[0])
    left = _MOST
    for _ in range(_ROUNDS):
        between = _beside_kinks(np.array([shown(point) for point in found]))[:left]
        if not between:
            break
        left -= len(between)
        found = sorted([*found, *at(sorted(between))], key=lambda point: shown(point)[0])
    return found


def _beside_kinks(table: Array) -> list[float]:
    """Places in the middle of the pieces of a line that meet at a kink, the sharpest first; rows are points (place, values)."""
    x, *lines = np.log(np.where(table > 0, table, np.nan)).T
    if not np.ptp(x) > 0:
        return []
    x = x / np.ptp(x)
    sharpness = np.zeros(len(x) - 1)  # of each piece
    for drawn, values in zip(lines, table.T[1:], strict=True):
        height = np.nanmax(drawn) - np.nanmin(drawn) if np.isfinite(drawn).any() else 0.0
        angles = np.arctan2(_SHAPE * np.diff(drawn), (height or 1.0) * np.diff(x))
        turns = np.nan_to_num(np.abs(np.diff(angles)))
        leaves_zero = (values[:-1] == 0) != (values[1:] == 0)
        for part in (np.append(turns, 0.0), np.append(0.0, turns), np.pi * leaves_zero):
            sharpness = np.maximum(sharpness, np.where(np.isnan(values[:-1] + values[1:]), 0.0, part))
    sharp = [k for k in np.argsort(-sharpness) if sharpness[k] > _BEND and np.diff(x)[k] > _NARROW]
    return [float(np.sqrt(table[k, 0] * table[k + 1, 0])) for k in sharp]
