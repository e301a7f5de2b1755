"""Warnings about local slopes that differ from the exponent of their regime.

They give the dimension d at which the slopes come near the exponent, from the derived size of the
corrections.
"""

import logging
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

_LOG = logging.getLogger(__name__)


class PlacedSlope(NamedTuple):
    """Local slope along a parameter.

    Attributes:
        value: the slope.
        error: its error bar.
        regime: the regime of its point.
        logs: logarithms of the parameters of the regime.
        along: name of the parameter.
    """

    value: float
    error: float
    regime: Any
    logs: tuple[float, ...]
    along: str

    @property
    def exponent(self) -> float:
        """Exponent of the regime."""
        return float(self.regime.exponent(self.along))

    @property
    def is_off(self) -> bool:
        """Return whether the slope differs from the exponent by more than its error and the
        tolerance.
        """
        tolerance = self.regime.slope_tolerance(self.along)
        return bool(abs(self.value - self.exponent) > tolerance + self.error)


def warn_of_crossovers(slopes: Iterable[PlacedSlope]) -> None:
    """Log one line for each regime with slopes that differ from its exponent."""
    regimes: dict[str, list[PlacedSlope]] = {}
    for slope in slopes:
        if math.isfinite(slope.value):
            regimes.setdefault(slope.regime.name, []).append(slope)
    for group in regimes.values():
        if any(slope.is_off for slope in group):
            _LOG.warning("%s", crossover_line(group))


def crossover_line(slopes: list[PlacedSlope]) -> str:
    """Return the warning about slopes of one regime, some of which differ from its exponent."""
    off, regime, exponent = (
        [one for one in slopes if one.is_off],
        slopes[0].regime,
        slopes[0].exponent,
    )
    count, verb = ("1 slope", "is") if len(off) == 1 else (f"{len(off)} slopes", "are")
    low, high = (f"{end(slope.value for slope in off):.2f}" for end in (min, max))
    values = low if low == high else f"{low} to {high}"
    end = "one slope in a regime is not enough to extrapolate"
    return (
        f'{count} ({values}) {verb} not yet the exponent {exponent:.3f} of "{regime.name}": '
        f"corrections go as {_corrections(off)}, {_end(off) if len(slopes) > 1 else end}"
    )


def _corrections(off: list[PlacedSlope]) -> str:
    """Return the range of the powers of d with which the corrections vanish."""
    powers = sorted(
        {f"{one.regime.slowest_correction(*one.logs, along=one.along):.2g}" for one in off},
        key=float,
    )
    return " to ".join(f"d^-{power}" for power in dict.fromkeys((powers[0], powers[-1])))


def _end(off: list[PlacedSlope]) -> str:
    """Return the dimension from which slopes are near the exponent.

    The constant of the derived corrections is chosen such that it bounds those of all slopes.
    """
    regime, along = off[0].regime, off[0].along
    near = f"{regime.slope_tolerance(along):.2g}"
    constant = regime.constant([one.value for one in off], [one.logs for one in off], along)
    ends = [regime.log10_dim_near(constant, *one.logs, along=along) for one in off]
    low, high = min(ends), max(ends)
    fit = "at the same powers of d" + (f" (by the farthest of {len(off)})" if len(off) > 1 else "")
    if not math.isfinite(low):
        return f"on the edge of the cell no slope comes within {near} of it {fit}"
    where = f"d = 1e{math.ceil(low)}"
    if not math.isfinite(high):
        return f"below {near} from {where} on, but not on the edge of the cell, {fit}"
    if math.ceil(high) > math.ceil(low):
        where += f" to 1e{math.ceil(high)}"
    return f"below {near} from {where} on, {fit}"
