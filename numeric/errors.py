"""Errors of a solution from errors of the channel, by linear response at the root.

A channel that errs by dF moves the root by (1 - F')^-1 dF, and with it every quantity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.stats import t as student

from numeric.averages import Averages
from numeric.prior import Vector
from numeric.solution import QUANTITIES

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


ENERGY = QUANTITIES.index("free_entropy")


def _parts_of_M(averages: Averages, coarser: Averages) -> float:
    """Change of M with those of the loss and of the elastic energy added without their signs; one replicate each.

    The free entropy is stationary, so that nothing else enters its error, and their sum vanishes by accident now and then.
    """
    loss = coarser.train_error - averages.train_error
    elastic = (coarser.M - coarser.train_error) - (averages.M - averages.train_error)
    return float(np.abs(loss[0]) + np.abs(elastic[0]))


def spread(saddle: SaddleMap, x: Vector, averages: Averages, coarser: Averages, response: Response) -> Vector:
    """Half-widths of the quantities: the change from the next coarser rule, and a 95 % interval over independent replicates.

    For a deterministic rule the change adds up the effects of each conjugate and the direct one without their signs: for another rule
    the signs would differ, and what cancels between two rules need not be small. Replicates alone are not enough: where few samples
    carry an average, as that of the loss at weak decay, they agree with each other before they agree with the truth.
    """
    mean, before = averages.mean(), coarser.mean()
    centre, values = saddle.conjugates(mean)[0], saddle.quantities(x, mean)[0]
    effects = response.quantities @ np.linalg.inv(np.eye(len(x)) - response.jacobian)
    unsolved = np.abs(effects) @ np.abs(centre - x)  # what is left of the residual, which a slow mode amplifies
    direct, change = saddle.quantities(x, before)[0] - values, saddle.conjugates(before)[0] - centre
    if saddle.rule.independent:
        runs = saddle.quantities(x, averages) + (saddle.conjugates(averages) - centre) @ effects.T
        half_width = student.ppf((1 + CONFIDENCE) / 2, len(runs) - 1) / np.sqrt(len(runs)) * runs.std(axis=0, ddof=1)
        return unsolved + half_width + np.abs(direct + effects @ change)
    direct[ENERGY] = saddle.problem.alpha * _parts_of_M(mean, before)
    return unsolved + np.abs(direct) + np.abs(effects) @ np.abs(change)
