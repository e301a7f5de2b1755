"""The iteration loop and its algorithm on problems with known answers."""

from itertools import islice

import numpy as np
import pytest

from numeric.maths.fixed_point import Anderson, Newton, chord, iterate


def test_anderson_solves_a_map_whose_plain_iteration_diverges():
    matrix = np.array([[-1.5, 0.3, 0.0], [0.2, 0.9, 0.1], [0.0, -0.4, -2.0]])
    shift = np.array([1.0, -2.0, 0.5])
    algorithm = Anderson(near=1e9, damping=0.5, longest=100.0)
    found = iterate(lambda x: matrix @ x + shift, np.zeros(3), algorithm, tolerance=1e-12, max_steps=50)
    assert (
        found.converged and found.steps <= 6
    )  # n unknowns are known after n + 1 differences, one step is left for rounding
    assert np.allclose(found.point, np.linalg.solve(np.eye(3) - matrix, shift), atol=1e-10)


def test_anderson_knows_a_straight_line_after_two_points():
    """A damped step first, then the extrapolation, from which nothing is left but rounding."""
    points = Anderson(near=1e9, damping=0.5, longest=1e9).iterates(lambda x: 0.25 * x + 3, np.array([0.0]))
    (first, _), (second, _), (third, left) = islice(points, 3)
    assert (first[0], second[0]) == (0.0, 1.5)
    assert third[0] == pytest.approx(4, rel=1e-14) and left < 1e-13


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


def test_newton_finds_a_repelling_fixed_point():
    found = iterate(lambda x: x**3 - 1, np.array([1.5]), Newton(1e-6), tolerance=1e-10, max_steps=20)
    assert found.converged
    assert found.point[0] ** 3 - 1 == pytest.approx(found.point[0])
    assert 3 * found.point[0] ** 2 > 1


def test_a_chord_needs_one_evaluation_a_step_and_gives_up_on_a_rough_map():
    jacobian = np.array([[-0.5]])
    found = chord(
        lambda x: -0.5 * x + 0.1 * x**2 + 1, np.array([0.6]), jacobian, tolerance=1e-10, max_steps=20, patience=4
    )
    assert found.converged and found.steps < 12
    rough = chord(
        lambda x: -0.5 * x + 1 + 1e-4 * np.sin(1e7 * x),
        np.array([0.6]),
        jacobian,
        tolerance=1e-10,
        max_steps=50,
        patience=4,
    )
    assert not rough.converged and rough.steps < 40
    assert rough.residual < 1e-3
