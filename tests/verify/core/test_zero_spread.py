"""Values without scatter: 0 beside 0 agrees, anything else beside 0 disagrees, nothing is NaN."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.__main__ import main
from verify.core.intervals import Interval, pooled, precisions, quotient
from verify.core.scores import SizeGroup, extrapolated

# Strong decay: S = 0 in training and in the theory.
NOTHING = ["--alpha", ".5", "--lambda", "20", "--noise", ".5", "--workers", "1"]


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    "arguments",
    [
        ["curve", "--dim", "12,20", "--runs", "3"],
        ["message-passing", "--dim", "12,20", "--runs", "2", "--steps", "2"],
        ["spectrum", "--dim", "20", "--runs", "2"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_study_in_which_nothing_is_learned_agrees(arguments, tmp_path, capsys):
    assert main([*arguments, *NOTHING, "--out", str(tmp_path)]) == 0
    assert "nan" not in capsys.readouterr().out


def test_emergence_without_an_emerging_feature_is_undetermined(tmp_path, capsys):
    arguments = ["emergence", "--dim", "20", "--alpha", ".2:1:4", "--features", "1", "--runs", "2"]
    assert main([*arguments, "--lambda", "20", "--workers", "1", "--out", str(tmp_path)]) == 1
    assert "UNDETERMINED: no feature emerges" in capsys.readouterr().out


def test_a_ratio_to_zero():
    assert quotient(0.0, 0.0) == 0
    assert quotient(-1e-9, 0.0) == -math.inf
    assert math.isnan(quotient(0.0, math.nan))
    assert Interval(1.0, 1.0, 1.0).z(1.0) == 0
    assert Interval(1.0, 1.0, 1.0).z(2.0) == -math.inf


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=6))
def test_precisions_are_finite_and_fall_with_the_error(errors):
    weights = precisions(errors)
    assert np.all(np.isfinite(weights)) and np.all(weights > 0)
    order = np.argsort(errors)
    assert np.all(np.diff(weights[order]) <= 0)


def test_intervals_without_width_are_pooled_to_their_mean():
    assert pooled([Interval(1.0, 1.0, 1.0), Interval(3.0, 3.0, 3.0)]) == (2.0, 2.0, 2.0)
    mixed = pooled([Interval(1.0, 1.0, 1.0), Interval(3.0, 2.0, 4.0)])
    assert mixed.value == pytest.approx(1.0, abs=1e-11)


def group(dim, residual, error, theory=1.0):
    return SizeGroup(dim, 3, theory + residual, theory, residual, error)


def test_residuals_without_scatter_disagree_unless_they_are_rounding_errors():
    assert extrapolated([group(20, 0.0, 0.0, 0.0)], 0.0).z == 0
    assert abs(extrapolated([group(20, 1e-16, 0.0)], 0.0).z) < 1
    assert extrapolated([group(20, 1e-6, 0.0)], 0.0).z > 4
