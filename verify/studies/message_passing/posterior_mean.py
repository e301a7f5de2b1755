"""Mean of a random matrix given itself and noise: the best rotation-invariant estimator of S0 from
Y = S0 + delta G.

Eigenvalues x of Y shrink to x - 2 v Re g(x), v = delta^2 and g the Stieltjes transform of the law
of Y (Bun, Allez, Bouchaud, Potters 2016, arXiv 1502.06736); eigenvectors stay.
"""

from __future__ import annotations

import numpy as np
import torch

from numeric.laws.marchenko_pastur import MarchenkoPastur, physical_root
from numeric.model import float64 as generated

#: Share of the spread of the eigenvalues below which two are one: rounding of their difference
#: quotient is then 1e-6 and less.
COINCIDENT = 1e-10


def posterior_mean(y: torch.Tensor, v: float, law: MarchenkoPastur) -> tuple[torch.Tensor, float]:
    """Return the mean of S0 given a symmetric Y (d, d) of noise v, and its divergence over
    symmetric matrices.
    """
    values, vectors = torch.linalg.eigh(y)
    shrunk, slopes = shrinkage(values.cpu().numpy(), v, law)
    kept = torch.as_tensor(shrunk).to(y)
    return (vectors * kept) @ vectors.T, divergence(values.cpu().numpy(), shrunk, slopes)


def shrinkage(x: np.ndarray, v: float, law: MarchenkoPastur) -> tuple[np.ndarray, np.ndarray]:
    """Shrunk eigenvalues and the slope of the shrinkage, shape of `x`; beyond the edges of the law
    g is real.
    """
    g = physical_root(v, x, law.law)
    return x - 2 * v * g.real, 1 - 2 * v * np.real(1 / generated.resolvent_slope(g, v, *law.law))


def divergence(values: np.ndarray, shrunk: np.ndarray, slopes: np.ndarray) -> float:
    """Sum over i <= j of the difference quotients of the shrinkage, slopes where i = j."""
    gaps, rises = (a[:, None] - a[None, :] for a in (values, shrunk))
    same = np.abs(gaps) <= COINCIDENT * np.ptp(values)
    middle = (slopes[:, None] + slopes[None, :]) / 2
    quotients = np.where(same, middle, rises / np.where(same, 1.0, gaps))
    return float(np.triu(quotients).sum())
