"""Features leave the bulk one after the other: where the threshold or the bulk says so, at the
derived powers of their number.
"""

import json
import math
from dataclasses import replace

import pytest

from attention_erm.runtime.errors import InvalidParameter
from numeric.__main__ import main
from numeric.laws.power_law import power_law
from numeric.problem.problem import Problem
from numeric.problem.solution import Status, failed_solution
from numeric.studies import sequential_recovery as module
from numeric.studies.scaling import ScalingPoint, scaling_curve
from numeric.studies.sequential_recovery import TOLERANCE, sequential_recovery


@pytest.mark.slow
def test_a_spike_is_recovered_where_its_outlier_passes_the_threshold():
    asked = Problem(1.0, power_law(0.75, 200), 1.0, 0.5)
    points = scaling_curve(asked, [2e3, 6e3, 2e4])
    found = sequential_recovery(asked, points, (1, 3))
    assert [one.eigenvalue for one in found] == [
        power_law(0.75, 200).eigenvalues[-k] for k in (1, 3)
    ]
    for one in found:
        assert 1 < one.before / one.after < math.exp(TOLERANCE)
        (point,) = scaling_curve(asked, [one.before])
        outlier = point.solution.problem.target.outliers(point.solution.delta**2)[-one.feature]
        assert outlier.target == one.eigenvalue
        # A middle of an interval is a position at vanishing weight up to its weight, 1/d.
        assert outlier.position == pytest.approx(point.solution.b, rel=1 / 200)


@pytest.mark.slow
def test_weak_decay_recovers_features_where_they_part_from_a_bulk():
    asked = Problem(1.0, power_law(0.75, 200), 1 / 200, 0.5)
    (found,) = sequential_recovery(asked, scaling_curve(asked, [100.0, 1000.0]), [1])
    before, after = scaling_curve(asked, [found.after, found.before])
    supports = [
        point.solution.problem.target.support(point.solution.delta**2) for point in (before, after)
    ]
    assert [len(support) for support in supports] == [1, 2]
    assert supports[0][0][1] > before.solution.b  # the threshold lies within the bulk
    assert before.bulk_edge > after.bulk_edge > 0


@pytest.mark.parametrize(
    ("decay", "samples", "level"),
    [
        pytest.param(
            1e3,
            (1e12, 1e14),
            lambda solution: solution.b,
            id="weight decay",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            1e-6, (2e6, 4e8), lambda solution: solution.delta, id="noise", marks=pytest.mark.slow
        ),
    ],
)
def test_each_feature_is_recovered_when_what_limits_falls_to_it(decay, samples, level):
    """The tenth and the fortieth: in the limit of large d weight decay hides s_k < b, and noise s_k
    < const delta.
    """
    asked = Problem(1.0, power_law(0.75, 10**6, per_octave=64), decay, 0.5)
    points = scaling_curve(asked, [samples[0], math.sqrt(samples[0] * samples[1]), samples[1]])
    first, last = (one.before for one in sequential_recovery(asked, points, (10, 40)))
    levels = [level(scaling_curve(asked, [n])[0].solution) for n in (first, last)]
    # Of the bulk the features themselves are a part: its edge is a multiple of delta up to a few
    # per cent only.
    assert levels[1] / levels[0] == pytest.approx(4**-0.75, rel=0.02)


def test_ends_of_the_range_are_said():
    asked = Problem(1.0, power_law(0.75, 100), 1.0, 0.5)
    points = scaling_curve(asked, [3e3, 6e3])
    first, last = sequential_recovery(asked, points, (1, 40))
    assert (first.after, first.before) == (None, 3e3)
    assert (last.feature, last.after, last.before) == (40, 6e3, None)
    assert sequential_recovery(asked, [], [1])[0].before is None


def with_features(samples, features, trusted=True):
    """A point of a scaling curve of which nothing is known but how many features have left."""
    status = Status.CONVERGED if trusted else Status.STEP_LIMIT
    solution = failed_solution(Problem(1.0, power_law(0.75, 100), 1.0, 0.5), status)
    return ScalingPoint(samples, 100.0, solution, *[math.nan] * 6, features, math.nan)


def test_a_feature_is_located_by_bisection_between_points_that_all_features_share(monkeypatch):
    """The k-th leaves at n = 1000 k^2; half of its interval has passed the threshold then."""
    asked = []

    def curve(problem, samples, start):
        asked.extend(samples)
        assert start is None  # as nothing is learned at any of these points
        return [with_features(samples[0], math.sqrt(samples[0] / 1000) - 0.5)]

    monkeypatch.setattr(module, "scaling_curve", curve)
    points = [
        replace(one, solution=replace(one.solution, q=0.0))
        for one in (with_features(10.0, 0.0), with_features(1e5, 9.5))
    ]
    monkeypatch.setattr(
        module,
        "scaling_curve",
        lambda *a, **k: [
            replace(one, solution=replace(one.solution, q=0.0)) for one in curve(*a, **k)
        ],
    )
    problem = Problem(1.0, power_law(0.75, 100), 1.0, 0.5)
    first, third = sequential_recovery(problem, points, (1, 3), tolerance=1e-2)
    for found, at in ((first, 1000), (third, 9000)):
        assert found.after <= at < found.before and math.log(found.before / found.after) < 1e-2
    assert asked[0] == pytest.approx(1000) and len(set(asked)) == len(asked)  # none is solved twice
    assert [found.eigenvalue for found in (first, third)] == [
        power_law(0.75, 100).eigenvalues[-k] for k in (1, 3)
    ]


def test_a_point_that_is_not_solved_ends_the_bisection(monkeypatch):
    monkeypatch.setattr(
        module,
        "scaling_curve",
        lambda problem, samples, start: [with_features(samples[0], 0.0, trusted=False)],
    )
    problem = Problem(1.0, power_law(0.75, 100), 1.0, 0.5)
    points = [
        with_features(10.0, 0.4),
        with_features(50.0, 0.0, trusted=False),
        with_features(1e3, 0.6),
    ]
    (found,) = sequential_recovery(problem, points, [1])
    assert (found.after, found.before) == (10.0, 1e3)


def test_eigenvalues_that_vanish_are_no_features(monkeypatch):
    """An index out of range before: those below the least double are one."""
    given = [
        "scaling",
        "--power-law",
        "100",
        "--dim",
        "2000",
        "--lambda",
        "1",
        "--noise",
        ".5",
        "--samples",
        "1e3,2e3",
    ]
    monkeypatch.setattr("sys.argv", ["numeric", *given, "--recovery", "99"])
    with pytest.raises(InvalidParameter, match="--recovery 99: must be below"):
        main()


def test_command_line(capsys, monkeypatch, tmp_path):
    given = [
        "scaling",
        "--power-law",
        "3/4",
        "--dim",
        "60",
        "--lambda",
        "1",
        "--noise",
        ".5",
        "--samples",
        "300:3000:4",
    ]
    arguments = [*given, "--recovery", "2", "--plot", f"{tmp_path}/f.png", "--json"]
    monkeypatch.setattr("sys.argv", ["numeric", *arguments])
    assert main() == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["feature"] for row in found["recovery"]] == [1, 2]
    assert all(row["after"] < row["before"] for row in found["recovery"])
    assert {"features", "bulk_edge"} <= set(found["points"][0])
    monkeypatch.setattr("sys.argv", ["numeric", *given, "--recovery", "60"])
    with pytest.raises(
        InvalidParameter, match="--recovery 60: must be below 60, the number of distinct"
    ):
        main()
