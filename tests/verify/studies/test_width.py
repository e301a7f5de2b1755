"""Quadratic networks along their width: the risk on inputs, and training beside the finite-d
theory.
"""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.power_law import power_law
from numeric.plotting.caption import caption_of
from numeric.problem.problem import Problem
from numeric.problem.solution import Status
from numeric.saddle.solve import solve
from verify.__main__ import main
from verify.core.pool import Pool
from verify.studies.width.figure import width_figure
from verify.studies.width.risk import NetworkRisk, indices
from verify.studies.width.study import (
    MODEL,
    NetworkRun,
    Samples,
    WidthPlan,
    WidthPoint,
    study_width,
    train_network,
)
from verify.studies.width.text import width_lines

pytestmark = pytest.mark.usefixtures("no_workers")

PROBLEM = Problem(0.5, power_law(1.0, 40), 0.5, 0.5, model=MODEL)


def test_indices_and_risk_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    x, w, y = (torch.as_tensor(rng.standard_normal(shape)) for shape in ((7, 5), (5, 2), (7, 1)))
    s = w @ w.T / math.sqrt(2 * 5)
    expected = torch.stack([(row @ s @ row - s.trace()) / math.sqrt(5) for row in x])
    assert torch.allclose(indices(s, x), expected)
    value, _ = NetworkRisk(PROBLEM, x, y).value_and_gradient(w)
    assert float(value) == pytest.approx(
        float(((y[:, 0] - expected) ** 2).sum() + 0.5 * (w**2).sum()) / 25
    )


def test_the_gradient_is_that_of_finite_differences():
    rng = np.random.default_rng(1)
    x, w, y, step = (
        torch.as_tensor(rng.standard_normal(shape)) for shape in ((9, 4), (4, 3), (9, 1), (4, 3))
    )
    risk = NetworkRisk(PROBLEM, x, y)
    slope = (
        risk.value_and_gradient(w + 1e-6 * step)[0] - risk.value_and_gradient(w - 1e-6 * step)[0]
    ) / 2e-6
    assert float(slope) == pytest.approx(
        float((risk.value_and_gradient(w)[1] * step).sum()), rel=1e-7
    )


@pytest.mark.slow
def test_networks_of_every_width_are_those_of_the_theory(tmp_path):
    """Gaussian-equivalent data: estimation errors in standard errors, from one hidden unit to as
    many as inputs.
    """
    with Pool(1, progress=False) as pool:
        points = pool.run(
            study_width(
                WidthPlan(PROBLEM, (1, 3, 10, 40), 6, Samples.GAUSSIAN_EQUIVALENT), tmp_path
            )
        ).points
    assert all(point.agrees for point in points)
    assert all(abs(point.slope_z) < 4 for point in points[1:])
    assert math.isnan(points[0].slope)
    errors = [point.estimation_error for point in points]
    assert errors[0] > 2 * min(errors)  # what one unit leaves of the target


def test_widths_at_which_replica_symmetry_is_broken_are_named():
    """They stood in width.json alone."""
    solution = solve(PROBLEM)
    sound = WidthPoint(
        20,
        Samples.INPUTS,
        solution,
        2,
        solution.estimation_error,
        0.1,
        0.1,
        0.1,
        math.nan,
        math.nan,
        math.nan,
    )
    broken = replace(sound, hidden=2, solution=replace(solution, status=Status.UNSTABLE))
    said = "replica symmetry is broken: the theory is an approximation"
    assert f"at m = 2 {said}\n" in "".join(width_lines([broken, sound])) and said not in "".join(
        width_lines([sound])
    )
    assert caption_of(width_figure([broken, sound])).endswith(
        "replica symmetry broken, an approximation: $m$ = 2"
    )


def test_a_theory_of_another_width_is_refuted(tmp_path):
    """Had the student one unit more, the theory would lie far outside the errors."""
    runs = [
        train_network(
            NetworkRun(replace(PROBLEM, width=1 / 40), index, Samples.INPUTS)
        ).estimation_error
        for index in range(4)
    ]
    with Pool(1, progress=False) as pool:
        (_, two) = pool.run(study_width(WidthPlan(PROBLEM, (1, 2), 2), tmp_path)).points
    assert np.mean(runs) - 4 * np.std(runs, ddof=1) / 2 > 1.2 * two.solution.estimation_error


def test_samples_beyond_memory_are_refused(tmp_path):
    with Pool(1, progress=False) as pool, pytest.raises(InvalidParameter, match="GiB"):
        pool.run(
            study_width(
                WidthPlan(
                    replace(PROBLEM, target=power_law(1.0, 2000)),
                    (1,),
                    2,
                    Samples.GAUSSIAN_EQUIVALENT,
                ),
                tmp_path,
            )
        )


def test_the_command(tmp_path, capsys):
    given = [
        "width",
        "--dim",
        "24",
        "--alpha",
        "1",
        "--width",
        "0.04,0.2",
        "--runs",
        "3",
        "--workers",
        "1",
    ]
    code = main([*given, "--data", "gaussian-equivalent", "--out", str(tmp_path), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert code == 0
    assert document["agrees"]
    assert [point["hidden"] for point in document["points"]] == [1, 5]
    assert document["points"][0]["slope"] is None
    assert (tmp_path / "width.png").stat().st_size > 5_000
    assert main([*given, "--out", str(tmp_path)]) in (0, 1)
    assert "widths agree" in capsys.readouterr().out
