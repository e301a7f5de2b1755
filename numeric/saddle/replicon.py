"""The replicon eigenvalue of a solution: negative where replica symmetry is broken (theory note, end of section 3).

Its channel factor is a mean over samples at two digits' accuracy, enough for a sign; it is infinite where minimisers jump
(numeric.channel.jumps), and the spectral factor is where the rank limit cuts a bulk: then the eigenvalue is minus infinity.
"""

import numpy as np

from numeric.channel.blocks import block_response
from numeric.channel.jumps import minimisers_jump
from numeric.channel.noisy_blocks import noisy_response
from numeric.laws.divided_difference import either_sign_second_difference, second_difference
from numeric.model import call
from numeric.problem.problem import Problem
from numeric.saddle.estimator import Denoised, Denoising


def replicon(problem: Problem, at: Denoised) -> float:
    """One minus the growth of a perturbation in one round, at a solved denoising problem.

    Where very many eigenvalues stand alone it is a lower bound.
    """
    (mh, *_), denoising, overlaps = at
    if overlaps.q == 0:
        return 1.0  # nothing answers to a perturbation
    spectral = spectral_factor(problem, denoising)
    if problem.channel == "closed":
        response = call(problem.generated.closed_response, (overlaps.V,), problem.settings)
        return float(problem.generated.replicon(problem.alpha, response, spectral, denoising.c, mh))
    if problem.channel == "tied softmax":
        from numeric.saddle.softmax_replicon import softmax_replicon  # of equations that only this channel has

        return softmax_replicon(problem, at, spectral)
    if np.isinf(spectral) or (not problem.follows_label and minimisers_jump(problem, overlaps)):
        return -np.inf
    response = (block_response if problem.channel == "blocks" else noisy_response)(problem, overlaps)
    return float(problem.generated.replicon(problem.alpha, response, spectral, denoising.c, mh))


def spectral_factor(problem: Problem, denoising: Denoising) -> float:
    """Mean square divided difference of the shrinkage over its gain: 1 for direct training, infinite for a rank limit."""
    if denoising.energy is None or denoising.b is None:
        return 1.0
    if problem.both_ends:
        return either_sign_second_difference(denoising.target, denoising.v, denoising.b, denoising.energy.J_v).value
    return second_difference(denoising.target, denoising.v, denoising.b, denoising.energy.quantile).value
