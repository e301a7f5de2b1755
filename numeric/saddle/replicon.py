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
from numeric.problem.overlaps import Overlaps
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
    if np.isinf(spectral) or (not problem.follows_label and minimisers_jump(problem, overlaps)):
        return -np.inf
    same, *others = _responses(problem, overlaps)
    if not others:
        return float(problem.generated.replicon(problem.alpha, same, spectral, denoising.c, mh))
    V = (overlaps.V, overlaps.V_antisymmetric)  # perturbations of both parts feed each other
    return float(problem.generated.general_replicon(problem.alpha, same, *others, *V))


def _responses(problem: Problem, overlaps: Overlaps) -> tuple[float, ...]:
    if problem.channel == "blocks":
        return (block_response(problem, overlaps),)
    if problem.channel == "noisy blocks":
        return (noisy_response(problem, overlaps),)
    from numeric.channel.softmax_rules import softmax_responses  # of equations that only this channel has

    return softmax_responses(problem, overlaps)


def spectral_factor(problem: Problem, denoising: Denoising) -> float:
    """Mean square divided difference of the shrinkage over its gain: 1 for direct training, infinite for a rank limit."""
    if denoising.energy is None or denoising.b is None:
        return 1.0
    if problem.both_ends:
        return either_sign_second_difference(denoising.target, denoising.v, denoising.b, denoising.energy.J_v).value
    return second_difference(denoising.target, denoising.v, denoising.b, denoising.energy.quantile).value
