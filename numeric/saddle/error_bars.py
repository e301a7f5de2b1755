"""Errors of a solution from errors of the channel, by linear response at the root.

An error dF of the channel moves the root by (1 - F')^-1 dF, and every quantity with it.
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

# Step of differences in units of the roughness of the rule: its error is about the step itself.
STEP = 10


class Response(NamedTuple):
    """Derivatives at a root with respect to the unknowns.

    Attributes:
        jacobian: derivative of the map, shape (unknowns, unknowns).
        quantities: derivative of the quantities, shape (quantities, unknowns).
    """

    jacobian: Vector
    quantities: Vector


def linear_response(saddle: SaddleMap, unknowns: Unknowns, y: Vector) -> Response:
    """Return the response at a root by forward differences; one channel average per unknown.

    Args:
        saddle: map of the conjugates.
        unknowns: coordinates of the conjugates.
        y: coordinates of the root, shape (unknowns,).
    """

    def both(point: Vector) -> tuple[Vector, Vector]:
        at = unknowns.denoised(point)
        averages = saddle.averages(at).mean()
        image = unknowns.image(point, at, saddle.conjugates(averages).pack()[0])
        return image, saddle.quantities(at, averages)[0]

    base, values = both(y)
    step = STEP * saddle.rule.roughness
    columns = [both(y + step * axis) for axis in np.eye(len(y))]
    return Response(
        np.stack([(moved - base) / step for moved, _ in columns], axis=-1),
        np.stack([(moved - values) / step for _, moved in columns], axis=-1),
    )


ROUNDED = 1e-14  # relative rounding error of a value in closed form
ERRORS = [QUANTITIES.index(name) for name in ("train_error", "test_error")]
TEST, ESTIMATION, ENERGY = (
    QUANTITIES.index(name) for name in ("test_error", "estimation_error", "free_entropy")
)


def quantity_rounding(
    saddle: SaddleMap, at: DenoisingSolution, averages: Averages, values: Vector
) -> Vector:
    """Return the rounding error of each quantity, shape (quantities,).

    The errors and the free entropy are sums of terms that nearly cancel.

    Args:
        saddle: map of the conjugates.
        at: denoising solution.
        averages: channel averages at its overlaps.
        values: values of the quantities.
    """
    overlaps, conjugates, sizes = at.overlaps, at.conjugates, np.abs(values)
    sizes[ERRORS] += abs(overlaps.q) + 2 * abs(overlaps.m) + saddle.problem.rho
    sizes[ESTIMATION] += abs(overlaps.q) + 2 * abs(overlaps.m) + saddle.problem.q0
    products = (overlaps.m * conjugates.mh, overlaps.q * conjugates.Vh, overlaps.V * conjugates.qh)
    sizes[ENERGY] += sum(map(abs, products), saddle.problem.alpha * abs(float(averages.M[0])))
    return ROUNDED * sizes


def error_bars(
    saddle: SaddleMap,
    unknowns: Unknowns,
    y: Vector,
    at: DenoisingSolution,
    averages: Averages,
    coarser: Averages,
    response: Response,
) -> Vector:
    """Return the error bars (half-widths) of the quantities at a root, shape (quantities,).

    An error bar is the change from the next coarser rule, plus a 95 % interval over independent
    replicates. For a deterministic rule, the absolute effects of all unknowns and the direct effect
    are added: effects that cancel between two rules need not be small. Replicates alone are not
    sufficient: if few samples dominate an average, such as the loss at weak decay, the replicates
    agree with each other before they are accurate.

    Args:
        saddle: map with the finer rule.
        unknowns: coordinates of the conjugates.
        y: coordinates of the root, shape (unknowns,).
        at: denoising solution at the root.
        averages: channel averages at the root, by the finer rule.
        coarser: the same averages by the next coarser rule.
        response: derivatives at the root.
    """
    mean, before = averages.mean(), coarser.mean()

    def images(of: Averages) -> Vector:
        return np.array([unknowns.image(y, at, row) for row in saddle.conjugates(of).pack()])

    centre, values = images(mean)[0], saddle.quantities(at, mean)[0]
    sampled = saddle.sampling_errors(at)
    effects = response.quantities @ np.linalg.inv(np.eye(len(y)) - response.jacobian)
    # A slow mode amplifies the effect of the residual.
    unsolved = np.abs(effects) @ np.abs(centre - y)
    direct, change = saddle.quantities(at, before)[0] - values, images(before)[0] - centre
    if saddle.rule.independent:
        runs = saddle.quantities(at, averages) + (images(averages) - centre) @ effects.T
        return unsolved + sampled + half_width(runs) + np.abs(direct + effects @ change)
    # The free entropy is stationary: only M enters its error. The changes of the loss and of the
    # elastic energy are added without signs, because their sum may vanish by accident.
    loss = before.train_error - mean.train_error
    elastic = (before.M - before.train_error) - (mean.M - mean.train_error)
    direct[ENERGY] = saddle.problem.alpha * float(np.abs(loss[0]) + np.abs(elastic[0]))
    rounding = quantity_rounding(saddle, at, mean, values)
    logarithms: Vector = saddle.conjugates(mean).pack()[0] + ROUNDED
    # qh is a mean square of terms that cancel as in the test error: its relative error is up to 1.
    logarithms[1] += rounding[TEST] / max(abs(values[TEST]), rounding[TEST])
    rounded = unknowns.image(y, at, logarithms) - centre
    bars = unsolved + np.abs(direct) + np.abs(effects) @ (np.abs(change) + np.abs(rounded))
    return np.maximum(bars + sampled, rounding)
