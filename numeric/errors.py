"""Errors of a solution from errors of the channel, by linear response at the root.

A channel that errs by dF moves the root by (1 - F')^-1 dF, and with it every quantity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.stats import t as student

from numeric.averages import Averages
from numeric.prior import Vector

if TYPE_CHECKING:
    from numeric.saddle import SaddleMap

STEP = (
    10  # times the roughness of the rule: differences then see its slope, at a truncation error of the step's own size
)
CONFIDENCE = 0.95


class Response(NamedTuple):
    """Derivatives at a root: of the map, (unknowns, unknowns), and of the quantities, (quantities, unknowns)."""

    jacobian: Vector
    quantities: Vector


def respond(saddle: SaddleMap, x: Vector) -> Response:
    """Forward differences of the map and of the quantities; one channel average per unknown, and one at x."""

    def both(point: Vector) -> tuple[Vector, Vector]:
        averages = saddle.averages(point).mean()
        return saddle.conjugates(averages)[0], saddle.quantities(point, averages)[0]

    base, values = both(x)
    step = STEP * saddle.rule.roughness
    columns = [both(x + step * axis) for axis in np.eye(len(x))]
    return Response(
        np.stack([(moved - base) / step for moved, _ in columns], axis=-1),
        np.stack([(moved - values) / step for _, moved in columns], axis=-1),
    )


def spread(saddle: SaddleMap, x: Vector, averages: Averages, alternatives: Averages, response: Response) -> Vector:
    """Half-widths of the quantities: of a 95 % interval over independent replicates, else the distance to a coarser rule.

    The distance adds up the effects of each conjugate's change and the direct one without their signs: for another rule the signs
    would differ, and what cancels between two rules need not be small.
    """
    centre, values = saddle.conjugates(averages.mean())[0], saddle.quantities(x, averages.mean())[0]
    direct = saddle.quantities(x, alternatives) - values
    changes = saddle.conjugates(alternatives) - centre
    effects = response.quantities @ np.linalg.inv(np.eye(len(x)) - response.jacobian)
    if not saddle.rule.independent:
        return (np.abs(direct) + np.abs(changes) @ np.abs(effects).T)[0]
    count = len(direct)
    half_width = student.ppf((1 + CONFIDENCE) / 2, count - 1) / np.sqrt(count)
    return half_width * (direct + changes @ effects.T).std(axis=0, ddof=1)
