"""Errors of the limit lambda -> 0+ by linear response at its root.

The spectral function is taken from float64 up to a relative error that its law states, and the two equations are solved up to what is
left of them. Either moves the root, and with it every quantity.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from numeric.laws.law import Array, Energy

STEP = 1e-4  # of log v and of b/sqrt(v): differences see slopes to about as much of themselves, enough for an error
ROUNDED = 1e-14  # relative, of a quantity in closed form


class PointEvaluation(NamedTuple):
    """What is left of the equations, relative to their terms, shape (2,), and the quantities, shape (quantities,)."""

    equations: Array
    quantities: Array


def bars(
    at: Callable[[float, float, Energy], PointEvaluation],
    energy: Callable[[float, float], Energy],
    root: Array,
    accuracy: float,
) -> Array:
    """Half-widths of the quantities at the root (v, b).

    Args:
        at: equations and quantities at v, b and values of the spectral function there.
        accuracy: relative error of each of these values.
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
    off = 1 + accuracy
    for wrong_energy in (
        there._replace(J=there.J * off),
        there._replace(J_v=there.J_v * off),
        there._replace(J_b=there.J_b * off),
    ):
        wrong = at(v, b, wrong_energy)
        found += np.abs(
            wrong.quantities - centre.quantities + effects @ (wrong.equations - centre.equations)
        )
    return found
