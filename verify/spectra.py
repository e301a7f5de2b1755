"""Trained singular values against the theory's law."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from numeric.spectrum import LearnedSpectrum

#: Singular values below this share of the largest are zeros that the descent reached to its tolerance.
ZERO = 1e-3


@dataclass(frozen=True)
class Panel:
    """Singular values of S at one alpha: the theory's law, and those of the trained maps, shape (runs, d)."""

    alpha: float
    dim: int
    theory: LearnedSpectrum
    values: np.ndarray

    @property
    def agrees(self) -> bool:
        """Whether the distribution functions differ by no more than finite size allows."""
        return distance(self) < distance_band(self)


def zero_fraction(panel: Panel) -> float:
    """Return the share of trained singular values that are zero."""
    return float((panel.values < ZERO * panel.values.max()).mean())


def distance(panel: Panel) -> float:
    """Return the largest gap between the distribution functions, trained and predicted, away from zero.

    Counted from above, so that what separates small singular values from zeros does not matter.
    """
    values = np.sort(panel.values[panel.values > ZERO * panel.values.max()])[::-1]
    below = _mass_above(panel, values)
    counts = np.arange(1, len(values) + 1) / panel.values.size
    at_zero = abs(zero_fraction(panel) - panel.theory.zero_mass)
    return float(np.max(np.abs(below - counts + 0.5 / panel.values.size), initial=at_zero))


def distance_band(panel: Panel) -> float:
    """Return the distance allowed: 4/d.

    Eigenvalues repel: those of one map follow the law to order 1/d, not 1/sqrt(d), and pooling runs does not
    reduce the finite-size part.
    """
    return 4 / panel.dim


def _mass_above(panel: Panel, points: np.ndarray) -> np.ndarray:
    """The theory's mass above each point, by the trapezoidal rule on its grid; bulks are ends of the grid."""
    x, density = panel.theory.x, panel.theory.density
    pieces = np.concatenate([[0.0], np.cumsum(np.diff(x) * (density[1:] + density[:-1]) / 2)])
    return np.interp(-points, -x[::-1], (pieces[-1] - pieces)[::-1])
