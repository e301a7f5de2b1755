"""The replicon eigenvalue where softmax rows of the scores of tied tokens are put out."""

import numpy as np

from numeric.channel.jumps import minimisers_jump
from numeric.channel.softmax.rules import Fitted, coarse_softmax_rules
from numeric.channel.softmax.sequence_average import SampleMeans, sample_means
from numeric.maths.sobol import Sampling
from numeric.model import float64 as generated
from numeric.problem.fields import split
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from numeric.saddle.estimator import Denoised

SAMPLING = Sampling(256)


def softmax_replicon(problem: Problem, at: Denoised, spectral: float) -> float:
    """The replicon at a solved denoising problem of this spectral factor."""
    (mh, *_), denoising, overlaps = at
    if isinstance(rule := coarse_softmax_rules(problem)[0], Fitted):
        same = rule.refined().response(overlaps, problem)
        return float(generated.replicon(problem.alpha, same, spectral, denoising.c, mh))
    if np.isinf(spectral) or (not problem.follows_label and minimisers_jump(problem, overlaps)):
        return -np.inf
    means = _responses(problem, overlaps)
    responses = (means.response_ss, means.response_so, means.response_os, means.response_oo)
    same, *others = (float(response.mean()) for response in responses)
    if not overlaps.V_antisymmetric:
        return float(generated.replicon(problem.alpha, same, spectral, denoising.c, mh))
    V = (overlaps.V, overlaps.V_antisymmetric)  # perturbations of both parts feed each other
    return float(generated.general_replicon(problem.alpha, same, *others, *V))


def _responses(problem: Problem, overlaps: Overlaps) -> SampleMeans:
    fields = split(overlaps, problem).fields(overlaps.q_antisymmetric)
    return sample_means(
        fields,
        overlaps.V,
        overlaps.V_antisymmetric,
        problem.beta,
        problem.beta0,
        problem.tokens,
        SAMPLING,
        response=True,
        fitted=problem.follows_label,
    )
