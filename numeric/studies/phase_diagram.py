"""Phase diagrams of scaling regimes for one exponent gamma of the target.

A diagram shows cells in the plane of samples and weight decay, or of samples and width, both as
logarithms divided by log d. It also has local slopes of the theory at one dimension.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from types import MappingProxyType

import numpy as np

from numeric.engines.interrupted import attach_partial_result
from numeric.laws.covariance.power_law import PowerLawCovariance
from numeric.laws.law import Array
from numeric.laws.power_law import power_law
from numeric.model import DEFAULT
from numeric.problem.problem import Problem
from numeric.saddle.curve import Watch
from numeric.saddle.solve import solve
from numeric.studies.regimes import Regime, covariance_regimes, regimes, width_regimes
from numeric.studies.scaling import (
    ScalingPoint,
    local_slope,
    local_width_slope,
    power_law_for,
    power_law_of,
)
from numeric.studies.spectrum import learned_spectrum

Range = tuple[float, float]
SLOPE_PER_OCTAVE = 128  #: blocks of directions for each factor 2, in local slopes
NO_SETTINGS: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True)
class PhaseDiagram:
    """Scaling regimes in a plane.

    Attributes:
        gamma: exponent of the target.
        dim: dimension d of the local slopes; None if there are none.
        samples: range of log n/log d.
        vertical: range of the logarithm of the second parameter / log d.
        regimes: cells of the diagram.
        slopes: triples (x, y, local slope); the slope is along n, or along m if `axis` is "width".
        decay: log lambda/log d if the second parameter is the width; None otherwise.
        theory: settings of the local slopes; its alpha and second parameter are not used.
        covariance: exponent of the covariance of the tokens; None if they are isotropic.
    """

    gamma: Fraction
    dim: int | None
    samples: Range
    vertical: Range
    regimes: tuple[Regime, ...]
    slopes: tuple[tuple[float, float, float], ...] = ()
    decay: Fraction | None = None
    theory: Problem | None = None
    covariance: Fraction | None = None

    @property
    def axis(self) -> str:
        """The second parameter, "decay" or "width"."""
        return "decay" if self.decay is None else "width"

    def image(self, pixels: int) -> Array:
        """Return the index of the regime at each pixel.

        The shape is (pixels, pixels); the second parameter increases along axis 0.
        """
        x, y = (np.linspace(*ends, pixels) for ends in (self.samples, self.vertical))
        margins = [
            np.min(
                [float(a) * x + float(b) * y[:, None] + float(c) for a, b, c in regime.conditions],
                axis=0,
            )
            for regime in self.regimes
        ]
        return np.argmax(margins, axis=0)

    def regime(self, x: float, y: float) -> Regime:
        """Return the cell that contains a point; on a boundary, one of its cells.

        Args:
            x: log n/log d.
            y: logarithm of the second parameter / log d.
        """
        return max(self.regimes, key=lambda regime: regime.margin(x, y, 1.0))


def phase_diagram(
    gamma: Fraction,
    dim: int | None,
    noise: float,
    count: int,
    watch: Watch = iter,
    model: str = DEFAULT,
    extra: Mapping[str, float] = NO_SETTINGS,
    covariance: Fraction | None = None,
) -> PhaseDiagram:
    """Compute the phase diagram in samples and weight decay; its ranges contain all corners.

    With a covariance k^-a of the tokens on the eigenvectors of the target, they contain the corners
    for d^0.5 samples or more.

    Args:
        gamma: exponent of the target.
        dim: dimension d of the local slopes; None for a diagram without slopes.
        noise: variance Delta of the label noise, index^2.
        count: number of local slopes along each axis.
        watch: wraps the iterable of slopes, for a progress bar.
        model: name of the model.
        extra: values of the model-specific settings.
        covariance: exponent a of the covariance, 0 < a < 1; None for isotropic tokens.

    Raises:
        ValueError: gamma is at most 1/2; with a covariance gamma + a is, or a is not below 1.
        InvalidParameter: the model has no derived exponents, or `extra` has other settings.
        ArithmeticError: the best multiple of the target is not found.
        Interrupted: by Ctrl-C; contains the diagram with the slopes computed until then.
    """
    decays, theory = (-1.5, float(gamma) + 1.0), None
    if covariance is None:
        within = regimes(gamma, model)
        theory = _theory(gamma, dim, noise, model, extra)
    else:
        cells = covariance_regimes(gamma, covariance, model)
        within = tuple(cell for cell in cells if cell.meets(_samples(gamma), decays))
        if dim is not None:
            target = PowerLawCovariance(
                float(gamma), float(covariance), dim, per_octave=SLOPE_PER_OCTAVE
            )
            theory = Problem(1.0, target, 1.0, noise, model=model, extra=tuple(extra.items()))
    return _with_slopes(
        PhaseDiagram(
            *(gamma, dim, _samples(gamma), decays, within), theory=theory, covariance=covariance
        ),
        lambda theory, d, x, y: local_slope(replace(theory, lambda_=d**y), d**x),
        count,
        watch,
    )


@dataclass(frozen=True)
class Sketch:
    """Spectrum of S in the centre of a cell.

    Attributes:
        x: log n/log d.
        y: log lambda/log d.
        ranks: ranks of the eigenvalues of S, shape (points,); empty if nothing is learned.
        values: eigenvalues of S, shape (points,).
        target: eigenvalues of the target, shape (d,), decreasing.
    """

    x: float
    y: float
    ranks: Array
    values: Array
    target: Array


def spectrum_sketches(diagram: PhaseDiagram, dim: int, noise: float) -> tuple[Sketch, ...]:
    """Compute the spectrum of S in the centre of every cell of a diagram in the weight decay.

    Args:
        diagram: the diagram.
        dim: dimension d.
        noise: variance Delta of the label noise, index^2.

    Raises:
        NotConverged: a point has not converged.
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
    extra: Mapping[str, float] = NO_SETTINGS,
) -> PhaseDiagram:
    """Compute the phase diagram in samples and hidden units m <= d, with local slopes along m.

    Args:
        gamma: exponent of the target.
        decay: exponent of the weight decay lambda = d^decay.
        dim: dimension d of the local slopes; None for a diagram without slopes.
        noise: variance Delta of the label noise, index^2.
        count: number of local slopes along each axis.
        watch: wraps the iterable of slopes, for a progress bar.
        model: name of the model.
        extra: values of the model-specific settings.

    Raises: see `phase_diagram`.
    """
    samples, widths = _samples(gamma), (0.0, 1.0)
    cells = (cell.at_decay(decay) for cell in width_regimes(gamma, model))
    within = tuple(cell for cell in cells if cell.meets(samples, widths))
    theory = _theory(gamma, dim, noise, model, extra)

    def slope(theory: Problem, d: float, x: float, y: float) -> ScalingPoint:
        there = replace(theory, alpha=d ** (x - 2), lambda_=d ** float(decay))
        return local_width_slope(there, d**y)

    diagram = PhaseDiagram(gamma, dim, samples, widths, within, decay=decay, theory=theory)
    return _with_slopes(diagram, slope, count, watch)


def _samples(gamma: Fraction) -> Range:
    """Return the range of log n/log d."""
    return 0.5, 2 * float(gamma) + 2.0


def _theory(
    gamma: Fraction, dim: int | None, noise: float, model: str, extra: Mapping[str, float]
) -> Problem | None:
    """Return the settings of the local slopes; None without a dimension."""
    if dim is None:
        return None
    target = power_law_for(model, float(gamma), dim)
    return Problem(1.0, target, 1.0, noise, model=model, extra=tuple(extra.items()))


def _grid(samples: Range, vertical: Range, count: int) -> list[tuple[float, float]]:
    """Return the centres of count x count tiles."""
    x, y = (np.linspace(*ends, 2 * count + 1)[1::2].tolist() for ends in (samples, vertical))
    return list(product(x, y))


def _with_slopes(
    diagram: PhaseDiagram,
    slope: Callable[[Problem, float, float, float], ScalingPoint],
    count: int,
    watch: Watch,
) -> PhaseDiagram:
    """Add local slopes at the centres of count x count tiles.

    Args:
        diagram: a diagram; returned as it is if it has no dimension.
        slope: returns the local slope from theory, d, log n/log d and the second coordinate.
        count: number of slopes along each axis.
        watch: wraps the iterable of slopes, for a progress bar.
    """
    theory = diagram.theory
    if theory is None:
        return diagram
    dim, slopes = float(power_law_of(theory).dim), list[tuple[float, float, float]]()
    centres = _grid(diagram.samples, diagram.vertical, count)
    with attach_partial_result(lambda: replace(diagram, slopes=tuple(slopes))):
        for number in watch(range(len(centres))):
            x, y = centres[int(number)]
            point = slope(theory, dim, x, y)
            if not math.isnan(point.slope):
                slopes.append((x, y, point.slope))
    return replace(diagram, slopes=tuple(slopes))
