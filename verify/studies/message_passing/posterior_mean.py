"""Posterior mean of a random matrix: the best rotation-invariant estimator of S0 from Y = S0 +
delta G.

Eigenvalues x of Y shrink to x - 2 v Re g(x) with v = delta^2 and g the Stieltjes transform of the
law of Y (Bun, Allez, Bouchaud, Potters 2016, arXiv 1502.06736). Eigenvectors do not change.
"""

from __future__ import annotations

import numpy as np
import torch

from numeric.laws.marchenko_pastur import MarchenkoPastur, physical_root
from numeric.model import float64 as generated

#: Eigenvalues closer than this share of their spread count as equal; rounding of the difference
#: quotient is then below 1e-6.
COINCIDENT = 1e-10


def posterior_mean(y: torch.Tensor, v: float, law: MarchenkoPastur) -> tuple[torch.Tensor, float]:
    """Return the mean of S0 given Y, and its divergence over symmetric matrices.

    Args:
        y: symmetric matrix, shape (d, d).
        v: variance of the noise.
        law: law of the eigenvalues of S0.
    """
    values, vectors = torch.linalg.eigh(y)
    shrunk, slopes = shrinkage(values.cpu().numpy(), v, law)
    kept = torch.as_tensor(shrunk).to(y)
    return (vectors * kept) @ vectors.T, divergence(values.cpu().numpy(), shrunk, slopes)


def shrinkage(x: np.ndarray, v: float, law: MarchenkoPastur) -> tuple[np.ndarray, np.ndarray]:
    """Return shrunk eigenvalues and the slope of the shrinkage, shape of `x`; outside the support g
    is real.

    Args:
        x: eigenvalues of Y.
        v: variance of the noise.
        law: law of the eigenvalues of S0.
    """
    g = physical_root(v, x, law.law)
    return x - 2 * v * g.real, 1 - 2 * v * np.real(1 / generated.resolvent_slope(g, v, *law.law))


def divergence(values: np.ndarray, shrunk: np.ndarray, slopes: np.ndarray) -> float:
    """Return the sum over i <= j of the difference quotients of the shrinkage, slopes for i = j.

    Args:
        values: eigenvalues, shape (d,).
        shrunk: shrunk eigenvalues, shape (d,).
        slopes: slopes of the shrinkage, shape (d,).
    """
    gaps, rises = (a[:, None] - a[None, :] for a in (values, shrunk))
    same = np.abs(gaps) <= COINCIDENT * np.ptp(values)
    middle = (slopes[:, None] + slopes[None, :]) / 2
    quotients = np.where(same, middle, rises / np.where(same, 1.0, gaps))
    return float(np.triu(quotients).sum())
