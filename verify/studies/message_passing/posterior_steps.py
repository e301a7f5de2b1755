"""Bayes-optimal message passing: every step is a posterior mean given the current messages.

Source: theory note, section 5.

The noise of a label is inside the softmax, which is invertible up to a constant: a label is the
visible part z of the noisy index, D Gaussian measurements of variance Delta/2 per unit.  With omega
the mean and V the variance per unit of what is known of an index,

    omega = indices(S) - V f
    f     = visible part of (z - omega)/(V + Delta/2),    Vh = alpha D/(V + Delta/2)
    Y     = S + adjoint(f)/(Vh d) = S0 + delta G,         delta^2 = 1/(2 Vh)
    S     = mean of S0 given Y,                           V = (divergence of S by Y)/(Vh d^2)

Y does not depend on V: in a linear channel it only says how large the noise is.  At the optimum V
is the estimation error.
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
    """What is known of the target: a map S (d, d), and the variance V per unit of an index given
    it.
    """

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
    """Messages from `start`, whose V is the error of its map; labels (n, T, T) of variance `noise`
    inside softmax(beta0 h).
    """
    (samples, tokens, _), dim, (s, V) = labels.shape, len(start.s), start
    z = packed(visible_index(labels, beta0))
    hidden = packed(torch.ones(1, tokens, tokens).to(z))[0]  # the constant, in indices per unit
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
