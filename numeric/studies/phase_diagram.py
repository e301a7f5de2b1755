"""Phase diagram of scaling regimes at one gamma: cells in the plane of log n/log d and log lambda/log d, and local slopes there."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from numeric.laws.law import Array
from numeric.laws.power_law import power_law
from numeric.problem.problem import Problem
from numeric.saddle.curve import Watch
from numeric.studies.regimes import Regime, regimes
from numeric.studies.scaling import local_slope


@dataclass(frozen=True)
class PhaseDiagram:
    """Regimes at gamma within ranges of log n/log d and log lambda/log d; slopes are (x, y, local slope) at dimension `dim`."""

    gamma: Fraction
    dim: int | None
    samples: tuple[float, float]
    decays: tuple[float, float]
    regimes: tuple[Regime, ...]
    slopes: tuple[tuple[float, float, float], ...]

    def image(self, pixels: int) -> Array:
        """Number of the regime at each pixel, shape (pixels, pixels), decays upwards."""
        x, y = (np.linspace(*ends, pixels) for ends in (self.samples, self.decays))
        rows = [[[float(value) for value in row] for row in regime.conditions] for regime in self.regimes]
        margins = [np.min([a * x + b * y[:, None] + c for a, b, c in conditions], axis=0) for conditions in rows]
        return np.argmax(margins, axis=0)


def phase_diagram(gamma: Fraction, dim: int | None, noise: float, count: int, watch: Watch = iter) -> PhaseDiagram:
    """Cells around all corners, with local slopes on a grid of count x count points at dimension `dim`, none if it is None.

    Raises:
        ValueError: gamma is at most 1/2.
        ArithmeticError: the best multiple of the target cannot be found.
    """
    found = regimes(gamma)
    samples, decays = (0.5, 2 * float(gamma) + 2.0), (-1.5, float(gamma) + 1.0)
    slopes = () if dim is None else tuple(_slopes(gamma, dim, noise, _grid(samples, decays, count), watch))
    return PhaseDiagram(gamma, dim, samples, decays, found, slopes)


def _grid(samples: tuple[float, float], decays: tuple[float, float], count: int) -> list[tuple[float, float]]:
    """Middles of count x count tiles."""
    x, y = (np.linspace(*ends, 2 * count + 1)[1::2].tolist() for ends in (samples, decays))
    return list(product(x, y))


def _slopes(
    gamma: Fraction, dim: int, noise: float, places: list[tuple[float, float]], watch: Watch
) -> Iterable[tuple[float, float, float]]:
    for number in watch(range(len(places))):
        x, y = places[int(number)]
        point = local_slope(Problem(1.0, power_law(float(gamma), dim), dim**y, noise), dim**x)
        if not math.isnan(point.slope):
            yield x, y, point.slope
