"""The iteration loop and its algorithm on problems with known answers."""

import numpy as np

from numeric.iterate import Anderson, iterate


def test_anderson_solves_a_map_whose_plain_iteration_diverges():
    matrix = np.array([[-1.5, 0.3, 0.0], [0.2, 0.9, 0.1], [0.0, -0.4, -2.0]])
    shift = np.array([1.0, -2.0, 0.5])
    found = iterate(lambda x: matrix @ x + shift, np.zeros(3), Anderson(longest=100.0), tolerance=1e-12, max_steps=50)
    assert found.converged
    assert np.allclose(found.point, np.linalg.solve(np.eye(3) - matrix, shift), atol=1e-10)


def test_the_step_limit_is_reported_with_the_best_point():
    found = iterate(lambda x: x + 1, np.zeros(2), Anderson(), tolerance=1e-12, max_steps=7)
    assert not found.converged
    assert found.steps == 7
    assert found.residual == 1


def test_leaving_the_finite_numbers_ends_the_iteration():
    found = iterate(lambda x: np.where(x > 1, np.nan, x + 1), np.zeros(2), Anderson(), tolerance=1e-12, max_steps=50)
    assert not found.converged
    assert found.residual == float("inf")
    assert np.all(np.isfinite(found.point))
