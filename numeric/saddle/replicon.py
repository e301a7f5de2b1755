"""Replicon eigenvalue of a solution, negative if replica symmetry is broken.

See the end of section 3 of the theory note. The channel factor is a mean over samples with two
accurate digits, which is sufficient for the sign. It is infinite if minimisers jump; the spectral
factor is infinite if the rank limit cuts a bulk. The eigenvalue is then minus infinity.
"""

import numpy as np

from numeric.channel.interfaces import Channel
from numeric.channel.rules import channel_of
from numeric.laws.divided_difference import either_sign_second_difference, second_difference
from numeric.maths.replicates import half_width
from numeric.maths.sobol import Sampling
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from numeric.saddle.estimator import (
    DenoisingProblem,
    DenoisingSolution,
    DirectTraining,
    estimator_of,
)

NEGLIGIBLE = 1e-4  # fraction of samples with several minima: about one in a training set of 10^4
SAMPLING = Sampling(1024)  # refined if the fraction is within its error bar of NEGLIGIBLE


def replicon(problem: Problem, at: DenoisingSolution) -> float:
    """Return one minus the growth of a perturbation in one iteration.

    The value is a lower bound if very many eigenvalues are outliers.

    Args:
        problem: the problem.
        at: denoising solution at a root.
    """
    overlaps, channel = at.overlaps, channel_of(problem)
    if overlaps.q == 0:
        return 1.0  # there is no response to a perturbation
    if not problem.follows_label and minimisers_jump(channel, overlaps):
        return -np.inf
    same, *others = channel.responses(overlaps)
    estimator = estimator_of(problem)
    if isinstance(estimator, DirectTraining):  # perturbations of both parts are coupled
        coupled, V = others or (0.0, 0.0, 0.0), estimator.root_mean_squares(at.conjugates)
        value = problem.generated.general_replicon(problem.alpha, same, *coupled, *V)
    else:
        spectral = spectral_factor(problem, at.denoising)
        if np.isinf(spectral):
            return -np.inf
        c, mh = at.denoising.c, at.conjugates.mh
        value = problem.generated.replicon(problem.alpha, same, spectral, c, mh)
    return float(value)


def minimisers_jump(channel: Channel, overlaps: Overlaps) -> bool:
    """Return whether minimisers jump as a function of the fields.

    This is the case if more than a NEGLIGIBLE fraction of samples has several minima. The fields
    are Gaussian, so some sample always jumps if two minima are possible; the criterion is whether
    a training set is expected to contain one.

    Args:
        channel: channel of the problem.
        overlaps: order parameters of the student.
    """
    shares = channel.several_minima_shares(overlaps, SAMPLING)
    if abs(shares.mean() - NEGLIGIBLE) < half_width(shares):
        shares = channel.several_minima_shares(overlaps, SAMPLING.refined())
    return bool(shares.mean() > NEGLIGIBLE)


def spectral_factor(problem: Problem, denoising: DenoisingProblem) -> float:
    """Return the mean square divided difference of the shrinkage, divided by its gain.

    Args:
        problem: the problem.
        denoising: its equivalent denoising problem, with a threshold.

    Returns:
        Infinity if the rank limit cuts a bulk.
    """
    v, b, _, energy, target = denoising
    assert energy is not None and b is not None
    if problem.is_indefinite:
        return either_sign_second_difference(target, v, b, energy.J_v).value
    law, threshold = target.at_threshold(b)
    return second_difference(law, v, threshold, energy.quantile).value
