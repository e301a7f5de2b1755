"""The spectrum of a map that learns eigenvalues of either sign."""

from dataclasses import replace

import numpy as np
import pytest

from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.problem.problem import Problem
from numeric.saddle.solve import solve
from numeric.studies.spectrum import learned_spectrum

SIGNED = Problem(1.0, Eigenvalues((0.0, 3.0), (0.98, 0.02)), 0.05, 0.1, model="signed_quadratic_network")


def test_the_spectrum_of_minus_a_target_is_the_mirror_image():
    """Places of its outliers too, of which no moment tells."""
    mirrored = replace(SIGNED, target=Eigenvalues((-3.0, 0.0), (0.02, 0.98)))
    right, left = (learned_spectrum(solve(problem)) for problem in (SIGNED, mirrored))
    np.testing.assert_allclose(left.x, -right.x[::-1], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(left.density, right.density[::-1], rtol=1e-5)
    (of_right,), (of_left,) = right.outliers, left.outliers
    for name in ("target", "position", "value"):
        assert getattr(of_left, name) == pytest.approx(-getattr(of_right, name))
    assert (of_left.overlap, of_left.weight) == pytest.approx((of_right.overlap, of_right.weight))
    np.testing.assert_allclose(left.singular_values().x, right.singular_values().x, rtol=1e-6, atol=1e-9)
