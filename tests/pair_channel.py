"""The averages over pairs of tokens with Gaussian norms, as numbers of all order parameters."""

from typing import NamedTuple

import numpy as np

from numeric.channel.softmax import pair_average
from numeric.channel.softmax.pair_average import Resolution
from numeric.model import float64 as physics
from numeric.problem.axes import AxisOverlaps


class ChannelAverages(NamedTuple):
    """Mean envelope, its derivatives, and both errors."""

    M: float
    dM_dm: float
    dM_dq: float
    dM_dV: float
    train_error: float
    test_error: float


def average(
    m: float, q: float, V: float, rho: float, beta: float, beta0: float, resolution: Resolution
) -> ChannelAverages:
    """Return the averages of a student; both axes have the same overlaps."""
    axes = AxisOverlaps(np.full(2, m), np.full(2, q), np.full(2, rho), np.zeros(2))
    means = pair_average.average(axes, V, beta, beta0, resolution)
    derivatives = physics.channel_derivatives(
        *(m, q, V, rho, means.train, means.R, means.F1.sum(), means.F2.sum())
    )
    return ChannelAverages(*map(float, (*derivatives, means.train, means.test)))


def unlearned(rho: float, beta: float, beta0: float, resolution: Resolution) -> ChannelAverages:
    """Return the averages at S = 0."""
    loss, dual, overlap, curvature = pair_average.unlearned(
        np.full(2, rho), beta, beta0, resolution
    )
    derivatives = physics.unlearned_derivatives(rho, loss, dual, overlap.sum(), curvature)
    return ChannelAverages(*map(float, (*derivatives, loss, loss)))
