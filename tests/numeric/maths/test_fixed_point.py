"""The iteration loop and its algorithm on problems with known answers."""

from itertools import islice

import numpy as np
import pytest

from numeric.maths.fixed_point import Anderson, Chord, Newton, chord, iterate, least_squares


def test_anderson_solves_a_map_whose_plain_iteration_diverges():
    matrix = np.array([[-1.5, 0.3, 0.0], [0.2, 0.9, 0.1], [0.0, -0.4, -2.0]])
    shift = np.array([1.0, -2.0, 0.5])
    algorithm = Anderson(near=1e9, damping=0.5, longest=100.0)
    found = iterate(
        lambda x: matrix @ x + shift, np.zeros(3), algorithm, tolerance=1e-12, max_steps=50
    )
    assert (
        found.converged and found.steps <= 6
    )  # n unknowns are known after n + 1 differences, one step is left for rounding
    assert np.allclose(found.point, np.linalg.solve(np.eye(3) - matrix, shift), atol=1e-10)


def test_anderson_knows_a_straight_line_after_two_points():
    """A damped step first, then the extrapolation, from which nothing is left but rounding."""
    points = Anderson(near=1e9, damping=0.5, longest=1e9).iterates(
        lambda x: 0.25 * x + 3, np.array([0.0])
    )
    (first, _), (second, _), (third, left) = islice(points, 3)
    assert (first[0], second[0]) == (0.0, 1.5)
    assert third[0] == pytest.approx(4, rel=1e-14) and left < 1e-13


def test_the_step_limit_is_reported_with_the_best_point():
    found = iterate(lambda x: x + 1, np.zeros(2), Anderson(), tolerance=1e-12, max_steps=7)
    assert not found.converged
    assert found.steps == 7
    assert found.residual == 1


def test_leaving_the_finite_numbers_ends_the_iteration():
    found = iterate(
        lambda x: np.where(x > 1, np.nan, x + 1),
        np.zeros(2),
        Anderson(),
        tolerance=1e-12,
        max_steps=50,
    )
    assert not found.converged
    assert found.residual == float("inf")
    assert np.all(np.isfinite(found.point))


def test_newton_finds_a_repelling_fixed_point():
    found = iterate(
        lambda x: x**3 - 1, np.array([1.5]), Newton(1e-6), tolerance=1e-10, max_steps=20
    )
    assert found.converged
    assert found.point[0] ** 3 - 1 == pytest.approx(found.point[0])
    assert 3 * found.point[0] ** 2 > 1


def test_a_chord_needs_one_evaluation_a_step_and_gives_up_on_a_rough_map():
    jacobian = np.array([[-0.5]])
    found = chord(
        lambda x: -0.5 * x + 0.1 * x**2 + 1,
        np.array([0.6]),
        jacobian,
        tolerance=1e-10,
        max_steps=20,
        patience=4,
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


def points(algorithm, F, start, count):
    """The first points of an iteration, and their residuals."""
    found = list(islice(algorithm.iterates(F, np.array(start, dtype=float)), count))
    return [point.tolist() for point, _ in found], [residual for _, residual in found]


def test_no_step_is_longer_than_the_longest_and_shorter_ones_are_as_they_are():
    """In the largest component, which keeps the direction; near the root steps are whole."""
    for algorithm in (Anderson(near=0.0, longest=2.0), Newton(1e-6, longest=2.0)):
        far, _ = points(algorithm, lambda x: np.array([30.0, -15.0]), [0, 0], 2)
        assert far[1] == pytest.approx([2.0, -1.0])
        near, residuals = points(algorithm, lambda x: np.array([0.5, -1.5]), [0, 0], 2)
        assert near[1] == pytest.approx([0.5, -1.5]) and residuals == [
            1.5,
            pytest.approx(0, abs=1e-9),
        ]
    still, _ = points(Anderson(), lambda x: x, [1.0], 3)
    assert still == [[1.0]] * 3  # a step of no length


@pytest.mark.parametrize(
    ("near", "expected"), [(3.0, [0, 2, 8, 8]), (2.999, [0, 2, 3.5, 8]), (1.0, [0, 2, 3.5, 4.625])]
)
def test_steps_far_from_a_root_are_damped_ones(near, expected):
    """x -> x/2 + 4, with gaps 4 - x/2: half of each while they exceed `near`; one point more then
    tells the root.
    """
    found, _ = points(Anderson(near=near, damping=0.5, longest=1e9), lambda x: 0.5 * x + 4, [0], 4)
    assert np.ravel(found) == pytest.approx(expected)


def test_a_residual_that_doubles_clears_the_memory():
    """The third gap is three times the second: the next step is a damped one again, of that gap
    alone.
    """
    gaps = iter([1.0, 0.5, 1.5, 1.0])
    found, _ = points(
        Anderson(near=9.0, damping=0.25, longest=1e9), lambda x: x + next(gaps), [0], 4
    )
    assert found[1] == [0.25] and found[3][0] - found[2][0] == pytest.approx(0.25 * 1.5)
    gaps = iter([1.0, 0.5, 0.9, 1.0])
    found, _ = points(
        Anderson(near=9.0, damping=0.25, longest=1e9), lambda x: x + next(gaps), [0], 4
    )
    assert found[3][0] - found[2][0] != pytest.approx(0.25 * 0.9)


def test_acceleration_remembers_as_many_differences_as_it_says():
    """In three dimensions three differences tell a linear map, two do not."""
    matrix = np.array([[0.9, 0.3, 0.0], [0.0, 0.5, 0.2], [0.1, 0.0, -0.7]])
    for memory, exact in ((3, True), (2, False)):
        _, residuals = points(
            Anderson(memory, near=1e9, longest=1e9), lambda x: matrix @ x + 1, [0, 0, 0], 6
        )
        assert (residuals[5] < 1e-10) is exact


def test_newton_halves_its_steps_until_the_residual_falls():
    """arctan from afar: whole steps run away."""
    found = iterate(
        lambda x: x - np.arctan(x),
        np.array([8.0]),
        Newton(1e-6, longest=1e9),
        tolerance=1e-12,
        max_steps=20,
    )
    assert found.converged and found.point[0] == pytest.approx(0, abs=1e-12)
    (_, second), _ = points(Newton(1e-6, longest=1e9), lambda x: x - np.arctan(x), [8.0], 2)
    whole = -np.arctan(8.0) * 65
    assert second[0] == pytest.approx(
        8 + whole / 8, rel=1e-4
    )  # at which |arctan| first is below that of 8


def test_differences_of_newton_see_every_component():
    """A map whose Jacobian is not symmetric: one step, but for the curvature of none."""
    matrix = np.array([[3.0, 2.0], [-1.0, 0.5]])
    found, residuals = points(
        Newton(1e-3, longest=1e9), lambda x: matrix @ x + [1.0, -2.0], [5, 7], 2
    )
    assert found[1] == pytest.approx(np.linalg.solve(np.eye(2) - matrix, [1.0, -2.0]), rel=1e-9)
    assert residuals[1] < 1e-9


def test_a_chord_keeps_its_slope():
    found, _ = points(Chord(np.array([[0.5]])), lambda x: 0.5 * x + 3, [0], 2)
    assert found[1] == pytest.approx([6.0])
    found, _ = points(Chord(np.array([[0.0]])), lambda x: 0.5 * x + 3, [0], 3)
    assert found[1:] == [pytest.approx([3.0]), pytest.approx([4.5])]


def test_an_iteration_that_stalls_ends_with_its_patience():
    """The residual is halved at steps 1 (from infinity), 2 and 3, and never again."""
    residuals = iter([8.0, 3.0, 1.0, 0.9, 0.8, 0.7, 0.6])
    algorithm = Anderson(near=0.0)
    found = iterate(
        lambda x: x + next(residuals),
        np.zeros(1),
        algorithm,
        tolerance=1e-9,
        max_steps=50,
        patience=3,
    )
    assert (found.steps, found.residual, found.converged) == (6, pytest.approx(0.7), False)


def test_the_best_of_both_ways_is_given_with_the_steps_of_both():
    found = chord(
        np.cos, np.array([3.0]), np.array([[5.0]]), tolerance=1e-12, max_steps=30, patience=2
    )
    alone = iterate(
        np.cos, np.array([3.0]), Chord(np.array([[5.0]])), tolerance=1e-12, max_steps=30, patience=2
    )
    assert (
        found.converged
        and found.point == pytest.approx([0.7390851332151607])
        and found.steps > alone.steps
    )


def test_what_is_not_finite_has_no_solution():
    assert np.isnan(least_squares(np.array([[1.0, np.inf], [0.0, 1.0]]), np.ones(2))).all()
    assert least_squares(np.diag([1.0, 1e-13]), np.ones(2)) == pytest.approx(
        [1.0, 0.0]
    )  # a direction of no slope
    assert least_squares(np.diag([1.0, 1e-11]), np.ones(2)) == pytest.approx([1.0, 1e11])
