"""Bayes-optimal message passing: every step is a posterior mean given the current messages (theory
note, section 5).

The noise of a label is inside the softmax, which is invertible up to a constant. A label therefore
states the visible part z of the noisy index: D Gaussian measurements of variance Delta/2 per unit.
With the posterior mean omega and variance V per unit of an index,

    omega = indices(S) - V f
    f     = visible part of (z - omega)/(V + Delta/2),    Vh = alpha D/(V + Delta/2)
    Y     = S + adjoint(f)/(Vh d) = S0 + delta G,         delta^2 = 1/(2 Vh)
    S     = mean of S0 given Y,                           V = (divergence of S by Y)/(Vh d^2)

Y does not depend on V: in a linear channel V only states the size of the noise. At the optimum V is
the estimation error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch

from numeric.laws.marchenko_pastur import MarchenkoPastur
from verify.core.data import Inputs, packed
from verify.studies.message_passing.iteration import adjoint_per_unit, visible_index
from verify.studies.message_passing.posterior_mean import posterior_mean


class PosteriorEstimate(NamedTuple):
    """Posterior of the target: a map S (d, d), and the variance V per unit of an index given it."""

    s: torch.Tensor
    V: float


def posterior_steps(
    inputs: Inputs,
    labels: torch.Tensor,
    noise: float,
    beta0: float,
    law: MarchenkoPastur,
    start: PosteriorEstimate,
) -> Iterator[PosteriorEstimate]:
    """Yield the messages from `start`, whose V is the error of its map.

    Args:
        inputs: samples.
        labels: shape (n, T, T).
        noise: variance inside softmax(beta0 h).
        beta0: inverse temperature of the target.
        law: law of the eigenvalues of the target.
        start: initial estimate.
    """
    (samples, tokens, _), dim, (s, V) = labels.shape, len(start.s), start
    z = packed(visible_index(labels, beta0))
    # the constant of a softmax, in indices per unit
    hidden = packed(torch.ones(1, tokens, tokens).to(z))[0]
    hidden = hidden / hidden.norm()
    measurements = samples * (z.shape[1] - 1) / dim**2
    f = torch.zeros_like(z)
    while True:
        surprise = z - (packed(inputs.indices(s)) - V * f)
        f = (surprise - (surprise @ hidden)[:, None] * hidden) / (V + noise / 2)
        Vh = measurements / (V + noise / 2)
        y = s + adjoint_per_unit(inputs, f, tokens) / (Vh * dim)
        s, divergence = posterior_mean(y, 1 / (2 * Vh), law)
        V = divergence / (Vh * dim**2)
        yield PosteriorEstimate(s, V)
