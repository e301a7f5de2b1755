"""Sweeps of training: the same as runs alone, with the theory of what they really had."""

import json
import sys

import numpy as np
import pytest
import torch
import xarray as xr

from attention_erm.cli.exit import run_to_exit
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from numeric.saddle.curve import learning_curve
from verify import __main__ as command
from verify.core.measure import execute
from verify.core.realised_problem import realised_problem
from verify.core.run import Run
from verify.sweeps.training import MEASURED

STUDY = """
kappa0 = "1/2"
noise = 0.5
lambda = 0.1
[product]
alpha = [1, 2]
[training]
dims = [12, 16]
runs = 3
"""


def verify(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["verify", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        run_to_exit(command.main)
    return stop.value.code


@pytest.mark.slow
def test_runs_and_their_theory(tmp_path, monkeypatch, capsys):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    assert verify(monkeypatch, "sweep", path, "--json") == 0
    assert json.loads(capsys.readouterr().out)["points"] == 2 * 2 * 3 + 2 * 2
    swept = xr.open_zarr(tmp_path / "study.zarr").load()
    assert swept.test_error.dims == ("alpha", "dim", "seed") and swept.theory_test_error.dims == (
        "alpha",
        "dim",
    )
    run = Run(
        Problem(alpha=2.0, target=MarchenkoPastur(0.5), lambda_=0.1, noise=0.5), dim=16, index=1
    )
    alone, along = execute(run), swept.sel(alpha=2, dim=16, seed=1)
    for name in MEASURED:
        assert along[name] == getattr(alone, name)
    theory = learning_curve(realised_problem(run, alone.q0), [2.0])[0]
    np.testing.assert_allclose(
        along.theory_m, theory.m, rtol=1e-6
    )  # along a curve and alone: to the solver's own residual


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("dims = [12, 16]", "dims = []", "[training] dims []: must be a whole number from 4 on"),
        ("dims = [12, 16]", "dims = [12, 12]", "each once"),
        ("runs = 3", "runs = 0", "[training] runs 0: must be a whole number from 1 on"),
        ("runs = 3", "data = 'images'", "[training] data 'images': must be one of sequences, "
                                        "gaussian-equivalent"),
        ("runs = 3", "theory = 1", "[training] theory 1: must be true or false"),
        ("runs = 3", "device = 'tpu'", "[training] device 'tpu': must be one of cpu, cuda"),
        ("lambda = 0.1", "lambda = 0", "study.toml: lambda 0.0: must be positive: no descent "
                                       "reaches the limit"),
        ("lambda = 0.1", "lambda = 0.1\nmodel = 'quadratic_network'", "model quadratic_network: is "
                                                                      "not trained by sweeps"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_about_its_key(old, new, said, tmp_path, monkeypatch, capsys):
    path = tmp_path / "study.toml"
    path.write_text(STUDY.replace(old, new))
    assert verify(monkeypatch, "sweep", path) == 2
    shown = capsys.readouterr()
    assert said in shown.err and shown.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_refused(tmp_path, monkeypatch, capsys):
    path = tmp_path / "study.toml"
    path.write_text(STUDY + "device = 'cuda'\n")
    assert verify(monkeypatch, "sweep", path) == 2
    assert (
        "study.toml: [training] device cuda: is not available on this machine"
        in capsys.readouterr().err
    )
    assert (
        verify(
            monkeypatch,
            "sweep",
            path,
            "--on",
            "dask",
            "--scheduler",
            "tcp://elsewhere:1",
            "--dry-run",
        )
        == 0
    )


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_seeds_trained_together_are_those_trained_alone(tmp_path, monkeypatch):
    swept = []
    for device in ("cpu", "cuda"):
        path = tmp_path / f"{device}.toml"
        path.write_text(STUDY + f"device = '{device}'\ntheory = false\n")
        assert verify(monkeypatch, "sweep", path) == 0
        swept.append(xr.open_zarr(path.with_suffix(".zarr")).load())
    # both descents end at a relative gradient of 1e-6, by other sums
    np.testing.assert_allclose(swept[0].test_error, swept[1].test_error, rtol=1e-5)
