"""Gauss-Hermite rules against the moments of a Gaussian, at any number of nodes."""

import math

import numpy as np
import pytest

from numeric.channel.softmax.gauss_hermite import MAX_NUMPY_NODES, gauss_hermite


@pytest.mark.parametrize("count", [12, MAX_NUMPY_NODES, MAX_NUMPY_NODES + 1, 413, 1000])
def test_moments_are_those_of_a_gaussian(count):
    """NumPy's rule of 413 nodes holds no number: a finer and finer average of two tokens came to
    it, and never ended.
    """
    nodes, weights = gauss_hermite(count)
    assert nodes.shape == weights.shape == (count,) and np.all(np.diff(nodes) > 0)
    for power in range(0, 2 * min(count, 10), 2):
        mean = weights @ nodes**power / math.sqrt(2 * math.pi)
        assert mean == pytest.approx(
            math.prod(range(1, power, 2)), rel=1e-11
        )  # rounding of a sum over 1000 nodes
        assert abs(weights @ nodes ** (power + 1)) < 1e-11 * mean * math.sqrt(count)
