"""Errors of the limit lambda -> 0+ by linear response at its root.

The spectral function has a relative error, given by its law, and the two equations have a residual.
Both move the root, and every quantity with it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from numeric.laws.law import Array, Energy

# Step of log v and of b/sqrt(v) in differences; their relative error is about as large.
STEP = 1e-4
ROUNDED = 1e-14  # relative rounding error of a quantity in closed form


class PointEvaluation(NamedTuple):
    """Equations and quantities at a point.

    Attributes:
        equations: residuals of the equations relative to their terms, shape (2,).
        quantities: values of the quantities, shape (quantities,).
    """

    equations: Array
    quantities: Array


def bars(
    at: Callable[[float, float, Energy], PointEvaluation],
    energy: Callable[[float, float], Energy],
    root: Array,
    accuracy: float,
) -> Array:
    """Return the error bars (half-widths) of the quantities at a root.

    Args:
        at: equations and quantities as a function of v, b and the spectral energy.
        energy: spectral energy as a function of v and b.
        root: the root (v, b).
        accuracy: relative error of each value of the spectral energy.
    """
    v, b = map(float, root)
    there = energy(v, b)
    centre = at(v, b, there)
    places = [(float(v * np.exp(STEP)), b), (v, float(b + STEP * np.sqrt(v)))]
    moved = [at(near, level, energy(near, level)) for near, level in places]
    jacobian = np.stack([(one.equations - centre.equations) / STEP for one in moved], axis=-1)
    slopes = np.stack([(one.quantities - centre.quantities) / STEP for one in moved], axis=-1)
    if not np.linalg.cond(jacobian) < 1 / ROUNDED:
        return np.full(len(centre.quantities), np.inf)
    effects = -slopes @ np.linalg.inv(jacobian)
    found = np.asarray(ROUNDED * np.abs(centre.quantities) + np.abs(effects @ centre.equations))
    for name in ("J", "J_v", "J_b"):
        wrong = at(v, b, there._replace(**{name: getattr(there, name) * (1 + accuracy)}))
        found += np.abs(
            wrong.quantities - centre.quantities + effects @ (wrong.equations - centre.equations)
        )
    return found
