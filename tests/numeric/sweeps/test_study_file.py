"""Study files: what they state, and how a mistake in one is said."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from attention_erm.cli.exit import run_to_exit
from numeric import __main__ as command
from numeric.cli.study.file import read_study
from numeric.cli.study.points import study_problems

ROOT = Path(__file__).parents[3]
STUDY = """
kappa0 = "1/2"
noise = 0.5
[product]
alpha = "0.5:2:3"
lambda = [0.05, "1/10"]
"""


def written(folder, text):
    path = folder / "study.toml"
    path.write_text(text)
    return path


def numeric(monkeypatch, *arguments):
    """Exit code of `python -m numeric ...`, run in this process."""
    monkeypatch.setattr(sys, "argv", ["numeric", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        run_to_exit(command.main)
    return stop.value.code


def problems(folder, text):
    return study_problems(read_study(str(written(folder, text)), ("slurm",)))


def test_numbers_mean_what_they_say(tmp_path):
    found = problems(tmp_path, STUDY)
    assert found.shape == (3, 2)
    assert [problem.alpha for problem in found[:, 0]] == [0.5, 1.0, 2.0]
    assert [problem.lambda_ for problem in found[0]] == [0.05, 0.1]
    assert {(problem.noise, problem.target.kappa0) for problem in found.flat} == {(0.5, 0.5)}


def test_ranges_and_what_varies_together(tmp_path):
    text = (
        "kappa0 = 0.5\nlambda = 0.1\nnoise = 0.5\n[product]\nalpha = {from = 0.5, to = 1, count "
        '= 3, spacing = "linear"}\n'
    )
    found = problems(tmp_path, text + "[[zip]]\ntokens = [2, 3]\nbeta = [1, 0.5]\n")
    assert [problem.alpha for problem in found[:, 0]] == [0.5, 0.75, 1.0]
    assert [(problem.tokens, problem.beta) for problem in found[0]] == [(2, 1.0), (3, 0.5)]


def test_a_grid_as_a_text_is_geometric_or_linear(tmp_path):
    for grid, values in (("1:4:3", [1, 2, 4]), ("1:4:3:linear", [1, 2.5, 4])):
        text = f'kappa0 = 0.5\nlambda = 0.1\nnoise = 0.5\n[product]\nalpha = "{grid}"\n'
        assert [problem.alpha for problem in problems(tmp_path, text)] == values


def test_lists_of_eigenvalues_are_values(tmp_path):
    text = (
        "alpha = 1\nlambda = 0.1\nnoise = 0.5\ndim = 10\n[product]\neigenvalues = [[3, 2], [4.5]]\n"
    )
    found = problems(tmp_path, text)
    assert [problem.target.eigenvalues[-1] for problem in found] == [3.0, 4.5]


def test_the_command_keeps_and_goes_on(tmp_path, monkeypatch, capsys):
    path = written(tmp_path, STUDY)
    assert numeric(monkeypatch, "sweep", path, "--dry-run") == 0
    assert capsys.readouterr().out == "6 points in 2 tasks, about 1 s on one core\n"
    assert list(tmp_path.iterdir()) == [path]
    for found in (0, 6):
        assert numeric(monkeypatch, "sweep", path, "--json", "--workers", "1") == 0
        document = json.loads(capsys.readouterr().out)
        assert (document["points"], document["found"]) == (6, found)
        assert document["statuses"] == {"status": {"converged": 6}}
    swept = xr.open_zarr(tmp_path / "study.zarr")
    assert swept.sizes == {"alpha": 3, "lambda": 2} and swept.attrs["study"] == STUDY
    assert (
        swept.attrs["command"] == f"python -m numeric sweep {path} --json --workers 1"
        and swept.attrs["version"]
    )
    assert np.all(np.diff(swept.test_error.values, axis=0) < 0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (STUDY.replace("noise = 0.5", "noise = 0.5.1"), ": invalid TOML: "),
        (
            STUDY.replace("noise", "nose"),
            "study.toml: nose 0.5: unknown parameter; use one of alpha, model,",
        ),
        (STUDY.replace('[0.05, "1/10"]', "[]"), "study.toml: lambda []: is empty"),
        (
            STUDY.replace('[0.05, "1/10"]', "0.05"),
            "study.toml: lambda '0.05': must be a list or a range, as it varies",
        ),
        (
            STUDY.replace('[0.05, "1/10"]', "[0.05, -1]"),
            "study.toml: lambda -1: must not be negative",
        ),
        (
            STUDY.replace('[0.05, "1/10"]', "[0.05, true]"),
            "study.toml: lambda True: must be a number or a text",
        ),
        (STUDY.replace("0.5:2:3", "0.5:2"), "study.toml: alpha '0.5:2': must be a list or a range"),
        (
            STUDY.replace("0.5:2:3", "0.5:2:1"),
            "study.toml: alpha 0.5:2:1: '1' points: a grid has from 2 to ",
        ),
        (
            STUDY.replace("noise = 0.5", "lambda = 1\nnoise = 0.5"),
            "study.toml: lambda twice: is stated more than once",
        ),
        (
            STUDY.replace("[product]", "[products]"),
            "study.toml: [products]: unknown table",
        ),
        (
            STUDY.replace("noise = 0.5\n", ""),
            "study.toml: the following arguments are required: --noise",
        ),
        (STUDY.replace("noise = 0.5", "noise = 0.5\ntokens = 50"), "study.toml: tokens 50: "),
        (
            STUDY.replace("noise = 0.5", 'noise = 0.5\nmodel = "mine"'),
            "study.toml: model 'mine': is not a generated model",
        ),
        (
            STUDY + "[[zip]]\nbeta = [1]\ntokens = [2, 3]\n",
            "[[zip]] beta 1, tokens 2: must have as many values of each",
        ),
        (
            STUDY + "[slurm]\nqeue = 'long'\n",
            "study.toml: [slurm] qeue 'long': unknown key",
        ),
        (
            STUDY + "[training]\nruns = 2\n",
            "study.toml: [training]: is only supported by `python -m verify sweep`; use",
        ),
        (
            STUDY + "[slurm]\ncores = 'many'\n",
            "study.toml: [slurm] cores 'many': must be a whole number",
        ),
        (
            STUDY.replace("0.5:2:3", "0.5:2:100000").replace('"1/10"', ", ".join(["1"] * 20)),
            "must be at most 1000000",
        ),
    ],
)
def test_a_mistake_is_one_line_about_its_key(text, said, tmp_path, monkeypatch, capsys):
    path = written(tmp_path, text)
    assert numeric(monkeypatch, "sweep", path) == 2
    shown = capsys.readouterr()
    assert said in shown.err and shown.err.count("\n") == 1 and not shown.out
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--scheduler", "tcp://localhost:1"),
            "--scheduler tcp://localhost:1: requires --on dask; add --on dask",
        ),
        (("--on", "slurm"), "--on slurm: needs cores and memory of a job"),
        (("--on", "slurm", "--workers", "2"), "--workers 2: requires --on processes"),
        (
            ("--out", "nowhere/out"),
            "--out nowhere/out: cannot be written: its folder does not exist",
        ),
        (
            ("--out", "/proc/out"),
            "--out /proc/out: cannot be written (No such file or directory)",
        ),  # no other process has it
        (("--out", "."), "--out .: is not a sweep store"),
    ],
)
def test_arguments_that_make_no_sense(arguments, said, tmp_path, monkeypatch, capsys):
    path = written(tmp_path, STUDY)
    monkeypatch.chdir(tmp_path)
    assert numeric(monkeypatch, "sweep", path, *arguments) == 2
    shown = capsys.readouterr()
    assert said in shown.err and shown.err.count("\n") == 1


def test_a_folder_that_refuses_points_is_named(tmp_path, monkeypatch, capsys):
    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("numeric.sweeps.sweep.run_plan", refuse)
    monkeypatch.chdir(tmp_path)
    assert numeric(monkeypatch, "sweep", written(tmp_path, STUDY), "--out", "out") == 2
    assert capsys.readouterr().err.startswith("--out out: cannot be written (Permission denied)")


def test_a_study_of_another_name_or_without_a_file(tmp_path, monkeypatch, capsys):
    assert numeric(monkeypatch, "sweep", tmp_path / "none.toml") == 2
    assert "cannot be read (FileNotFoundError)" in capsys.readouterr().err


def test_the_script_of_a_cluster(tmp_path, monkeypatch, capsys):
    jobs = "[slurm]\nqueue = 'cpu'\ncores = 8\nmemory = '16GB'\nwalltime = '04:00:00'\njobs = 4\n"
    assert (
        numeric(monkeypatch, "sweep", written(tmp_path, STUDY + jobs), "--on", "slurm", "--dry-run")
        == 0
    )
    script = capsys.readouterr().out
    for line in (
        "#SBATCH -p cpu\n",
        "#SBATCH --cpus-per-task=8\n",
        "#SBATCH -t 04:00:00\n",
        "--nthreads 1",
        "--nworkers 8",
    ):
        assert line in script


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_said_soon(tmp_path):
    """In a process of its own, from its start: ten seconds, and what a busy machine adds."""
    arguments = (
        "sweep",
        str(written(tmp_path, STUDY)),
        "--on",
        "dask",
        "--scheduler",
        "tcp://127.0.0.1:1",
    )
    started = time.process_time(), time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-m", "numeric", *arguments], capture_output=True, text=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert ended.returncode == 1 and time.monotonic() - started[1] < 60
    line = ended.stderr.strip().splitlines()[-1]
    assert line.startswith(
        "failed: no dask scheduler answers at tcp://127.0.0.1:1 within 4 s; start one with"
    )
    assert "Traceback" not in ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("on", ["processes", "dask"])
def test_an_interrupt_is_one_line_and_loses_nothing(on, tmp_path):
    """As a terminal interrupts: every process of the group is told."""
    text = STUDY.replace("0.5:2:3", "0.1:4:24").replace('[0.05, "1/10"]', '"0.01:0.3:20"')
    out = tmp_path / "study.zarr"
    command = [
        sys.executable,
        "-m",
        "numeric",
        "sweep",
        str(written(tmp_path, text)),
        "--on",
        on,
        "--workers",
        "2",
    ]
    client = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    while not list(out.glob("status/c/*/*")):
        assert client.poll() is None
        time.sleep(0.05)
    os.killpg(client.pid, signal.SIGINT)
    said = client.communicate(timeout=60)[1].strip().splitlines()
    assert client.returncode == 130
    assert said[-1] == "interrupted: finished points are stored, the same command continues"
    assert not [line for line in said if "Traceback" in line]
    with pytest.raises(ProcessLookupError):  # nobody of the group is left
        while True:
            os.killpg(client.pid, 0)
            time.sleep(0.05)
    stored = int((xr.open_zarr(out).status > 0).sum())
    assert 0 < stored < 480 and stored % 24 == 0


def test_exact_values_survive_the_file(tmp_path):
    text = STUDY.replace("0.5:2:3", "0.3:0.3000001:2")
    assert problems(tmp_path, text)[0, 0].alpha == float(Fraction(3, 10))
