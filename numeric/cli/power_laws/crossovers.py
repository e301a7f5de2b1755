"""What to know of slopes that are not the exponent of their cell: where they come near it, by the derived size of the difference."""

import logging
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

_LOG = logging.getLogger(__name__)


class PlacedSlope(NamedTuple):
    """A local slope along a parameter, with its error, in a regime at these logarithms of the regime's parameters."""

    value: float
    error: float
    regime: Any
    logs: tuple[float, ...]
    along: str

    @property
    def exponent(self) -> float:
        """That of the regime."""
        return float(self.regime.exponent(self.along))


def tell_crossovers(slopes: Iterable[PlacedSlope]) -> None:
    """A line on stderr for each regime with slopes off its exponent."""
    regimes: dict[str, list[PlacedSlope]] = {}
    for slope in slopes:
        if math.isfinite(slope.value):
            regimes.setdefault(slope.regime.name, []).append(slope)
    for several in regimes.values():
        if any(map(_is_off, several)):
            _LOG.warning("%s", crossover_line(several))


def _is_off(slope: PlacedSlope) -> bool:
    return (
        abs(slope.value - slope.exponent) > slope.regime.slope_tolerance(slope.along) + slope.error
    )


def crossover_line(slopes: list[PlacedSlope]) -> str:
    """What is said of slopes of one regime, of which some are off its exponent."""
    off, regime, exponent = list(filter(_is_off, slopes)), slopes[0].regime, slopes[0].exponent
    count, verb = ("1 slope", "is") if len(off) == 1 else (f"{len(off)} slopes", "are")
    return (
        f'{count} ({_range([slope.value for slope in off])}) {verb} not yet the exponent {exponent:.3f} of "{regime.name}": '
        + f"corrections go as {_fall(off)}, "
        + (
            _end(off)
            if len(slopes) > 1
            else "the only slope of a regime cannot tell where it comes near"
        )
    )


def _fall(off: list[PlacedSlope]) -> str:
    """Powers of d with which what the exponent leaves out vanishes."""
    powers = sorted(
        {f"{one.regime.slowest_correction(*one.logs, along=one.along):.2g}" for one in off},
        key=float,
    )
    return " to ".join(f"d^-{power}" for power in dict.fromkeys((powers[0], powers[-1])))


def _end(off: list[PlacedSlope]) -> str:
    """From which d on slopes are near the exponent, by what it leaves out, as derived, with a constant that bounds all of them."""
    regime, along = off[0].regime, off[0].along
    near = f"{regime.slope_tolerance(along):.2g}"
    constant = regime.constant([one.value for one in off], [one.logs for one in off], along)
    ends = [regime.log10_dim_near(constant, *one.logs, along=along) for one in off]
    low, high = min(ends), max(ends)
    fit = "at the same powers of d" + (f" (by the farthest of {len(off)})" if len(off) > 1 else "")
    if not math.isfinite(low):
        return f"on the edge of the cell no slope comes within {near} of it {fit}"
    where = f"d = 1e{math.ceil(low)}" + (
        f" to 1e{math.ceil(high)}"
        if math.isfinite(high) and math.ceil(high) > math.ceil(low)
        else ""
    )
    edge = "" if math.isfinite(high) else ", but not on the edge of the cell"
    return f"below {near} from {where} on{edge}, {fit}"


def _range(values: list[float]) -> str:
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"
