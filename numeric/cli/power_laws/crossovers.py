"""What to know of a slope that is not the exponent of its cell: how large the derivation says the difference is, and where it ends."""

import logging
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

_LOG = logging.getLogger(__name__)

OFF = 0.02  # of a slope from its exponent, beyond its error: less needs no words


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
    off: dict[str, list[PlacedSlope]] = {}
    for slope in slopes:
        if abs(slope.value - slope.exponent) > OFF + slope.error:
            off.setdefault(slope.regime.name, []).append(slope)
    for several in off.values():
        _LOG.warning("%s", crossover_line(several))


def crossover_line(slopes: list[PlacedSlope]) -> str:
    """What is said of slopes of one regime."""
    sizes = [slope.regime.correction(*slope.logs, along=slope.along) for slope in slopes]
    ends = [slope.regime.settled(*slope.logs, along=slope.along) for slope in slopes]
    low, high = min(ends), max(ends)
    where = f"d = 1e{low:.0f}" + (f" to 1e{high:.0f}" if math.isfinite(high) and round(high) > round(low) else "")
    end = f"falls below 1/10 from {where} on, along the same powers of d"
    if not math.isfinite(low):
        end = "does not fall along the same powers of d, on the edge of the cell"
    elif not math.isfinite(high):
        end += ", but not on the edge of the cell"
    seen, exponent, name = _range([slope.value for slope in slopes]), slopes[0].exponent, slopes[0].regime.name
    count, verb = ("1 slope", "is") if len(slopes) == 1 else (f"{len(slopes)} slopes", "are")
    return (
        f'{count} ({seen}) {verb} not yet the exponent {exponent:.3f} of "{name}": the crossover is slow; '
        f"what the exponent leaves out is {_range(sizes)} here, up to a constant, and {end}"
    )


def _range(values: list[float]) -> str:
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"
