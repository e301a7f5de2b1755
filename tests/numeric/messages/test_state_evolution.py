"""State evolution step by step: it starts anywhere, and ends at the saddle point or at the Bayes
optimum.
"""

import json
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from attention_erm.runtime.errors import InvalidParameter
from numeric.__main__ import main
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.messages.bayes_evolution import bayes_evolution
from numeric.messages.stages import FirstMessage, first_response
from numeric.messages.state_evolution import state_evolution
from numeric.prediction.posterior_prediction import posterior_errors
from numeric.problem.problem import Problem
from numeric.problem.solution import NotConverged
from numeric.saddle.solve import solve
from numeric.studies.bayes_comparison import bayes_curve
from numeric.studies.bayes_estimation_error import bayes_error, message_noise
from tests.strategies import log_uniform

PROBLEM = Problem(1.0, MarchenkoPastur(0.5), 0.05, 0.5)


solved = cache(solve)


CHANGES = ({}, {"width": 0.4}, {"beta": 1.4, "beta0": 0.7}, {"parametrisation": "symmetric"})
#: Each change from a start of its own; from every start where there is more time.
QUICK = list(zip(CHANGES, FirstMessage, strict=True))


@pytest.mark.parametrize(
    ("change", "start"),
    [
        pytest.param(*pair, marks=[] if pair in QUICK else [pytest.mark.slow])
        for pair in product(CHANGES, FirstMessage)
    ],
)
def test_it_ends_at_the_saddle_point(change, start):
    problem = replace(PROBLEM, **change)
    solution = solved(problem)
    last = state_evolution(problem, start, 30).stages[-1]  # it contracts by .6 a step or more
    for name in ("m", "q", "V", "estimation_error", "test_error"):
        # the rule here is refined once, the solver's further: each is known to its error estimate
        assert getattr(last, name) == pytest.approx(getattr(solution, name), rel=1e-4)


@pytest.mark.slow
def test_it_ends_at_the_saddle_point_of_three_tokens():
    problem = replace(PROBLEM, tokens=3)
    solution, evolution = solve(problem), state_evolution(problem, FirstMessage.ZERO, 40)
    for name in ("m", "q", "V"):
        error = getattr(evolution.errors[-1], name) + solution.errors[name]
        assert abs(getattr(evolution.stages[-1], name) - getattr(solution, name)) < 4 * error


def test_the_first_step_from_nothing_hardly_knows_what_stands_for_nothing(monkeypatch):
    (here,) = state_evolution(PROBLEM, FirstMessage.ZERO, 1).stages
    monkeypatch.setattr("numeric.messages.state_evolution.MIN_RELATIVE_Q", 1e-6)
    (there,) = state_evolution(PROBLEM, FirstMessage.ZERO, 1).stages
    np.testing.assert_allclose(
        here, there, rtol=1e-5
    )  # a change of q0 1e-6, and rounding over its root


def test_where_nothing_is_learned_it_stays_at_nothing():
    """Far above the largest weight decay at which anything is learned."""
    stages = state_evolution(replace(PROBLEM, lambda_=50.0), FirstMessage.INFORMED, 4).stages
    assert stages[-1][:3] == (0.0, 0.0, 0.0)
    assert stages[-1].estimation_error == PROBLEM.q0


def test_the_first_response_and_the_least_noise_have_their_units():
    """An index a times as large, of a target a^2 times as large, at temperatures that see no
    difference.
    """
    large = replace(
        PROBLEM,
        target=replace(PROBLEM.target, scale=2 * PROBLEM.target.scale),
        noise=4 * PROBLEM.noise,
        beta=PROBLEM.beta / 2,
        beta0=PROBLEM.beta0 / 2,
    )
    assert first_response(large.beta) == pytest.approx(4 * first_response(PROBLEM.beta))
    for error in (0.0, 0.1 * PROBLEM.q0):
        assert message_noise(large, 4 * error) == pytest.approx(4 * message_noise(PROBLEM, error))


def test_more_order_parameters_are_refused():
    with pytest.raises(InvalidParameter, match=r"^parametrisation = "):
        state_evolution(replace(PROBLEM, parametrisation="general"), FirstMessage.ZERO, 1)


@pytest.mark.parametrize("start", FirstMessage)
@pytest.mark.parametrize(
    "alpha", [*(pytest.param(alpha, marks=pytest.mark.slow) for alpha in (0.1, 0.5)), 2.0]
)
def test_bayes_optimal_messages_end_at_the_bayes_optimum(alpha, start):
    """From no knowledge and from the target alike: no start is caught before the optimum, which
    messages therefore reach.
    """
    stages = bayes_evolution(PROBLEM.at(alpha), start, 80)
    assert stages[-1].estimation_error == pytest.approx(bayes_error(PROBLEM.at(alpha)), rel=1e-9)


def test_knowledge_never_shrinks_on_the_way_from_none():
    errors = [
        stage.estimation_error for stage in bayes_evolution(PROBLEM.at(0.3), FirstMessage.MEAN, 20)
    ]
    assert errors == sorted(errors, reverse=True)


def test_without_a_label_the_test_error_is_the_variance_of_a_label():
    """Nothing but the mean of the target is known: the index of a sequence is noise but for what
    the trace has of it.
    """
    problem, error = PROBLEM, PROBLEM.q0 * (1 - 1e-12)
    found = posterior_errors(problem, error)
    assert found.optimal == pytest.approx(found.plug_in, rel=1e-6)  # both predict 1/2


def test_the_whole_target_leaves_the_label_noise():
    known = posterior_errors(PROBLEM, 0.0)
    assert known.optimal < known.plug_in
    assert posterior_errors(replace(PROBLEM, noise=0.0), 0.0).plug_in == pytest.approx(
        0.0, abs=1e-15
    )


@pytest.mark.identity
@examples(5)
@given(
    problem=st.builds(
        Problem,
        alpha=log_uniform(0.1, 5.0),
        target=st.builds(MarchenkoPastur, log_uniform(0.1, 1.5)),
        lambda_=log_uniform(0.005, 0.2),
        noise=st.floats(0.05, 1.5),
        beta=st.floats(0.6, 1.6),
        beta0=st.floats(0.6, 1.6),
    )
)
def test_no_student_predicts_better_than_the_posterior(problem):
    """At any weight decay and temperature: the mean of the label given all that is known has the
    least square error there is.
    """
    solution = solve(problem)
    best = posterior_errors(problem, bayes_error(problem))
    assert best.optimal <= best.plug_in + 1e-9  # both averages are settled to 1e-10
    if solution.trusted:
        assert best.optimal < solution.test_error + solution.errors.get("test_error", 0.0)


@pytest.mark.slow
def test_the_best_weight_decay_never_beats_the_optimum():
    (few, many) = bayes_curve(PROBLEM, [0.2, 2.0], tolerance=0.1)
    for point in (few, many):
        assert point.predictions and point.learned
        assert point.predictions.optimal < point.learned.solution.test_error
        assert point.bayes_error < point.learned.solution.estimation_error
    assert few.predictions.optimal > many.predictions.optimal


def test_what_is_not_reached_is_null_and_does_not_stop_the_rest(monkeypatch, capsys):
    def unsolved(problem, tolerance):
        raise NotConverged("no")

    monkeypatch.setattr("numeric.studies.bayes_comparison.optimal_lambda", unsolved)
    monkeypatch.setattr(
        "sys.argv",
        ["numeric", "bayes", "--alpha", "1e-9,1/2", "--kappa0", "1/2", "--noise", "1/2", "--json"],
    )
    assert main() == 1
    printed = capsys.readouterr()
    none, some = json.loads(printed.out)["points"]
    assert none["bayes_error"] is None and none["bayes_test_error"] is None
    assert some["bayes_test_error"] < some["plug_in_test_error"] and some["lambda"] is None
    assert "alpha = 1e-09: bayes_error, bayes_test_error" in printed.err
