"""Logarithmic axes with as many tick labels as fit, from a part of a decade to many decades."""

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.ticker import Formatter, Locator, LogLocator, MaxNLocator, NullFormatter

from numeric.laws.law import Array
from numeric.plotting.numbers import is_plain, with_power

#: Fraction of the greatest value; smaller values are below the panel.
MIN_VISIBLE_FRACTION = 3e-6
# Ticks in a decade, densest first.
_TICK_MULTIPLES = ((1, 1.5, 2, 3, 5, 7), (1, 2, 3, 5), (1, 2, 5), (1, 3), (1,))
_MIN_LABELS = 3  # fewer labels do not show the scale
_MAX_LABELS = 7


def logarithmic(*which: Axis) -> None:
    """Set these axes to a logarithmic scale with labels that do not overlap; minor ticks have no
    label.
    """
    for axis in which:
        (axis.axes.set_xscale if isinstance(axis, XAxis) else axis.axes.set_yscale)("log")
        axis.set_major_locator(_SpacedLocator(axis))
        axis.set_major_formatter(_NumberFormatter())
        axis.set_minor_locator(LogLocator(subs=range(2, 10)))
        axis.set_minor_formatter(NullFormatter())


def keep_in_view(axes: Axes) -> float:
    """Raise the lower limit of a logarithmic y axis to MIN_VISIBLE_FRACTION of its upper limit, if
    it is lower.

    Returns:
        The lower limit.
    """
    low, high = axes.get_ylim()
    if low < MIN_VISIBLE_FRACTION * high:
        axes.set_ylim(bottom=MIN_VISIBLE_FRACTION * high)
    return axes.get_ylim()[0]


class _SpacedLocator(Locator):
    """Tick locator whose density depends on the length of the axis.

    Ticks are multiples of powers of ten, or evenly spaced on a part of a decade.
    """

    def __init__(self, axis: Axis) -> None:
        self._axis = axis

    def __call__(self) -> list[float]:
        return self.tick_values(*self._axis.get_view_interval())

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        """Return the densest ticks between `vmin` and `vmax` that fit and are enough to read the
        scale.
        """
        low, high = sorted((vmin, vmax))
        room = min(_MAX_LABELS, self._axis.get_tick_space())
        fitting = [
            ticks
            for ticks in _tick_candidates(low, high, room)
            if np.min(np.diff(np.log(ticks)), initial=np.inf) * room >= np.log(high / low)
        ]
        readable = (ticks for ticks in fitting if len(ticks) >= _MIN_LABELS)
        return next(readable, max(fitting, key=len)).tolist()


def _tick_candidates(low: float, high: float, room: int) -> Iterator[Array]:
    """Yield ticks from `low` to `high`, densest first: several in a decade, one in each or every
    few decades, evenly spaced.
    """
    decades = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for multiples in _TICK_MULTIPLES:
        yield _within(np.outer(10.0**decades, multiples).ravel(), low, high)
    for stride in range(2, len(decades)):
        yield _within(10.0 ** decades[decades % stride == 0], low, high)
    for count in range(room, 1, -1):
        ticks = MaxNLocator(count, steps=[1, 2, 5, 10]).tick_values(low, high)
        yield _within(np.array(ticks), low, high)


def _within(ticks: Array, low: float, high: float) -> Array:
    inside = (ticks >= low * (1 - 1e-9)) & (ticks <= high * (1 + 1e-9))  # up to rounding
    return ticks[inside & (ticks > 0)]


class _NumberFormatter(Formatter):
    """Tick formatter: all labels of an axis are plain numbers, or all have powers of ten."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return self.format_ticks([x])[0]

    def format_ticks(self, values: list[float]) -> list[str]:
        """Return all labels of an axis, in one format."""
        if all(map(is_plain, values)):
            return [f"{value:g}" for value in values]
        return [f"${with_power(value)}$" for value in values]
