"""Continuation: a curve with known folds, and branches of solutions that do not depend on the
direction they are followed.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.maths.arclength import End, PseudoArclength
from numeric.problem.problem import Problem
from numeric.problem.solution import NotConverged, Status, failed_solution
from numeric.saddle.continuation import branches, coexisting, follow
from numeric.saddle.curve import _predict, _same, coexisting_along, learning_curve
from numeric.saddle.solve import solve, solve_near

FIGURE_ONE = Problem(alpha=0.3, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5)


def cubic(position):
    """p = x^3 - 3 x with a second unknown y = x: folds at x = -1, p = 2 and x = 1, p = -2."""
    x, y, p = position
    return np.array([p - x**3 + 3 * x, y - x])


def test_a_curve_is_followed_through_both_folds():
    trace = PseudoArclength(tolerance=1e-10).follow(
        cubic, np.array([-3.0, -3.0, -18.0]), 1.0, -18.0, 18.0
    )
    assert trace.end is End.RANGE
    assert trace.points[-1].position[0] > 2.9
    folds = [point.position for point in trace.points if point.fold]
    # The tangent is found to 1e-3, so x is off by 1e-3 at most and p by its square, times three.
    assert np.allclose(folds, [[-1, -1, 2], [1, 1, -2]], atol=2e-3)
    assert np.allclose([p for _, _, p in folds], [2, -2], atol=1e-5)
    assert all(np.max(np.abs(cubic(point.position))) < 1e-10 for point in trace.points)


def test_a_start_is_corrected_at_its_parameter_and_steps_turn_little():
    steps = PseudoArclength(tolerance=1e-10)
    trace = steps.follow(cubic, np.array([-3.1, -2.95, -18.0]), 1.0, -18.0, 18.0)
    first, second, *_ = (point.position for point in trace.points)
    assert first == pytest.approx([-3, -3, -18]) and second[-1] > first[-1]
    along = [point for point in trace.points if not point.fold]
    pairs = list(pairwise(along))
    assert min(one.tangent @ other.tangent for one, other in pairs) > steps.bend
    lengths = [np.linalg.norm(other.position - one.position) for one, other in pairs]
    assert (
        lengths[0] == pytest.approx(steps.first, rel=0.01)
        and 0.95 * steps.longest < max(lengths) < 1.1 * steps.longest
    )
    assert all(np.linalg.norm(point.tangent) == pytest.approx(1) for point in along)
    for point in along:  # the curve is (x, x, x^3 - 3 x)
        x = point.position[0]
        assert abs(point.tangent @ [1, 1, 3 * x**2 - 3]) == pytest.approx(
            np.linalg.norm([1, 1, 3 * x**2 - 3]), rel=1e-6
        )


def test_a_curve_ends_beyond_its_range_or_after_so_many_points():
    start = np.array([-3.0, -3.0, -18.0])
    few = PseudoArclength(tolerance=1e-10, max_points=5).follow(cubic, start, 1.0, -18.0, 18.0)
    assert (len(few.points), few.end) == (5, End.POINTS)
    beside = PseudoArclength(tolerance=1e-10).follow(
        cubic, start, 1.0, -17.999, 0.0
    )  # one rounds the ends of a range
    assert (
        beside.end is End.RANGE
        and beside.points[-2].position[-1] <= 0 < beside.points[-1].position[-1]
    )
    out = PseudoArclength(tolerance=1e-10).follow(cubic, start, -1.0, -18.0, 18.0)
    assert (len(out.points), out.end) == (2, End.RANGE) and out.points[1].position[-1] < -18


def test_a_sharp_turn_takes_short_steps():
    """p = sqrt(x^2 + 1e-4), which turns by a right angle within 1e-2: a long step would miss it."""

    def corner(position):
        return np.array([position[1] - np.hypot(position[0], 1e-2)])

    trace = PseudoArclength(tolerance=1e-10, shortest=1e-5, difference=1e-6).follow(
        corner, np.array([-1.0, 1.0]), -1.0, 0.0, 1.0
    )
    (fold,) = (point.position for point in trace.points if point.fold)
    assert (
        trace.end is End.RANGE
        and fold == pytest.approx([0, 1e-2], abs=1e-4)
        and trace.points[-1].position[0] > 0.99
    )


def test_both_directions_pass_the_same_folds():
    there = PseudoArclength(tolerance=1e-10).follow(
        cubic, np.array([-3.0, -3.0, -18.0]), 1.0, -18.0, 18.0
    )
    back = PseudoArclength(tolerance=1e-10).follow(
        cubic, np.array([3.0, 3.0, 18.0]), -1.0, -18.0, 18.0
    )
    folds = [[point.position for point in trace.points if point.fold] for trace in (there, back)]
    assert np.allclose(folds[0], folds[1][::-1], atol=2e-3)  # as above


def test_a_curve_that_ends_says_so():
    """sqrt(x) = p has no points at p < 0."""
    trace = PseudoArclength(tolerance=1e-10).follow(
        lambda y: np.array([np.sqrt(y[0]) - y[1]]) if y[0] > 0 else np.full(1, np.nan),
        np.array([1.0, 1.0]),
        -1.0,
        -5.0,
        5.0,
    )
    assert trace.end is End.STEP
    assert 0 < trace.points[-1].position[-1] < 0.2


def test_no_points_where_there_is_no_solution_to_start_from():
    trace = PseudoArclength(tolerance=1e-10).follow(
        lambda y: 1 + y[:1] ** 2, np.zeros(2), 1.0, -1.0, 1.0
    )
    assert trace == ([], End.STEP)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameter", "low", "high"), [("alpha", 0.2, 0.5), ("lambda_", 0.005, 0.02)]
)
def test_branches_join_solutions_found_directly(parameter, low, high):
    """A convex problem has one solution: one branch from both ends, and solve finds what it
    passes.
    """
    found = branches(FIGURE_ONE, parameter, low, high)
    assert len(found) == 1
    assert found[0].folds == ()
    assert found[0].ends == (End.RANGE, End.RANGE)
    middle = float(np.sqrt(low * high))
    (solution,) = coexisting(found, middle)
    direct = solve(replace(FIGURE_ONE, **{parameter: middle}))
    # Both are solved to 1e-8 on rules of the same refinement.
    assert solution.q == pytest.approx(direct.q, rel=1e-6)


def test_a_branch_passes_from_nothing_learned_to_something():
    zero = solve(replace(FIGURE_ONE, lambda_=50.0))
    assert zero.status is Status.UNLEARNED
    branch = follow(zero, "lambda_", 0.3, 60.0)
    assert branch.folds == ()  # the transition is continuous, without coexistence
    (learned,) = coexisting([branch], 0.5)
    assert learned.status is Status.CONVERGED
    assert learned.q == pytest.approx(solve(replace(FIGURE_ONE, lambda_=0.5)).q, rel=1e-6)


def test_a_fold_of_a_narrow_quadratic_network_is_where_alpha_turns_along_its_curve():
    """Nearly noise-free labels of a target of rank .2 d, a student of width .25 d: two solutions
    end at a least alpha.

    Second route: with M = 2 (q - 2 m + rho)/(1 + 4 V) the equations leave alpha = mh/4 + J_v/2 on
    the curve 2 v alpha = q - 2 m + rho of (v, b), mh = lambda sqrt(kappa)/b, where it has a
    minimum.
    """
    asked = Problem(0.245, MarchenkoPastur(0.2), 1e-5, 2e-5, 0.25, model="quadratic_network")
    target, width = asked.target, asked.width

    def pull(b):
        return asked.lambda_ * np.sqrt(width) / b

    def alpha(v, b):
        return pull(b) / 4 + target.energy(v, b, width).J_v / 2

    def v_at(b):
        def excess(v):
            J, J_v, J_b, *_ = target.energy(v, b, width)
            return 2 * v * alpha(v, b) - (asked.rho - J + 2 * v * J_v + b * J_b)

        return brentq(excess, 0.15, 1.0, xtol=1e-14)

    turn = minimize_scalar(
        lambda b: alpha(v_at(b), b), bounds=(1e-3, 1e-2), method="bounded", options={"xatol": 1e-9}
    )
    b = 6e-4
    v, mh = v_at(b), pull(b)
    start = solve_near(asked.at(alpha(v, b)), np.log([mh, 2 * v * mh**2, mh]))
    branch = follow(start, "alpha", 0.235, 0.246)
    assert branch.folds == (pytest.approx(turn.fun, rel=1e-6),)
    assert coexisting([branch], 0.999 * turn.fun) == []
    one, other = coexisting([branch], 1.01 * turn.fun)
    assert one.q > 1.1 * other.q


def test_a_failed_start_cannot_be_followed():
    solution = solve(FIGURE_ONE)
    with pytest.raises(NotConverged):
        follow(replace(solution, status=Status.STEP_LIMIT), "alpha", 0.1, 1.0)
    with pytest.raises(ValueError, match="must lie in a range"):
        follow(solution, "alpha", 0.5, 1.0)


def test_where_a_start_leads_to_no_value_the_point_is_solved_cold(monkeypatch):
    cold = solve(FIGURE_ONE)

    def misled(problem, start, accuracy):
        return replace(cold, status=Status.INACCURATE if start else Status.CONVERGED)

    monkeypatch.setattr("numeric.saddle.solve._timed", misled)
    assert solve(FIGURE_ONE, cold).trusted


@pytest.mark.slow
def test_the_grid_of_a_curve_does_not_decide_whether_a_point_is_solved():
    """From the line through .15 and .2 the point at .3 ended at a root whose channel has no
    value.
    """
    weak = replace(FIGURE_ONE, lambda_=1e-5)
    *_, last = learning_curve(weak, [0.15, 0.2, 0.3])
    assert last.status is Status.UNSTABLE and last.q == pytest.approx(solve(weak).q, rel=1e-6)


@pytest.mark.slow
def test_a_point_that_fails_is_solved_from_the_next(monkeypatch):
    """The first attempt at the middle point is made to fail."""
    calls = []

    def failing(problem, start=None, accuracy=None):
        calls.append(problem.alpha)
        if calls == [0.2, 0.25]:
            return replace(solve(problem), status=Status.STEP_LIMIT)
        return solve(problem, start)

    monkeypatch.setattr("numeric.saddle.curve.solve", failing)
    along = coexisting_along(FIGURE_ONE, [0.2, 0.25, 0.3])
    assert calls == [0.2, 0.25, 0.3, 0.25, 0.2]
    assert [len(found) for found in along] == [1, 1, 1]
    assert along[1][0].q == pytest.approx(
        solve(FIGURE_ONE.at(0.25)).q, rel=1e-6
    )  # both solved to 1e-8


def test_where_both_directions_differ_the_smaller_free_entropy_is_physical(monkeypatch):
    """The upward pass is made to return another solution, marked by its q, of larger free
    entropy.
    """
    calls = []

    def other(problem, start=None, accuracy=None):
        calls.append(problem.alpha)
        found = solve(problem, start)
        if calls == [0.2]:
            return replace(
                found, q=2 * found.q, qh=10 * found.qh, free_entropy=2 * found.free_entropy
            )
        return found

    monkeypatch.setattr("numeric.saddle.curve.solve", other)
    (first, second), (upper,) = coexisting_along(FIGURE_ONE, [0.2, 0.3])
    assert first.free_entropy < second.free_entropy
    assert second.q == pytest.approx(2 * first.q, rel=1e-6)
    assert upper.problem.alpha == 0.3


def test_the_start_of_a_point_is_a_power_of_alpha_through_the_last_two():
    """Which any start would hide: the solver ends at the same root, later."""
    nothing = failed_solution(FIGURE_ONE, Status.CONVERGED, 0.0, 0)
    along = [
        replace(nothing, problem=FIGURE_ONE.at(a), mh=a**-0.5, qh=a**0.3, Vh=2 * a)
        for a in (1.0, 2.0)
    ]
    within, beyond = _predict(along, 3.0), _predict(along, 50.0)
    assert (within.mh, within.qh, within.Vh) == pytest.approx((3**-0.5, 3**0.3, 6.0))
    assert (beyond.mh, beyond.qh, beyond.Vh) == pytest.approx(
        (4**-0.5, 4**0.3, 8.0)
    )  # no further than the last step
    assert _predict(along[:1], 3.0) is along[0] and _predict([], 3.0) is None


def test_solutions_without_error_bars_that_are_equal_are_the_same():
    """Where nothing is learned overlaps are zero, and known to be."""
    nothing = solve(Problem(0.5, MarchenkoPastur(0.5), 50.0, 0.5))
    assert nothing.q == nothing.errors["q"] == 0 and _same(nothing, nothing)
    assert not _same(nothing, replace(nothing, q=1e-300))
