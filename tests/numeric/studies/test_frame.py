"""Solutions as a table."""

import pytest

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from numeric.saddle.solve import solve
from numeric.studies.frame import to_frame


def test_a_frame_holds_values_and_error_bars_and_leaves_out_what_was_not_solved():
    base = Problem(alpha=1.0, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5)
    solved, failed = solve(base), solve(base.at(1e-300))
    frame = to_frame([solved, failed])
    assert frame.loc[1.0, "m"] == solved.m and frame.loc[1.0, "m_error"] == solved.errors["m"]
    assert frame.loc[1e-300, ["m", "m_error"]].isna().all() and frame.loc[1e-300, "status"] == "diverged"
    assert frame.loc[1.0, "test_error"] == pytest.approx(solved.test_error)
