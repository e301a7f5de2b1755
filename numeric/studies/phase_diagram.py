"""Phase diagrams of scaling regimes at one gamma: cells in the plane of samples and weight decay, or of samples and width.

Both are logarithms over log d; local slopes of the theory at one dimension stand beside the exponents.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from types import MappingProxyType

import numpy as np

from numeric.engines.interrupted import attach_partial_result, map_partial_result
from numeric.laws.law import Array
from numeric.laws.power_law import power_law
from numeric.model import DEFAULT
from numeric.problem.problem import Problem
from numeric.saddle.curve import Watch
from numeric.saddle.solve import solve
from numeric.studies.regimes import Regime, regimes, width_regimes
from numeric.studies.scaling import (
    ScalingPoint,
    local_slope,
    local_width_slope,
    power_law_for,
    power_law_of,
)
from numeric.studies.spectrum import learned_spectrum

Range = tuple[float, float]
Slopes = tuple[tuple[float, float, float], ...]
NONE: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True)
class PhaseDiagram:
    """Regimes at gamma within ranges of log n/log d and of that of the second parameter: weight decay, or hidden units at one decay.

    `slopes` are (x, y, local slope) at dimension `dim`: along n, or along m where the `axis` is "width". `decay` is log lambda/log d
    of a diagram in the width. `theory` has the settings with which they were taken, whatever its samples and second parameter.
    """

    gamma: Fraction
    dim: int | None
    samples: Range
    vertical: Range
    regimes: tuple[Regime, ...]
    slopes: Slopes
    decay: Fraction | None = None
    theory: Problem | None = None

    @property
    def axis(self) -> str:
        """The second parameter, "decay" or "width"."""
        return "decay" if self.decay is None else "width"

    def image(self, pixels: int) -> Array:
        """Number of the regime at each pixel, shape (pixels, pixels), the second parameter upwards."""
        x, y = (np.linspace(*ends, pixels) for ends in (self.samples, self.vertical))
        rows = [
            [[float(value) for value in row] for row in regime.conditions]
            for regime in self.regimes
        ]
        margins = [
            np.min([a * x + b * y[:, None] + c for a, b, c in conditions], axis=0)
            for conditions in rows
        ]
        return np.argmax(margins, axis=0)

    def regime(self, x: float, y: float) -> Regime:
        """The cell that holds a point; on a boundary one of its cells."""
        return max(self.regimes, key=lambda regime: regime.margin(x, y, 1.0))


def phase_diagram(
    gamma: Fraction,
    dim: int | None,
    noise: float,
    count: int,
    watch: Watch = iter,
    model: str = DEFAULT,
    own: Mapping[str, float] = NONE,
) -> PhaseDiagram:
    """Cells around all corners, with local slopes on a grid of count x count points at dimension `dim`, none if it is None.

    `own`: values of the settings that only this model has.

    Raises:
        ValueError: gamma is at most 1/2.
        InvalidParameter: no exponents are derived for the model, or its own settings are others.
        ArithmeticError: the best multiple of the target cannot be found.
        Interrupted: with the diagram of the slopes that had finished.
    """
    samples, decays = (0.5, 2 * float(gamma) + 2.0), (-1.5, float(gamma) + 1.0)

    def slope(theory: Problem, x: float, y: float) -> ScalingPoint:
        size = float(power_law_of(theory).dim)
        return local_slope(replace(theory, lambda_=size**y), size**x)

    cells, theory = regimes(gamma, model), _theory(gamma, dim, noise, model, own)

    def diagram(slopes: Slopes) -> PhaseDiagram:
        return PhaseDiagram(gamma, dim, samples, decays, cells, slopes, theory=theory)

    with map_partial_result(diagram):
        return diagram(_slopes(slope, theory, _grid(samples, decays, count), watch))


@dataclass(frozen=True)
class Sketch:
    """What is learned in the middle of a cell, at (x, y) = (log n, log lambda)/log d.

    `ranks` and `values` of the eigenvalues of S: shape (points,), empty where nothing is learned; `target`: shape (d,), decreasing.
    """

    x: float
    y: float
    ranks: Array
    values: Array
    target: Array


def spectrum_sketches(diagram: PhaseDiagram, dim: int, noise: float) -> tuple[Sketch, ...]:
    """The theory's spectrum in every cell of a diagram in the weight decay, at dimension `dim`.

    Raises:
        NotConverged: a point is not solved.
    """
    target = power_law(float(diagram.gamma), dim)
    found = []
    for cell in diagram.regimes:
        x, y = cell.centre(diagram.samples, diagram.vertical)
        law = learned_spectrum(solve(Problem(dim ** (x - 2), target, dim**y, noise)).unwrap())
        found.append(Sketch(x, y, *law.ranks(dim), np.array(target.eigenvalues[::-1])))
    return tuple(found)


def width_diagram(
    gamma: Fraction,
    decay: Fraction,
    dim: int | None,
    noise: float,
    count: int,
    watch: Watch = iter,
    model: str = DEFAULT,
    own: Mapping[str, float] = NONE,
) -> PhaseDiagram:
    """Cells of students of m <= d hidden units at weight decay lambda = d^decay, slopes along m; else as `phase_diagram`."""
    samples, widths = (0.5, 2 * float(gamma) + 2.0), (0.0, 1.0)

    def slope(theory: Problem, x: float, y: float) -> ScalingPoint:
        size = float(power_law_of(theory).dim)
        return local_width_slope(
            replace(theory, alpha=size ** (x - 2), lambda_=size ** float(decay)), size**y
        )

    cells = (cell.at_decay(decay) for cell in width_regimes(gamma, model))
    within = tuple(cell for cell in cells if cell.meets(samples, widths))
    theory = _theory(gamma, dim, noise, model, own)

    def diagram(slopes: Slopes) -> PhaseDiagram:
        return PhaseDiagram(gamma, dim, samples, widths, within, slopes, decay, theory)

    with map_partial_result(diagram):
        return diagram(_slopes(slope, theory, _grid(samples, widths, count), watch))


def _theory(
    gamma: Fraction, dim: int | None, noise: float, model: str, own: Mapping[str, float]
) -> Problem | None:
    """What slopes are taken of, at some samples and weight decay; none without a dimension."""
    if dim is None:
        return None
    return Problem(
        1.0,
        power_law_for(model, float(gamma), dim),
        1.0,
        noise,
        model=model,
        extra=tuple(own.items()),
    )


def _grid(samples: Range, vertical: Range, count: int) -> list[tuple[float, float]]:
    """Middles of count x count tiles."""
    x, y = (np.linspace(*ends, 2 * count + 1)[1::2].tolist() for ends in (samples, vertical))
    return list(product(x, y))


def _slopes(
    slope: Callable[[Problem, float, float], ScalingPoint],
    theory: Problem | None,
    places: list[tuple[float, float]],
    watch: Watch,
) -> Slopes:
    if theory is None:
        return ()
    found: list[tuple[float, float, float]] = []
    with attach_partial_result(lambda: tuple(found)):
        for number in watch(range(len(places))):
            x, y = places[int(number)]
            point = slope(theory, x, y)
            if not math.isnan(point.slope):
                found.append((x, y, point.slope))
    return tuple(found)
