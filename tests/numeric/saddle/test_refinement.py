"""How the solver judges and leads: statuses, stopping, lines through roots, neighbours on a curve;
of made-up solutions.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from numeric.laws.law import Energy
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.maths.arclength import End
from numeric.maths.fixed_point import Outcome
from numeric.problem.problem import Problem
from numeric.problem.solution import Status, failed_solution
from numeric.saddle import curve
from numeric.saddle.continuation import Branch, BranchPoint
from numeric.saddle.curve import JUMP, coexisting_along, learning_curve, solve_between
from numeric.saddle.refine import INACCURATE, Refinement, unsolved_solution
from numeric.saddle.root_errors import STEP, PointEvaluation, bars
from numeric.saddle.search import Search, extrapolated_root
from numeric.saddle.solve import Solver
from numeric.saddle.zero_decay import interpolating_roots, interpolation_bounds
from numeric.thresholds.interpolation import interpolation

PROBLEM = Problem(1.0, MarchenkoPastur(0.5), 0.1, 0.5)
FOUND = Outcome(np.zeros(3), 1e-9, 5, True)


def solution(alpha=1.0, **values):
    """A solution with these values at a sample ratio."""
    given = {
        "m": 1.0,
        "q": 1.0,
        "V": 1.0,
        "mh": 1.0,
        "qh": 1.0,
        "Vh": 1.0,
        "delta": 1.0,
        "test_error": 1.0,
        "train_error": 1.0,
        "free_entropy": 1.0,
    }
    none = failed_solution(PROBLEM.at(alpha), Status.CONVERGED, 0.0, 0)
    return replace(
        none, **{"replicon": 0.5, "errors": dict.fromkeys(given, 0.0), **given, **values}
    )


@pytest.mark.parametrize(
    ("changed", "outcome", "promised", "status"),
    [
        ({}, {}, 5e-3, Status.CONVERGED),
        ({"q": 0.0}, {}, math.inf, Status.INACCURATE),
        ({"errors": {"m": 1.01 * INACCURATE}}, {}, math.inf, Status.INACCURATE),
        ({"errors": {"m": INACCURATE}}, {}, INACCURATE, Status.CONVERGED),
        ({"errors": {"m": INACCURATE}}, {}, 5e-3, Status.ROUGH),
        ({"errors": {"train_error": 5.1e-3}}, {}, 5e-3, Status.ROUGH),
        ({"errors": {"train_error": 1.01 * INACCURATE}}, {}, math.inf, Status.CONVERGED),
        ({"replicon": -1e-9}, {}, math.inf, Status.UNSTABLE),
        ({"replicon": 0.0}, {}, math.inf, Status.CONVERGED),
        ({"errors": {"m": 1e-3}}, {"converged": False, "residual": 0.9e-3}, math.inf, Status.ROUGH),
        (
            {"errors": {"m": 1e-3}, "replicon": -1.0},
            {"converged": False, "residual": 1.1e-3},
            math.inf,
            Status.STEP_LIMIT,
        ),
    ],
)
def test_a_root_is_judged_by_its_errors_its_residual_and_its_stability(
    changed, outcome, promised, status
):
    assert Refinement()._status(solution(**changed), FOUND._replace(**outcome), promised) is status


def test_without_a_root_it_is_said_whether_the_iteration_left():
    left, limit = (
        unsolved_solution(PROBLEM, FOUND._replace(residual=value)) for value in (math.inf, 0.3)
    )
    assert (left.status, limit.status) == (Status.DIVERGED, Status.STEP_LIMIT)
    assert (limit.residual, limit.iterations) == (0.3, 5)


def test_roots_are_followed_along_the_line_through_the_last_two():
    first, second = np.array([1.0, 2.0]), np.array([3.0, 1.0])
    assert extrapolated_root([(0.0, first)], 5.0) is first
    assert extrapolated_root(
        [(9.0, 7 * first), (1.0, first), (-2.0, second)], -4.0
    ) == pytest.approx([3 + 4 / 3, 1 - 2 / 3])


@pytest.mark.parametrize(
    ("reach", "steps", "found"), [(10.0, 2, True), (0.1, 2, False), (0.1, 30, True)]
)
def test_newton_goes_on_where_acceleration_stopped_within_its_reach(reach, steps, found):
    """x = cos x, of residual .46 after two steps from 0: too far for Newton's method that is to
    start within .1.
    """

    class Map:
        rule = SimpleNamespace(roughness=1e-9)

        def __call__(self, x):
            return np.cos(x)

    outcome = Search(newton_reach=reach)._by_iteration(Map(), np.zeros(1), 1e-12, steps)
    assert outcome.converged is found and outcome.residual < 1
    assert outcome.point == pytest.approx([0.7390851332151607], abs=1e-9 if found else 1.0)


@dataclass(frozen=True)
class Line:
    """A map whose root is log(lambda)/2 in each unknown, found within `reach` of it alone."""

    problem: Problem
    reach: float = math.inf
    tried: ClassVar[list[float]] = []

    @dataclass(frozen=True)
    class Rule:
        roughness: float = 1e-6

    rule = Rule()

    def unlearned(self):
        return np.zeros(2)

    def __call__(self, x):
        root = math.log(self.problem.lambda_) / 2
        self.tried.append(self.problem.lambda_)
        return np.full(2, root) if np.max(np.abs(x - root)) < self.reach else np.full(2, np.nan)


@pytest.mark.parametrize("decay", [1e-2, 0.0])
def test_a_root_at_weak_decay_is_led_to_from_stronger_decay(decay):
    """From three factors of 30 above, in steps that grow; the limit 0 is reached from the least
    decay.
    """
    Line.tried.clear()
    search = Search()
    found = search.from_strong_decay(Line(replace(PROBLEM, lambda_=decay)))
    least = decay or search.least_decay
    assert found.converged and found.point == pytest.approx(
        np.full(2, math.log(least) / 2), abs=1e-6
    )
    places = list(dict.fromkeys(Line.tried))
    assert places[0] == pytest.approx(least * 30**3) and places == sorted(places, reverse=True)
    assert places[-1] == pytest.approx(least) and len(places) == 3  # 30^3, 30^1, 1


def test_a_step_that_fails_is_halved_and_those_after_it_grow_again():
    """The first step leads out of reach; from two roots on the line tells the next, however far."""
    Line.tried.clear()
    found = Search().from_strong_decay(Line(replace(PROBLEM, lambda_=30.0**-3), reach=1.0))
    places = np.log(list(dict.fromkeys(Line.tried))) / np.log(30)
    assert found.converged and places == pytest.approx([0, -1, -0.5, -1.5, -3])


def test_where_nothing_is_found_steps_up_grow_and_end():
    Line.tried.clear()
    search = Search(continuations=4)
    found = search.from_strong_decay(Line(PROBLEM, reach=-1.0))
    assert (found.converged, found.residual) == (False, math.inf) and np.isnan(found.point).all()
    steps = np.diff(np.log(list(dict.fromkeys(Line.tried)))) / np.log(30)
    assert steps == pytest.approx([2, 4, 8])


def branch(*points):
    """A branch through (alpha, conjugate) with no folds said."""
    return Branch(
        PROBLEM,
        "alpha",
        tuple(BranchPoint(value, np.array([x]), False) for value, x in points),
        (End.RANGE, End.RANGE),
    )


def test_a_branch_passes_a_value_as_often_as_it_turns_around_it():
    folded = branch((1.0, 0.0), (4.0, 1.0), (1.0, 2.0), (0.25, 3.0))
    assert [x.item() for x in folded.crossings(2.0)] == pytest.approx(
        [0.5, 1.5]
    )  # in the logarithm of alpha
    assert [x.item() for x in folded.crossings(1.0)] == pytest.approx([0.0, 2.0])
    assert [x.item() for x in folded.crossings(0.25)] == [3.0] and folded.crossings(5.0) == []
    assert [x.item() for x in folded.crossings(4.0)] == [1.0] and branch((1.0, 5.0)).crossings(1.0)[
        0
    ].item() == 5.0
    assert [
        x.item() for x in branch((1.0, 0.0), (1.0, 1.0), (2.0, 2.0)).crossings(1.5)
    ] == pytest.approx([1 + math.log(1.5) / math.log(2)])


@pytest.fixture
def solver(monkeypatch):
    """Solutions by sample ratio and whether they start from above; the starts asked for."""

    def of(answer):
        asked = []

        def solved(problem, start=None, accuracy=None):
            asked.append((problem.alpha, start and start.problem.alpha, accuracy))
            return answer(problem.alpha, start)

        monkeypatch.setattr(curve, "solve", solved)
        return asked

    return of


def test_a_smooth_curve_is_solved_once_each_from_the_one_before(solver):
    asked = solver(lambda alpha, start: solution(alpha, mh=alpha))
    assert [
        one.problem.alpha for one in learning_curve(PROBLEM, [1.0, 2.0, 4.0], accuracy=1e-3)
    ] == [1.0, 2.0, 4.0]
    assert asked == [(1.0, None, 1e-3), (2.0, 1.0, 1e-3), (4.0, 2.0, 1e-3)]


@pytest.mark.parametrize(("change", "again"), [(1.01 * JUMP, True), (0.99 * JUMP, False)])
def test_a_point_before_a_jump_is_solved_from_above_as_well(solver, change, again):
    """Where it is the same the lower ones are let be; of another the smaller free entropy is
    physical, and the next below is tried.
    """
    for q, entropy, new in ((1.0, 1.0, False), (2.0, 2.0, True), (2.0, 0.5, True)):

        def answer(alpha, start, q=q, entropy=entropy):
            if start is not None and start.problem.alpha > alpha:
                return solution(alpha, q=q, free_entropy=entropy, mh=5.0)
            return solution(alpha, mh=math.exp(change) if alpha == 3.0 else 1.0)

        asked = solver(answer)
        along = coexisting_along(PROBLEM, [1.0, 2.0, 3.0])
        below = [alpha for alpha, start, _ in asked[3:]]
        assert below == ([2.0, 1.0] if again and new else [2.0] if again else [])
        assert [len(found) for found in along] == ([2, 2, 1] if again and new else [1, 1, 1])
        if again and new:
            assert along[1][0].free_entropy == min(1.0, entropy)


def test_a_point_that_failed_is_solved_from_above(solver):
    def answer(alpha, start):
        lost = alpha == 2.0 and (start is None or start.problem.alpha < alpha)
        return failed_solution(PROBLEM.at(alpha), Status.STEP_LIMIT) if lost else solution(alpha)

    asked = solver(answer)
    along = coexisting_along(PROBLEM, [1.0, 2.0, 3.0])
    assert [(alpha, start) for alpha, start, _ in asked] == [
        (1.0, None),
        (2.0, 1.0),
        (3.0, 1.0),
        (2.0, 3.0),
        (1.0, 2.0),
    ]
    assert [found[0].trusted for found in along] == [True] * 3 and len(along[1]) == 1


def test_no_point_starts_from_one_that_has_nothing_to_start_from(solver):
    for values in ({"q": 0.0}, {"mh": 0.0}, {"status": Status.INACCURATE}):
        asked = solver(lambda alpha, start, values=values: solution(alpha, **values))
        coexisting_along(PROBLEM, [1.0, 2.0])
        assert [start for _, start, _ in asked] == [None, None]


def test_between_neighbours_far_apart_both_are_starts(solver):
    near, far = solution(1.0), solution(2.0, mh=math.exp(1.1 * JUMP))
    asked = solver(lambda alpha, start: solution(alpha, free_entropy=start.mh))
    assert solve_between(near, far, 1.5).free_entropy == 1.0  # the physical one
    assert [start for _, start, _ in asked] == [2.0, 1.0]
    asked.clear()
    solve_between(near, solution(2.0), 1.5, 1e-2)
    assert asked == [(1.5, 1.0, 1e-2)]
    lost = failed_solution(PROBLEM, Status.STEP_LIMIT)
    solver(lambda alpha, start: lost)
    assert solve_between(near, far, 1.5) is lost


def test_solutions_are_the_same_within_the_error_bars_of_both():
    one = solution(errors={"m": 0.1, "q": 0.0, "V": 0.0})
    for m, same in ((1.29, True), (1.31, False), (0.71, True), (0.69, False)):
        assert curve._same(one, solution(m=m, errors={"m": 0.2, "q": 0.0, "V": 0.0})) is same
    assert not curve._same(one, replace(one, status=Status.STEP_LIMIT))


def test_error_bars_at_no_decay_are_the_response_of_a_linear_problem():
    """x = v + J - 3 and y = b + 2 J_v - 4 vanish at v = 1, b = 2 where J = 2, J_v = 1; the
    quantities are v + b and 5 J_b.
    """
    there = Energy(2.0, 1.0, 0.5, 1.0, None)

    def at(root, energy):
        v, b = root
        return PointEvaluation(
            np.array([np.log(v) + energy.J - 2, b + 2 * energy.J_v - 4]),
            np.array([np.log(v) + b, 5 * energy.J_b]),
        )

    moves = np.full(2, STEP)
    found = bars(at, lambda root: there, np.array([1.0, 2.0]), moves, 1e-6)
    assert found == pytest.approx([2e-6 + 2e-6, 2.5e-6], rel=1e-3)
    unsolved = bars(at, lambda root: there, np.array([1.0, 2.001]), moves, 0.0)
    assert unsolved == pytest.approx([1e-3, 0], rel=1e-3, abs=1e-12)
    singular = bars(
        lambda root, energy: PointEvaluation(np.ones(2) * sum(root), np.ones(3)),
        lambda root: there,
        np.array([1.0, 2.0]),
        moves,
        0.0,
    )
    assert singular.tolist() == [math.inf] * 3


@pytest.mark.parametrize(
    ("statuses", "continued", "expected", "asked"),
    [
        ([Status.CONVERGED, Status.CONVERGED], None, 0, [(0, False)]),
        ([Status.UNSTABLE, Status.CONVERGED], None, 0, [(0, False)]),
        ([Status.ROUGH, Status.CONVERGED], None, 1, [(0, False), (1, False)]),
        ([Status.INACCURATE, Status.ROUGH], None, 1, [(0, False), (1, False)]),
        ([Status.ROUGH, Status.INACCURATE], None, 0, [(0, False), (1, False)]),
        ([Status.ROUGH, Status.STEP_LIMIT], None, 0, [(0, False), (1, False)]),
        (
            [Status.STEP_LIMIT, Status.CONVERGED],
            Status.CONVERGED,
            "continued",
            [(0, False), (0, True)],
        ),
        ([Status.DIVERGED, Status.CONVERGED], Status.DIVERGED, 0, [(0, False), (0, True)]),
    ],
)
def test_the_next_rule_is_tried_where_the_first_fails_and_strong_decay_where_none_settles(
    statuses, continued, expected, asked, monkeypatch
):
    rules, tried = [SimpleNamespace(name=k) for k in range(len(statuses))], []
    monkeypatch.setattr("numeric.saddle.solve.coarse_rules", lambda problem: rules)

    class Made(Solver):
        def _solve_from(self, saddle, start, accuracy, continued=False):
            tried.append((saddle.rule.name, continued))
            status = led if continued else statuses[saddle.rule.name]
            if status in (Status.STEP_LIMIT, Status.DIVERGED):
                one = failed_solution(PROBLEM, status, 0.5)
            else:
                one = solution(
                    status=status, errors={"m": 0.0 if status is Status.CONVERGED else 0.02}
                )
            return replace(one, iterations=10 + saddle.rule.name + 100 * continued)

    led = continued
    found = Made().solve(PROBLEM)
    assert (
        found.iterations == (110 if expected == "continued" else 10 + expected) and tried == asked
    )


@pytest.mark.parametrize(
    ("start", "warm"), [(None, False), (solution(mh=0.0), False), (solution(mh=2.0), True)]
)
def test_a_solve_begins_from_a_solution_that_has_conjugates(start, warm):
    begun = []

    class Made(Search):
        def find(self, saddle, begin, cold):
            begun.append((float(begin.mh), cold))
            return Outcome(np.zeros(3), 1.01 * self.near, 3, False)

        def from_strong_decay(self, saddle):
            return Outcome(np.zeros(3), 0.3, 4, False)

    found = Solver(Made()).solve(PROBLEM, start)
    assert begun[0][1] is not warm and (begun[0][0] == 2.0) is warm
    assert (
        found.status is Status.STEP_LIMIT and found.residual == 1.01 * Search.near
    )  # the nearer of both, and not near enough


@pytest.mark.parametrize(("noise", "width"), [(1.0, 1.0), (0.01, 1.0), (0.5, 0.2)])
def test_the_threshold_of_interpolation_in_double_precision_brackets_the_proven_one(noise, width):
    """And its noise is that of the root just below it, whose distance grows like the root of that
    of alpha.
    """
    target = MarchenkoPastur(0.5)
    proven = float(interpolation(target.exact(), Fraction(noise), 2, 14, Fraction(width)))
    found = interpolation_bounds(Problem(1.0, target, 0.0, noise, width))
    assert found.least < proven < found.most * (1 + 1e-8) and found.most / found.least - 1 < 1e-6
    below = [
        v
        for v, _, _ in interpolating_roots(Problem(proven * (1 - 1e-6), target, 0.0, noise, width))
    ]
    assert min(abs(math.log(v / found.v)) for v in below) < 0.02
