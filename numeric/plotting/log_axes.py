"""Logarithmic axes: as many labels as have room, written as one reads them, on ranges of many decades and of a part of one."""

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.ticker import Formatter, Locator, LogLocator, MaxNLocator, NullFormatter

from numeric.laws.law import Array
from numeric.plotting.numbers import is_plain, with_power

MIN_VISIBLE_FRACTION = 3e-6  #: of the greatest value: what vanishes along a curve leaves its panel below it
_TICK_MULTIPLES = ((1, 1.5, 2, 3, 5, 7), (1, 2, 3, 5), (1, 2, 5), (1, 3), (1,))  # ticks, the most of them first
_MIN_LABELS = 3  # labels from which on a scale can be read
_MAX_LABELS = 7


def logarithmic(*which: Axis) -> None:
    """These axes on a logarithmic scale, with labels that leave each other room; of minor ticks none."""
    for axis in which:
        (axis.axes.set_xscale if isinstance(axis, XAxis) else axis.axes.set_yscale)("log")
        axis.set_major_locator(_SpacedLocator(axis))
        axis.set_major_formatter(_NumberFormatter())
        axis.set_minor_locator(LogLocator(subs=range(2, 10)))
        axis.set_minor_formatter(NullFormatter())


def keep_in_view(axes: Axes) -> float:
    """Ends the view of a logarithmic y axis at MIN_VISIBLE_FRACTION of its upper end, where it went further; returns its lower end."""
    low, high = axes.get_ylim()
    if low < MIN_VISIBLE_FRACTION * high:
        axes.set_ylim(bottom=MIN_VISIBLE_FRACTION * high)
    return axes.get_ylim()[0]


class _SpacedLocator(Locator):
    """Ticks as dense as the length of the axis allows: multiples of powers of ten, or even steps on a part of a decade."""

    def __init__(self, of: Axis) -> None:
        self._axis = of

    def __call__(self) -> list[float]:
        return self.tick_values(*self._axis.get_view_interval())

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        """Ticks of the view: of the densest rule that has room, if these are enough to read a scale."""
        low, high = sorted((vmin, vmax))
        room = min(_MAX_LABELS, self._axis.get_tick_space())
        fitting = [
            ticks
            for ticks in _tick_candidates(low, high, room)
            if _min_log_distance(ticks) * room >= np.log(high / low)
        ]
        return next((ticks for ticks in fitting if len(ticks) >= _MIN_LABELS), max(fitting, key=len)).tolist()


def _tick_candidates(low: float, high: float, room: int) -> Iterator[Array]:
    """Ticks within a range: some in each decade, each decade or every few of them, even steps."""
    decades = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for multiples in _TICK_MULTIPLES:
        yield _within(np.outer(10.0**decades, multiples).ravel(), low, high)
    for stride in range(2, len(decades)):
        yield _within(10.0 ** decades[decades % stride == 0], low, high)
    for count in range(room, 1, -1):
        yield _within(np.array(MaxNLocator(count, steps=[1, 2, 5, 10]).tick_values(low, high)), low, high)


def _within(ticks: Array, low: float, high: float) -> Array:
    return ticks[(ticks >= low * (1 - 1e-9)) & (ticks <= high * (1 + 1e-9)) & (ticks > 0)]  # rounding of the ends


def _min_log_distance(ticks: Array) -> float:
    """Least distance between two labels, infinite where there are none: a rule of one label always has room."""
    return float(np.min(np.diff(np.log(ticks)), initial=np.inf))


class _NumberFormatter(Formatter):
    """Plain numbers, or all of them with their powers of ten."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return self.format_ticks([x])[0]

    def format_ticks(self, values: list[float]) -> list[str]:
        """All labels of an axis, of one kind."""
        if all(map(is_plain, values)):
            return [f"{value:g}" for value in values]
        return [f"${with_power(value)}$" for value in values]
