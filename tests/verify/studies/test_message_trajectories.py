"""Message passing against its state evolution, step by step, and the pieces of Bayes-optimal
messages.
"""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.messages.stages import FirstMessage, Stage, first_response, starting_overlaps
from numeric.model import float64 as generated
from numeric.problem.problem import Problem
from numeric.studies.bayes_estimation_error import cubed_density
from verify.__main__ import main
from verify.core.data import DataKind, packed, unpacked
from verify.core.draw import draw
from verify.core.pool import Pool
from verify.core.run import Run
from verify.studies.message_passing.iteration import LabelChannel, adjoint_per_unit, visible_index
from verify.studies.message_passing.posterior_mean import posterior_mean, shrinkage
from verify.studies.message_passing.text import trajectory_lines
from verify.studies.message_passing.trajectories import study_trajectories, trajectory_point
from verify.studies.message_passing.trajectory import (
    Messages,
    follow_messages,
    starting_map,
    trajectory_store,
)

pytestmark = pytest.mark.usefixtures("no_workers")

LAW = MarchenkoPastur(0.5)
RUN = Run(Problem(1.0, LAW, 0.05, 0.5), dim=24, data=DataKind.GAUSSIAN_EQUIVALENT)


def executed(steps):
    with Pool(1, progress=False) as pool:
        return pool.run(steps)


def noisy_target(dim, v):
    rng = np.random.default_rng(3)
    w, a = rng.standard_normal((dim, dim // 2)), rng.standard_normal((dim, dim))
    s0 = torch.as_tensor(w @ w.T / np.sqrt(dim * dim / 2))
    return s0, s0 + torch.as_tensor(np.sqrt(v) * (a + a.T) / np.sqrt(2 * dim))


@pytest.mark.parametrize("v", [0.05, 0.3])
def test_the_posterior_mean_has_the_least_error(v):
    s0, y = noisy_target(300, v)
    found, divergence = posterior_mean(y, v, LAW)
    error = float((found - s0).square().sum()) / 300
    least = float(generated.bayes_error(v, cubed_density(v, LAW)))
    assert error == pytest.approx(
        least, rel=0.03
    )  # fluctuates by 1/d times the few eigenvalues at the edges
    assert 2 * v * divergence / 300**2 == pytest.approx(
        least, rel=0.03
    )  # the error is what noise alone moves


def test_slopes_of_the_shrinkage_equal_central_differences():
    """Inside the law and beyond its edges."""
    v, step = 0.3, 1e-6
    x = np.array([-3.0, -0.5, 0.4, 1.5, 2.5, 9.0])
    _, slopes = shrinkage(x, v, LAW)
    difference = (shrinkage(x + step, v, LAW)[0] - shrinkage(x - step, v, LAW)[0]) / (2 * step)
    np.testing.assert_allclose(
        slopes, difference, rtol=1e-6, atol=1e-8
    )  # truncation step^2, rounding eps/step


@pytest.mark.parametrize("tokens", [2, 3])
@pytest.mark.parametrize("data", DataKind)
def test_adjoint_per_unit(data, tokens):
    """<f, units(S)> is <adjoint(f), S> for every symmetric S."""
    run = RUN.varied(data=data, dim=10, tokens=tokens)
    drawn, rng = draw(run), np.random.default_rng(0)
    a = torch.as_tensor(rng.standard_normal((10, 10)))
    f = torch.as_tensor(rng.standard_normal((len(drawn.labels), tokens * (tokens + 1) // 2)))
    units = packed(drawn.inputs.indices(a + a.T))
    found = adjoint_per_unit(drawn.inputs, f, tokens)
    torch.testing.assert_close((found * (a + a.T)).sum(), (f * units).sum(), rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(found, found.T)


@pytest.mark.parametrize("beta", [0.6, 1.0, 3.0])
def test_the_first_answers_have_no_jumps(beta):
    """The Moreau energy of any sample is convex at the first V: its curvature 1/V + H is positive
    everywhere.
    """
    rng = np.random.default_rng(0)
    corners, inside = (
        torch.eye(2).double()[rng.integers(2, size=(4000, 2))],
        torch.as_tensor(rng.random((4000, 2, 1))),
    )
    labels = torch.cat([corners, torch.cat([inside, 1 - inside], -1)])
    units = torch.as_tensor(2 / beta * rng.standard_normal((8000, 3)))
    least = float(
        torch.linalg.eigvalsh(LabelChannel(labels, beta).slope_and_curvature(units)[1]).min()
    )
    assert -1 / first_response(beta) < least < 0


def test_a_label_is_its_visible_index():
    h = torch.as_tensor(np.random.default_rng(0).standard_normal((50, 6)))
    h = unpacked(h, 3)
    found = visible_index(torch.softmax(1.7 * h, -1), 1.7)
    shift = h - found
    torch.testing.assert_close(shift, shift[:, :1, :1].expand_as(shift), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("start", FirstMessage)
def test_starts_have_the_order_parameters_of_theory(start):
    run = RUN.varied(dim=200, alpha=1e-3)
    s0 = draw(run).s0
    s = starting_map(run, s0, start)
    m, q = starting_overlaps(start, LAW)
    # the target's mean is that of its quantiles, to 1/d; what is random is of the order 1/d, too
    assert float((s * s0).sum()) / 200 == pytest.approx(m, abs=0.03)
    assert float((s * s).sum()) / 200 == pytest.approx(q, abs=0.03)


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """What messages from a start are judged to be, each start once."""

    @cache
    def point(start):
        messages = Messages(False, start, 4)
        store = trajectory_store(tmp_path_factory.mktemp("messages"), messages)
        (found,) = executed(study_trajectories(RUN, [1.0], [(20, 6), (32, 6)], messages, store))
        return found

    return point


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(start, marks=[] if start is FirstMessage.INFORMED else [pytest.mark.slow])
        for start in FirstMessage
    ],
)
def test_messages_follow_state_evolution_from_any_start(followed, start):
    point = followed(start)
    assert point.agrees
    for scores in point.steps:
        assert [score.quantity for score in scores] == list(Stage._fields)
        # sharp enough to mean something
        assert all(
            score.groups[-1].standard_error < 0.2 * score.groups[-1].theory for score in scores
        )


def test_messages_of_another_step_are_told_apart(followed):
    """What the next step has is no agreement: the scores see the order of the steps."""
    first, second = followed(FirstMessage.INFORMED).steps[:2]
    group = first[0].groups[-1]
    assert abs(group.simulation - second[0].groups[-1].theory) > 10 * group.standard_error


def test_scatter_beyond_a_value_is_no_agreement(tmp_path):
    messages = Messages(False, FirstMessage.ZERO, 2)
    (point,) = executed(
        study_trajectories(
            RUN, [1.0], [(12, 2), (16, 2)], messages, trajectory_store(tmp_path, messages)
        )
    )
    runs = [
        follow_messages(RUN.varied(dim=dim, index=index), messages)
        for dim in (12, 16)
        for index in range(2)
    ]
    lost = replace(runs[0], stages=tuple(stage._replace(q=100.0) for stage in runs[0].stages))
    point = trajectory_point([lost, *runs[1:]], messages)
    assert point.undetermined and point.undetermined.quantity == "q" and not point.agrees
    assert "UNDETERMINED: q scatters" in "".join(trajectory_lines(point))


def test_a_decay_that_leaves_nothing_is_followed_too(tmp_path):
    messages, run = Messages(False, FirstMessage.RANDOM, 3), RUN.varied(lambda_=50.0)
    (point,) = executed(
        study_trajectories(
            run, [1.0], [(12, 2), (16, 2)], messages, trajectory_store(tmp_path, messages)
        )
    )
    last = {score.quantity: score for score in point.steps[-1]}
    for name in ("m", "q", "V"):
        assert last[name].groups[-1].simulation == last[name].groups[-1].theory == last[name].z == 0


def test_bayes_optimal_messages_follow_theirs(tmp_path):
    messages, run = Messages(True, FirstMessage.MEAN, 6), RUN.varied(alpha=0.5)
    store = trajectory_store(tmp_path, messages)
    (point,) = executed(study_trajectories(run, [0.5], [(24, 6), (36, 6)], messages, store))
    assert point.agrees
    again = [run.varied(dim=dim, index=index) for dim in (24, 36) for index in range(6)]
    stored = store.load(again)
    assert len(stored) == 12
    assert (
        stored[again[0]].stages == follow_messages(again[0], messages).stages
    )  # equal runs give equal results


def asked(*arguments):
    return ["message-passing", "--workers", "1", *arguments]


@pytest.mark.slow
def test_the_command_prints_the_steps_and_draws_them(tmp_path, capsys):
    figure = tmp_path / "steps.png"
    code = main(
        asked(
            "--dim",
            "20,32",
            "--runs",
            "4",
            "--steps",
            "3",
            "--bayes",
            "--alpha",
            "0.5",
            "--out",
            str(tmp_path),
            "--plot",
            str(figure),
            "--json",
        )
    )
    document = json.loads(capsys.readouterr().out)
    (point,), (optimum,) = document["trajectories"], document["optima"]
    assert code == 0 and document["agrees"] and document["points"] == []
    assert [step["step"] for step in point["steps"]] == [1, 2, 3] and point["start"] == "mean"
    assert optimum["bayes_test_error"] < optimum["plug_in_test_error"] < optimum["test_error"]
    assert figure.stat().st_size > 10_000


def test_sequences_have_steps_and_no_descent(tmp_path, capsys):
    code = main(
        asked(
            "--dim",
            "40,60",
            "--runs",
            "4",
            "--steps",
            "2",
            "--data",
            "sequences",
            "--out",
            str(tmp_path),
        )
    )
    printed = capsys.readouterr().out
    assert code == 0
    assert "agrees with state evolution at every step" in printed and "descent" not in printed


def test_broken_data_disagree(tmp_path, capsys):
    code = main(
        asked(
            "--dim",
            "20,32",
            "--runs",
            "4",
            "--steps",
            "2",
            "--data",
            "sequences",
            "--out",
            str(tmp_path),
            "--shuffle-labels",
        )
    )
    assert code == 1 and "DISAGREES with state evolution" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--bayes", "--tokens", "3"],
            "--tokens 3: the posterior mean of a label is averaged for two tokens",
        ),
        (["--steps", "0", "--plot", "x.png"], "--plot x.png: shows steps"),
        (["--plot", "x.gif"], "--plot x.gif: must end in"),
        (["--steps", "-1"], "--steps -1: must lie from 0"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        main(asked(*arguments))
