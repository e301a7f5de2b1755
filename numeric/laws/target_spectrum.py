"""The target law on its own: density and the deterministic spectrum of a d x d target."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from numeric.laws.law import edge_grid
from numeric.laws.marchenko_pastur import MarchenkoPastur, polynomial_roots
from numeric.model import float64 as generated

Array = NDArray[np.float64]
_NODES_PER_BIN = 200  # interpolation of the cumulated moments then errs by about 1e-5 of a bin


def target_edges(target: MarchenkoPastur) -> tuple[float, float]:
    """Interval on which the continuous part of the target law lives."""
    critical = np.roots([float(value) for value in generated.edge_polynomial(0.0, *target.law)]).real
    edges = np.real(generated.inverse_stieltjes(critical, 0.0, *target.law))
    # At rate 1 the lower edge is reached at infinite g, which is no root: it is 0.
    return (float(edges.min()) if len(edges) > 1 else 0.0), float(edges.max())


def target_density(x: Array, target: MarchenkoPastur) -> Array:
    """Density of the target law at positive eigenvalues x inside its edges, shape of `x`."""
    coefficients = np.stack(np.broadcast_arrays(*generated.resolvent_polynomial(0.0, x, *target.law)), axis=-1)
    roots = polynomial_roots(coefficients[..., 1:])  # without noise the polynomial loses its highest power
    return np.asarray(generated.density(1j * np.min(roots.imag, axis=-1)))


@lru_cache(maxsize=64)  # of a spectrum for each size: thousands of runs and of draws share a few
def target_quantile_means(kappa0: float, d: int) -> Array:
    """Deterministic target spectrum: means of the target law over d bins of equal mass, shape (d,), decreasing; read only.

    Their mean is the law's; their second moment falls short of q0 by the variance within bins, O(1/d^2).
    """
    target = MarchenkoPastur(kappa0)
    x, weights = edge_grid(*target_edges(target), _NODES_PER_BIN * d)
    x, masses = x[::-1], (weights * target_density(x, target))[::-1]  # from the largest eigenvalue down
    cumulated_mass = np.concatenate([[0.0], np.cumsum(masses)])
    cumulated_trace = np.concatenate([[0.0], np.cumsum(masses * x)])
    at_bins = np.interp(np.arange(d + 1) / d, cumulated_mass, cumulated_trace)
    means = d * np.diff(at_bins)
    means.setflags(write=False)
    return means
