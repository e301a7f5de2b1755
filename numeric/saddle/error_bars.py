"""Errors of a solution from errors of the channel, by linear response at the root.

A channel that errs by dF moves the root by (1 - F')^-1 dF, and with it every quantity.
"""

from typing import NamedTuple

import numpy as np

from numeric.channel.averages import Averages
from numeric.maths.fixed_point import Vector
from numeric.maths.replicates import half_width
from numeric.problem.solution import QUANTITIES
from numeric.saddle.equations import SaddleMap
from numeric.saddle.estimator import DenoisingSolution
from numeric.saddle.unknowns.coordinates import Unknowns

STEP = 10  # times the roughness of the rule: differences then see its slope, at a truncation error of the step's own size


class Response(NamedTuple):
    """Derivatives at a root: of the map, (unknowns, unknowns), and of the quantities, (quantities, unknowns)."""

    jacobian: Vector
    quantities: Vector


def linear_response(saddle: SaddleMap, unknowns: Unknowns, y: Vector) -> Response:
    """Forward differences of the map and of the quantities; one channel average per unknown, and one at y."""

    def both(point: Vector) -> tuple[Vector, Vector]:
        at = unknowns.denoised(point)
        averages = saddle.averages(at).mean()
        return unknowns.image(point, at, saddle.conjugates(averages).pack()[0]), saddle.quantities(
            at, averages
        )[0]

    base, values = both(y)
    step = STEP * saddle.rule.roughness
    columns = [both(y + step * axis) for axis in np.eye(len(y))]
    return Response(
        np.stack([(moved - base) / step for moved, _ in columns], axis=-1),
        np.stack([(moved - values) / step for _, moved in columns], axis=-1),
    )


ROUNDED = 1e-14  # relative, of a value in closed form
ERRORS = [QUANTITIES.index(name) for name in ("train_error", "test_error")]
TEST, ESTIMATION, ENERGY = (
    QUANTITIES.index(name) for name in ("test_error", "estimation_error", "free_entropy")
)


def _parts_of_M(averages: Averages, coarser: Averages) -> float:
    """Change of M with those of the loss and of the elastic energy added without their signs; one replicate each.

    The free entropy is stationary, so that nothing else enters its error, and their sum vanishes by accident now and then.
    """
    loss = coarser.train_error - averages.train_error
    elastic = (coarser.M - coarser.train_error) - (averages.M - averages.train_error)
    return float(np.abs(loss[0]) + np.abs(elastic[0]))


def _rounding(
    saddle: SaddleMap, at: DenoisingSolution, averages: Averages, values: Vector
) -> Vector:
    """What double precision leaves of each quantity; errors and free entropy are sums of terms that nearly cancel."""
    overlaps, conjugates, sizes = at.overlaps, at.conjugates, np.abs(values)
    sizes[ERRORS] += abs(overlaps.q) + 2 * abs(overlaps.m) + saddle.problem.rho
    sizes[ESTIMATION] += abs(overlaps.q) + 2 * abs(overlaps.m) + saddle.problem.q0
    products = (overlaps.m * conjugates.mh, overlaps.q * conjugates.Vh, overlaps.V * conjugates.qh)
    sizes[ENERGY] += sum(map(abs, products), saddle.problem.alpha * abs(float(averages.M[0])))
    return ROUNDED * sizes


def _rounded_conjugates(
    saddle: SaddleMap, averages: Averages, rounding: Vector, values: Vector
) -> Vector:
    """Logarithms of the conjugates that the channel gives back, off by what double precision leaves of them.

    qh is a mean square, of terms that cancel as those of the test error do: its logarithm is off by up to one where nothing is left.
    """
    logarithms: Vector = saddle.conjugates(averages).pack()[0] + ROUNDED
    logarithms[1] += rounding[TEST] / max(abs(values[TEST]), rounding[TEST])
    return logarithms


def error_bars(
    saddle: SaddleMap,
    unknowns: Unknowns,
    y: Vector,
    at: DenoisingSolution,
    averages: Averages,
    coarser: Averages,
    response: Response,
) -> Vector:
    """Half-widths of the quantities at y, whose denoising problem is `at`.

    They are the change from the next coarser rule, and a 95 % interval over independent replicates.
    For a deterministic rule the change adds up the effects of each unknown and the direct one without their signs: for another rule
    the signs would differ, and what cancels between two rules need not be small. Replicates alone are not enough: where few samples
    carry an average, as that of the loss at weak decay, they agree with each other before they agree with the truth.
    """
    mean, before = averages.mean(), coarser.mean()

    def images(of: Averages) -> Vector:
        return np.array([unknowns.image(y, at, row) for row in saddle.conjugates(of).pack()])

    centre, values = images(mean)[0], saddle.quantities(at, mean)[0]
    effects = response.quantities @ np.linalg.inv(np.eye(len(y)) - response.jacobian)
    unsolved = np.abs(effects) @ np.abs(
        centre - y
    )  # what is left of the residual, which a slow mode amplifies
    direct, change = saddle.quantities(at, before)[0] - values, images(before)[0] - centre
    if saddle.rule.independent:
        runs = saddle.quantities(at, averages) + (images(averages) - centre) @ effects.T
        return unsolved + half_width(runs) + np.abs(direct + effects @ change)
    direct[ENERGY] = saddle.problem.alpha * _parts_of_M(mean, before)
    rounding = _rounding(saddle, at, mean, values)
    rounded = unknowns.image(y, at, _rounded_conjugates(saddle, mean, rounding, values)) - centre
    bars = unsolved + np.abs(direct) + np.abs(effects) @ (np.abs(change) + np.abs(rounded))
    return np.maximum(bars, rounding)
