"""Solutions as a table."""

from dataclasses import replace

import pytest

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from numeric.saddle.solve import solve
from numeric.studies.data_frame import to_frame


def test_a_frame_holds_values_and_error_bars_and_leaves_out_what_was_not_solved():
    base = Problem(alpha=1.0, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5)
    solved, failed = solve(base), solve(base.at(1e-300))
    frame = to_frame([solved, failed])
    assert frame.loc[1.0, "m"] == solved.m and frame.loc[1.0, "m_error_bar"] == solved.errors["m"]
    assert (
        frame.loc[1e-300, ["m", "m_error_bar"]].isna().all()
        and frame.loc[1e-300, "status"] == "diverged"
    )
    assert frame.loc[1.0, "test_error"] == pytest.approx(solved.test_error)


def test_a_frame_keeps_what_was_swept_and_says_of_which_code_it_is():
    base = Problem(alpha=1.0, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5)
    problems = [
        replace(base, lambda_=decay, target=MarchenkoPastur(ratio))
        for decay in (0.1, 0.2)
        for ratio in (0.4, 0.6)
    ]
    frame = to_frame(map(solve, problems))
    assert frame["lambda"].tolist() == [0.1, 0.1, 0.2, 0.2] and frame["kappa0"].tolist() == [
        0.4,
        0.6,
        0.4,
        0.6,
    ]
    assert frame["target"].tolist() == [problem.target for problem in problems]
    assert (frame[["noise", "width", "tokens", "beta", "beta0"]] == [0.5, 1, 2, 1, 1]).all(
        axis=None
    )
    assert frame["model"].unique() == ["tied_attention"] and frame["parametrisation"].unique() == [
        "factorised"
    ]
    again = [
        replace(base, alpha=alpha, lambda_=row["lambda"], target=row["target"])
        for alpha, row in frame.iterrows()
    ]
    assert again == problems
    assert frame.attrs["version"] and frame.attrs.keys() == {"version", "commit", "command"}
    table = frame["test_error"].groupby([frame["lambda"], frame["kappa0"]]).first().unstack()
    assert table.shape == (2, 2)


def test_a_frame_holds_settings_that_only_one_model_has():
    problem = Problem(
        1.0, MarchenkoPastur(0.5), 0.05, 0.5, model="elastic_attention", extra=(("mu", 0.05),)
    )
    assert to_frame([solve(problem)]).loc[1.0, ["model", "mu"]].tolist() == [
        "elastic_attention",
        0.05,
    ]
