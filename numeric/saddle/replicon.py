"""The replicon eigenvalue of a solution: negative where replica symmetry is broken (theory note, end of section 3).

Its channel factor is a mean over samples at two digits' accuracy, enough for a sign; it is infinite where minimisers jump, and the
spectral factor is where the rank limit cuts a bulk: then the eigenvalue is minus infinity.
"""

import numpy as np

from numeric.channel.rules import Channel, channel_of
from numeric.laws.divided_difference import either_sign_second_difference, second_difference
from numeric.maths.replicates import half_width
from numeric.maths.sobol import Sampling
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from numeric.saddle.estimator import DenoisingProblem, DenoisingSolution

NEGLIGIBLE = (
    1e-4  # share of samples with several minima: among 10^4 of a training set there is about one
)
SAMPLING = Sampling(1024)  # refined where the share is within its error bar of that


def replicon(problem: Problem, at: DenoisingSolution) -> float:
    """One minus the growth of a perturbation in one round, at a solved denoising problem.

    Where very many eigenvalues stand alone it is a lower bound.
    """
    overlaps, channel = at.overlaps, channel_of(problem)
    if overlaps.q == 0:
        return 1.0  # nothing answers to a perturbation
    spectral = spectral_factor(problem, at.denoising)
    if np.isinf(spectral) or (not problem.follows_label and minimisers_jump(channel, overlaps)):
        return -np.inf
    same, *others = channel.responses(overlaps)
    if not others:
        return float(
            problem.generated.replicon(
                problem.alpha, same, spectral, at.denoising.c, at.conjugates.mh
            )
        )
    V = (overlaps.V, overlaps.V_antisymmetric)  # perturbations of both parts feed each other
    return float(problem.generated.general_replicon(problem.alpha, same, *others, *V))


def minimisers_jump(channel: Channel, overlaps: Overlaps) -> bool:
    """Whether minimisers jump with the fields: more than a NEGLIGIBLE share of samples, each in its lowest minimum, has several.

    Fields are Gaussian: as soon as one sample may have two minima, some jump. What counts is whether a training set would hold any.
    """
    shares = channel.several_minima_shares(overlaps, SAMPLING)
    if abs(shares.mean() - NEGLIGIBLE) < half_width(shares):
        shares = channel.several_minima_shares(overlaps, SAMPLING.refined())
    return bool(shares.mean() > NEGLIGIBLE)


def spectral_factor(problem: Problem, denoising: DenoisingProblem) -> float:
    """Mean square divided difference of the shrinkage over its gain: 1 for direct training, infinite for a rank limit."""
    if denoising.energy is None or denoising.b is None:
        return 1.0
    if problem.is_indefinite:
        return either_sign_second_difference(
            denoising.target, denoising.v, denoising.b, denoising.energy.J_v
        ).value
    return second_difference(
        denoising.target, denoising.v, denoising.b, denoising.energy.quantile
    ).value
