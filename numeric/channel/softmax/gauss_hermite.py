"""Nodes and weights of averages over a standard Gaussian number."""

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from numpy.typing import NDArray

# nodes: from some 380 on Hermite polynomials overflow at the outer ones, and no weight is a number
MAX_NUMPY_NODES = 300


def gauss_hermite(count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nodes in ascending order and weights that sum to sqrt(2 pi), each of shape (count,)."""
    if count <= MAX_NUMPY_NODES:
        return hermegauss(count)
    from scipy.special import (
        roots_hermitenorm,
    )  # asymptotic expansions; loaded where they are needed, which is seldom

    nodes, weights = roots_hermitenorm(count)
    return nodes, weights
