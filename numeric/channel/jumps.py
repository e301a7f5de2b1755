"""Whether minimisers jump with the fields, so that the replicon is minus infinity (theory note, section 3).

Fields are Gaussian: as soon as one sample may have two minima, some jump. What counts is whether a training set would hold any.
"""

import numpy as np

from numeric.channel.block_sample import Array
from numeric.channel.blocks import samples
from numeric.channel.noisy_blocks import several_minima as block_several_minima
from numeric.maths.replicates import half_width
from numeric.maths.sobol import Sampling
from numeric.problem.fields import Fields, split
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem

NEGLIGIBLE = 1e-4  # share of samples with several minima: among 10^4 of a training set there is about one
SAMPLING = Sampling(1024)  # refined where the share is within its error bar of that


def minimisers_jump(problem: Problem, overlaps: Overlaps) -> bool:
    """Whether more than a NEGLIGIBLE share of samples, each in its lowest minimum, has several."""
    shares = several_minima_shares(problem, overlaps, SAMPLING)
    if abs(shares.mean() - NEGLIGIBLE) < half_width(shares):
        shares = several_minima_shares(problem, overlaps, SAMPLING.refined())
    return bool(shares.mean() > NEGLIGIBLE)


def several_minima_shares(problem: Problem, overlaps: Overlaps, sampling: Sampling) -> Array:
    """Share of samples whose Moreau energy has several minima, by each replicate, shape (replicates,)."""
    if problem.channel == "tied softmax":
        from numeric.channel.softmax.sequence_average import several_minima  # of equations that only this channel has

        fields = split(overlaps, problem).fields(overlaps.q_antisymmetric)
        V = (overlaps.V, overlaps.V_antisymmetric)
        return several_minima(fields, *V, problem.beta, problem.beta0, problem.tokens, sampling)
    fields = Fields.of(overlaps.m, overlaps.q, problem.rho)
    return np.sum([block_several_minima(one, fields, overlaps.V, sampling) for one in samples(problem)], axis=0)
