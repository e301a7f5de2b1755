"""Target law without noise: density, and the deterministic spectrum of a d x d target."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from numeric.laws.law import edge_grid
from numeric.laws.marchenko_pastur import MarchenkoPastur, polynomial_roots
from numeric.model import float64 as generated

Array = NDArray[np.float64]
_NODES_PER_BIN = 200  # the error of interpolated cumulative moments is then about 1e-5 of a bin


def target_edges(target: MarchenkoPastur) -> tuple[float, float]:
    """Return the ends of the continuous part of the target law."""
    critical = np.roots(
        [float(value) for value in generated.edge_polynomial(0.0, *target.law)]
    ).real
    edges = np.real(generated.inverse_stieltjes(critical, 0.0, *target.law))
    # At rate 1 the lower edge is 0; it is reached at infinite g, which is not a root.
    return (float(edges.min()) if len(edges) > 1 else 0.0), float(edges.max())


def target_density(x: Array, target: MarchenkoPastur) -> Array:
    """Return the density of the target law (1/eigenvalue).

    Args:
        x: positive eigenvalues between the edges of the law.
        target: the target.

    Returns:
        Array with the shape of `x`.
    """
    coefficients = np.stack(
        np.broadcast_arrays(*generated.resolvent_polynomial(0.0, x, *target.law)), axis=-1
    )
    roots = polynomial_roots(coefficients[..., 1:])  # without noise the highest power vanishes
    return np.asarray(generated.density(1j * np.min(roots.imag, axis=-1)))


@lru_cache(maxsize=64)  # thousands of runs share a few spectra, one for each size
def target_quantile_means(kappa0: float, d: int) -> Array:
    """Return the deterministic target spectrum: means of the target law over d bins of equal mass.

    The mean of the spectrum is that of the law. Its second moment is smaller than q0 by the
    variance within bins, O(1/d^2).

    Args:
        kappa0: rank ratio of the target.
        d: dimension.

    Returns:
        Eigenvalues, shape (d,), decreasing; read only.
    """
    target = MarchenkoPastur(kappa0)
    x, weights = edge_grid(*target_edges(target), _NODES_PER_BIN * d)
    x, masses = x[::-1], (weights * target_density(x, target))[::-1]  # largest eigenvalue first
    cumulated_mass = np.concatenate([[0.0], np.cumsum(masses)])
    cumulated_trace = np.concatenate([[0.0], np.cumsum(masses * x)])
    at_bins = np.interp(np.arange(d + 1) / d, cumulated_mass, cumulated_trace)
    means = d * np.diff(at_bins)
    means.setflags(write=False)
    return means
