"""The replicon of general matrices: the largest eigenvalue of what its parts do to each other, and what is left where they do not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import log_uniform

from numeric.model import float64 as generated

positive, responses = log_uniform(1e-3, 1e3), st.tuples(*[log_uniform(1e-4, 1e2)] * 4)


@given(alpha=positive, responses=responses, V=positive, V_a=positive)
def test_the_largest_eigenvalue_of_the_growth_decides(alpha, responses, V, V_a):
    matrix = 2 * alpha * np.diag([V**2, V_a**2]) @ np.reshape(responses, (2, 2))
    largest = np.linalg.eigvals(matrix).real.max()
    found = generated.general_replicon(alpha, *responses, V, V_a)
    assert found == pytest.approx(1 - largest, abs=1e-12 * (1 + largest))


@given(alpha=positive, F=positive, mh=positive, qh=positive, Vh=positive, decay=positive, V_a=positive)
def test_without_an_antisymmetric_response_it_is_that_of_a_symmetric_matrix(alpha, F, mh, qh, Vh, decay, V_a):
    """Linear shrinkage: DD = 1."""
    (_, c), (_, _, V) = generated.direct_denoising(mh, qh, Vh, decay), generated.direct_overlaps(mh, qh, Vh, decay, 1.0)
    symmetric = generated.replicon(alpha, F, 1.0, c, mh)
    assert generated.general_replicon(alpha, F, 0.0, 0.0, 0.0, V, V_a) == pytest.approx(
        symmetric, abs=1e-13 * (2 - symmetric)
    )


@given(alpha=positive, responses=responses, V=positive, V_a=positive)
def test_parts_that_perturb_each_other_are_less_stable(alpha, responses, V, V_a):
    same, cross, back, other = responses
    apart = [
        generated.general_replicon(alpha, one, 0.0, 0.0, 0.0, size, 0.0) for one, size in ((same, V), (other, V_a))
    ]
    together = generated.general_replicon(alpha, same, cross, back, other, V, V_a)
    assert together <= min(apart) + 1e-12 * (2 - min(apart))
