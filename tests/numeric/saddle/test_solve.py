"""The saddle-point solver: cold starts, warm starts, statuses, honest errors."""

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from numeric.channel.softmax import sequence_average
from numeric.channel.softmax.pair_average import COARSE
from numeric.channel.softmax_rules import QuadratureRule
from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.maths.sobol import gaussians
from numeric.problem.loss_overflow import overflow_size
from numeric.problem.problem import Parametrisation, Problem
from numeric.problem.solution import NotConverged, Solution, Status, failed_solution
from numeric.saddle import curve
from numeric.saddle.curve import learning_curve, solve_between
from numeric.saddle.equations import SaddleMap
from numeric.saddle.refine import DECISIVE
from numeric.saddle.search import Search
from numeric.saddle.solve import Solver, solve
from numeric.studies.spectrum import learned_spectrum
from verify.core.target import deterministic_eigenvalues

FIGURE_ONE = Problem(alpha=1.0, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5)


@pytest.mark.parametrize(("alpha", "width"), [(0.1, 1.0), (0.05, 0.4), (0.07, 0.4), (0.1, 0.4)])
def test_cold_starts_below_interpolation(alpha, width):
    """Acceleration from the first step on once left these at the step limit."""
    solution = solve(
        Problem(alpha=alpha, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5, width=width)
    )
    assert solution.status is Status.CONVERGED
    assert solution.residual < 1e-8


@pytest.mark.slow
def test_a_curve_does_not_depend_on_the_direction_it_is_followed():
    alphas = [0.05, 0.1, 0.2, 0.5]
    up, down = learning_curve(FIGURE_ONE, alphas), learning_curve(FIGURE_ONE, alphas[::-1])[::-1]
    for left, right in zip(up, down, strict=True):
        assert left.q == pytest.approx(right.q, rel=1e-6)  # each solved to 1e-8 in the conjugates


BROKEN = replace(
    FIGURE_ONE, lambda_=0.02, noise=0.5, width=0.1
)  # replicon minus infinity below alpha = 1


def test_points_of_broken_symmetry_are_solved_alone(monkeypatch):
    starts = []
    monkeypatch.setattr(
        curve,
        "solve",
        lambda problem, start=None, *rest: starts.append(start) or solve(problem, start, *rest),
    )
    points = learning_curve(BROKEN, [0.3, 0.31])
    assert [one.status for one in points] == [Status.UNSTABLE] * 2 and starts == [None] * 2
    between = solve_between(*points, 0.305)
    assert between.status is Status.UNSTABLE and starts == [None] * 3


@pytest.mark.slow
def test_points_of_broken_symmetry_do_not_depend_on_the_grid():
    """At alpha = .3 a curve had m = 4.2 and a test error of .84, led there from .2, and the point
    alone m = .78 and .33.
    """
    broken = replace(BROKEN, lambda_=0.01)
    *_, led = learning_curve(broken, [0.05, 0.1, 0.2, 0.3])
    alone = solve(broken.at(0.3))
    assert led.m == pytest.approx(alone.m, abs=led.errors["m"] + alone.errors["m"])


@pytest.mark.slow
def test_a_point_between_two_neighbours_is_that_of_the_curve_and_cheaper():
    """Points that a figure adds at kinks were solved as finely as those asked for, each again from
    above: ten times the curve.
    """
    weak = replace(FIGURE_ONE, lambda_=7e-3)
    left, right = learning_curve(weak, [0.17, 0.26])  # stable, both: else the point is solved alone
    between, exact = solve_between(left, right, 0.21), solve(weak.at(0.21))
    assert between.q == pytest.approx(exact.q, abs=between.errors["q"] + exact.errors["q"])
    assert between.error_estimate < 5e-3
    assert between.iterations < exact.iterations


def test_the_error_estimate_covers_a_finer_channel():
    """The solution at twice the refinement that the solver stopped at."""
    solution = solve(FIGURE_ONE.at(0.3)).unwrap()
    finest = SaddleMap(solution.problem, QuadratureRule(COARSE.refined().refined().refined()))
    conjugates = [math.log(value) for value in (solution.mh, solution.qh, solution.Vh)]
    moved = finest(conjugates) - conjugates
    for change, name in zip(moved, ("mh", "qh", "Vh"), strict=True):
        # One step of the map is not the whole change: near interpolation the rest amplifies it a
        # few times.
        assert abs(change) <= 3 * solution.errors[name] / getattr(solution, name) + 1e-6


def test_a_failed_solve_cannot_be_unwrapped_or_plotted():
    failed = solve(Problem(alpha=1e-300, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5))
    assert failed.status is Status.DIVERGED
    assert math.isnan(failed.q)
    with pytest.raises(NotConverged, match="left the domain"):
        failed.unwrap()
    with pytest.raises(NotConverged):
        learned_spectrum(failed)


def test_a_step_limit_is_a_status():
    solution = Solver(Search(anderson_steps=2, newton_steps=1, continuations=0)).solve(FIGURE_ONE)
    assert solution.status is Status.STEP_LIMIT
    assert not solution.trusted


def test_every_quantity_carries_an_error_estimate():
    solution = solve(FIGURE_ONE).unwrap()
    assert isinstance(solution, Solution)
    assert all(
        solution.errors[name] >= 0
        for name in ("m", "q", "V", "train_error", "test_error", "estimation_error")
    )
    assert 0 < solution.error_estimate < 1e-4


@pytest.mark.parametrize(
    "changed",
    [
        {"alpha": 0.0},
        {"lambda_": -1.0},
        {"noise": -0.1},
        {"width": math.inf},
        {"tokens": 1},
        {"tokens": 2.5},
        {"beta": math.nan},
    ],
)
def test_invalid_problems_cannot_be_made(changed):
    (name,) = changed
    with pytest.raises(ValueError, match=f"^{name} = "):
        Problem(
            **{
                "alpha": 1.0,
                "target": MarchenkoPastur(0.5),
                "lambda_": 0.01,
                "noise": 0.5,
                **changed,
            }
        )


def test_a_parametrisation_may_be_given_as_text():
    """The target's class was not checked then."""
    with pytest.raises(ValueError, match="either sign"):
        Problem(
            1.0,
            MarchenkoPastur(0.5),
            0.01,
            0.5,
            model="signed_quadratic_network",
            parametrisation="factorised",
        )


@pytest.mark.parametrize("changed", [{"kappa0": -1.0}, {"scale": math.inf}])
def test_invalid_targets_cannot_be_made(changed):
    (name,) = changed
    with pytest.raises(ValueError, match=f"^{name} = "):
        MarchenkoPastur(**{"kappa0": 0.5, **changed})


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6])
def test_the_learned_phase_reaches_down_to_its_boundary(gap):
    """Just below the transition S is small but not zero; float64 closed forms cancel there and once
    gave no answer.
    """
    zero = solve(Problem(alpha=1.0, target=MarchenkoPastur(0.5), lambda_=50.0, noise=0.5))
    critical = 50.0 * zero.problem.target.support(zero.delta**2)[-1][1] / zero.b
    solution = solve(
        Problem(alpha=1.0, target=MarchenkoPastur(0.5), lambda_=critical * (1 - gap), noise=0.5)
    )
    allowed = (Status.CONVERGED,) if gap > 1e-3 else (Status.CONVERGED, Status.INACCURATE)
    assert solution.status in allowed
    assert 0 <= solution.q < gap
    assert (
        solution.m > 0 or solution.status is Status.INACCURATE
    )  # the finer rule may have its transition within 1e-6


@pytest.mark.slow
def test_error_bars_cover_sharp_labels_where_few_samples_carry_the_loss(monkeypatch):
    """At beta = beta0 = 5 replicates alone once claimed a quarter of the true error of the loss.

    Bars are 95 % intervals: of twenty independent scramblings 18 or more are within with a
    probability of .92, and of bars a quarter as long with one of 1e-6.
    """
    problem = Problem(
        alpha=0.2, target=MarchenkoPastur(0.5), lambda_=1e-4, noise=0.5, beta=5.0, beta0=5.0
    )
    covered = Counter()
    for first in range(10, 50, 2):

        def elsewhere(dimensions, sampling, stream=0, first=first):
            return gaussians(dimensions, sampling, first + stream)

        monkeypatch.setattr(sequence_average, "gaussians", elsewhere)
        solution = solve(problem, accuracy=1e-2)
        # With 2^15 points in each of 8 scramblings the loss at the same overlaps is 2.0185(27)e-5,
        # at an accuracy of 2e-3 it is 2.0183(4)e-5, an independent minimiser on plain Monte Carlo
        # samples gave 2.033(10)e-5; m by the deterministic rule, .82191.
        covered["m"] += abs(solution.m - 0.821913) <= solution.errors["m"]
        covered["train_error"] += (
            abs(solution.train_error - 2.0183e-5) <= solution.errors["train_error"]
        )
    assert min(covered.values()) >= 18, covered


@pytest.mark.parametrize(
    ("tokens", "changed"),
    [
        (3, {}),
        pytest.param(3, {"beta": 2.0}, marks=pytest.mark.slow),
        (2, {"parametrisation": Parametrisation.GENERAL}),
    ],
)
def test_sampled_solutions_are_stationary_points_of_e(tokens, changed):
    """(min L)/d^2 falls with lambda at the rate of the penalty: de/dlambda = kappa^(1/2) tr S/d, or
    ||A||^2/d for direct training.
    """
    base = Problem(
        alpha=0.7, target=MarchenkoPastur(0.5), lambda_=0.05, noise=0.5, tokens=tokens, **changed
    )
    solution = solve(base, accuracy=1e-2).unwrap()
    ends = [
        solve(replace(base, lambda_=0.05 * factor), solution, accuracy=1e-2).unwrap().free_entropy
        for factor in (1.05, 1 / 1.05)
    ]
    slope = (ends[0] - ends[1]) / (0.05 * (1.05 - 1 / 1.05))
    if base.parametrisation is Parametrisation.GENERAL:
        expected = solution.q + solution.antisymmetric.q
        at_unit_gain = base.q0 - 2 * solution.m / solution.c + expected / solution.c**2
        assert solution.denoising_error == pytest.approx(at_unit_gain, rel=1e-9)
    else:
        energy = base.target.energy(solution.delta**2, solution.b, base.width)
        expected = -solution.c * energy.J_b / 2  # tr S/d = c int (x - b)_+ dmu
    # Common random numbers cancel in the difference; e itself errs by its bar, here below 5e-3 of
    # the slope times the step.
    assert slope == pytest.approx(expected, rel=1e-2)


def test_three_tokens_match_a_stored_simulation():
    """check_values.json, d = 80, at the realised q0; its standard errors are 1 percent, of
    size-independent noise.
    """
    row = json.loads((Path(__file__).parents[2] / "check_values.json").read_text())["simulations"][
        1
    ]
    scale = math.sqrt(row["realised_q0"] / MarchenkoPastur(row["kappa0"]).q0)
    problem = Problem(
        alpha=row["alpha"],
        target=MarchenkoPastur(row["kappa0"], scale),
        lambda_=row["lambda"],
        noise=row["Delta"],
        tokens=row["T"],
    )
    solution = solve(problem, accuracy=2e-2).unwrap()  # the simulation knows one per cent
    for name, key in (("m", "m"), ("q", "q"), ("train_error", "train"), ("test_error", "test")):
        mean, error = row[key]
        assert abs(getattr(solution, name) - mean) < 4 * error + solution.errors[name], name


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "worst"), [(1.0, 1.5e-2), (0.6, 1e-2)])
def test_an_error_beyond_what_was_promised_is_no_converged_solution(alpha, worst):
    """The estimation error, a small difference of sampled means, was known to 1.1 and .8 % and the
    status `converged`.
    """
    found = solve(replace(FIGURE_ONE, alpha=alpha, lambda_=0.05, tokens=3))
    assert found.relative_error(DECISIVE) < 5e-3 < found.error_estimate < worst
    assert found.status is Status.ROUGH
    assert solve(found.problem, start=found, accuracy=worst).status is Status.CONVERGED
    finer = solve(found.problem, start=found, accuracy=2.4e-3)
    assert finer.error_estimate < 2.4e-3
    assert finer.status is Status.CONVERGED


@pytest.mark.parametrize("alpha", [0.5, 1.0, 4.0])
def test_convex_solutions_are_stable(alpha):
    solution = solve(FIGURE_ONE.at(alpha)).unwrap()
    assert 0 < solution.replicon < 1


def test_jumps_and_rank_limits_break_replica_symmetry():
    assert (
        solve(replace(FIGURE_ONE, alpha=0.2, noise=1.0)).status is Status.UNSTABLE
    )  # minimisers jump
    assert (
        solve(replace(FIGURE_ONE, width=0.4)).status is Status.UNSTABLE
    )  # the limit cuts the noise bulk


def test_values_that_are_inaccurate_are_worth_more_than_none():
    """A failed solve has no error estimate: 0 once made it the better of two."""
    poor = replace(solve(FIGURE_ONE), status=Status.INACCURATE, errors={"m": 1.0})
    none = [failed_solution(FIGURE_ONE, Status.STEP_LIMIT, residual, 1) for residual in (0.1, 0.2)]
    assert max([*none, poor], key=Solution.reliability) is poor
    assert max(none, key=Solution.reliability) is none[0]
    assert max([poor, solve(FIGURE_ONE)], key=Solution.reliability).status is Status.CONVERGED


@pytest.mark.parametrize(
    ("alpha", "test_error"),
    [(1.6, 1.1884596e-4), pytest.param(3.2, 2.2117630e-5, marks=pytest.mark.slow)],
)
def test_small_errors_of_steep_labels_are_refined_until_they_have_a_value(alpha, test_error):
    """Three refinements left error bars of 25 and 160 per cent, and no value; rays from the labels
    give these, to .4 per cent.
    """
    solution = solve(
        Problem(
            alpha=alpha, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.0, beta=2.0, beta0=2.0
        )
    )
    assert solution.status is Status.CONVERGED
    assert solution.errors["test_error"] < 0.01 * solution.test_error
    assert solution.test_error == pytest.approx(test_error, rel=0.01)


@pytest.mark.slow
def test_a_curve_of_few_points_does_not_run_away_at_the_interpolation_peak():
    """From the line through .155 and .194 the iteration went to q = 4e4, at eight seconds a step,
    and stayed there.
    """
    target = Eigenvalues(
        tuple(deterministic_eigenvalues(MarchenkoPastur(0.5), 40).tolist()), (1 / 40,) * 40
    )
    peak = Problem(1.0, target, 1e-5, 0.5, sample_minimum="fitted")
    solution = learning_curve(peak, [0.155, 0.19375, 0.24125], accuracy=3e-3)[-1]
    assert solution.status is Status.CONVERGED
    assert 5 < solution.q < 6


def test_a_target_learned_nearly_perfectly_by_a_narrow_student_has_a_status():
    """At noise of 7e-17 of the target no direction seemed free, and the solve divided by their
    number.
    """
    law, temperatures = (
        MarchenkoPastur(0.04643724704357343),
        {"beta": 41.63030837172753, "beta0": 0.303869098894809},
    )
    problem = Problem(
        485226.6329914713, law, 1633.0622733121734, 0.0, 0.058507186893881596, **temperatures
    )
    assert solve(problem).trusted


def test_a_point_that_is_not_at_its_root_is_solved_in_steps_from_stronger_decay():
    """Near recovery at weak decay: from S = 0 the solve ends at a residual of 8e-2."""
    problem = Problem(0.2163721, MarchenkoPastur(0.5), 1.3e-6, 1.2e-8)
    alone, stepwise = Solver().solve(problem), solve(problem)
    assert alone.status is Status.STEP_LIMIT and alone.residual > 1e-3
    assert stepwise.status is Status.CONVERGED and stepwise.residual < 1e-8
    assert stepwise.test_error == pytest.approx(3.28169e-5, rel=1e-4)


def test_a_loss_that_overflows_is_named_as_the_cause(monkeypatch):
    problem = Problem(1, MarchenkoPastur(3000), 0.05, 0.5, model="quadratic_network")
    assert overflow_size(problem) is None
    failed = failed_solution(problem, Status.DIVERGED)
    assert failed.advice == Status.DIVERGED.value

    def steep(h11, y1):
        return np.sqrt(1 + np.sinh(h11 - y1) ** 2)

    monkeypatch.setattr(problem.generated, "index_loss", steep)
    size = overflow_size(problem)
    assert size is not None and 330 < size < 450  # sinh^2 overflows at 355, on a grid of factors
    assert f"not finite at an index of {size:.3g}" in failed.advice
    small = replace(problem, target=MarchenkoPastur(0.5))
    assert overflow_size(small) is None  # its indices are below 20
