"""Errors of a root of two equations by linear response.

The spectral function has a relative error, given by its law, and the two equations have a residual.
Both move the root, and every quantity with it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from numeric.laws.law import Array, Energy

# Step of unknowns of order one in differences; the relative error of slopes is about as large.
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
    at: Callable[[Array, Energy], PointEvaluation],
    energy: Callable[[Array], Energy],
    root: Array,
    moves: Array,
    accuracy: float,
) -> Array:
    """Return the error bars (half-widths) of the quantities at a root.

    Args:
        at: equations and quantities as a function of the unknowns and the spectral energy.
        energy: spectral energy as a function of the unknowns.
        root: the root, shape (2,).
        moves: differences of the unknowns in slopes, `STEP` in units of each one.
        accuracy: relative error of each value of the spectral energy.
    """
    there = energy(root)
    centre = at(root, there)
    moved = [at(place, energy(place)) for place in root + np.diag(moves)]
    jacobian = np.stack([(one.equations - centre.equations) / STEP for one in moved], axis=-1)
    slopes = np.stack([(one.quantities - centre.quantities) / STEP for one in moved], axis=-1)
    if not np.linalg.cond(jacobian) < 1 / ROUNDED:
        return np.full(len(centre.quantities), np.inf)
    effects = -slopes @ np.linalg.inv(jacobian)
    found = np.asarray(ROUNDED * np.abs(centre.quantities) + np.abs(effects @ centre.equations))
    for name in ("J", "J_v", "J_b"):
        wrong = at(root, there._replace(**{name: getattr(there, name) * (1 + accuracy)}))
        found += np.abs(
            wrong.quantities - centre.quantities + effects @ (wrong.equations - centre.equations)
        )
    return found
