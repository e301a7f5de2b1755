"""Whoever is killed in the middle of training, the same command ends with the report of an
undisturbed one.
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from verify.studies import STUDIES, study_of

ROOT = Path(__file__).parents[3]
COMMAND = (
    *(
        sys.executable,
        "-m",
        "verify",
        "curve",
        "--alpha",
        "0.5,1",
        "--dim",
        "20,30",
        "--runs",
        "4",
        "--noise",
        "1",
    ),
    *("--lambda", "0.05", "--workers", "2", "--json", "--out", "out"),
)
MOMENTS = range(5)


def begun(folder, command=COMMAND):
    """The command in a folder, and all processes of it in a group of their own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def report(folder):
    """What the command prints, times apart."""
    command = begun(folder)
    document = json.loads(command.communicate()[0])
    assert command.returncode in (0, 1)
    return {name: value for name, value in document.items() if name != "seconds"}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return report(tmp_path_factory.mktemp("undisturbed"))


def workers_of(command):
    """Processes that train: forks of a server that the command has started."""
    listed = subprocess.run(
        ["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout
    found = [line.split(None, 2) for line in listed.splitlines()]
    servers = {
        pid for pid, parent, args in found if parent == str(command.pid) and "forkserver" in args
    }
    return [int(pid) for pid, parent, _ in found if parent in servers]


@pytest.mark.slow
@pytest.mark.parametrize("k", MOMENTS)
@pytest.mark.parametrize("victim", ["command", "worker", "request to end"])
def test_what_was_finished_is_used_and_the_report_is_the_same(victim, k, undisturbed, tmp_path):
    command, store = begun(tmp_path), tmp_path / "out" / "runs.jsonl"
    while not (store.exists() and store.stat().st_size):
        assert command.poll() is None
        time.sleep(0.02)
    time.sleep(random.Random(k).uniform(0, 2))
    if victim == "worker":
        for pid in workers_of(command)[:1]:
            os.kill(pid, signal.SIGKILL)
    else:
        command.send_signal(signal.SIGKILL if victim == "command" else signal.SIGTERM)
    said = command.communicate()[1]
    assert "Traceback" not in said
    assert victim != "worker" or command.returncode == 0  # its run is done again
    kept = store.read_bytes().splitlines()
    assert kept
    assert report(tmp_path) == undisturbed
    assert store.read_bytes().splitlines()[: len(kept)] == kept


#: A short call of each command that trains.
TRAINING = {
    "curve": "--alpha .5,1 --dim 24,40 --runs 8",
    "spectrum": "--alpha .5 --dim 60 --runs 20",
    "message-passing": "--alpha .5,1 --dim 20,30 --runs 6 --steps 3",
    "models": "--model quadratic_network,first_row_attention --alpha 1 --dim 20,30 --runs 10 "
    "--lambda .1 --noise .5",
    "width": "--dim 60 --alpha .3 --width .05,.2,1 --runs 4",
    "gap": "--power-law 1/4 --dim 16,24,36 --runs 8",
    "emergence": "--dim 40 --lambda 1/d --alpha .1:1.6:8 --features 2 --runs 4",
    "covariance": "--alpha .5 --dim 24,40 --runs 8",
    "vocabulary": "--alpha .5 --dim 24,40 --runs 8",
    "tokens": f"{ROOT / 'tests/data/word_vectors.npy'} --dim 24 --alpha .5,1 --runs 4",
    "covariance-exponents": "--dim 20,28 --runs 4",
    "scaling": "--dim 30,40 --lambda 1/d --data gaussian-equivalent --runs 4",
    "exponents": "--gamma 3/4 --cell decay --dim 100,140,200 --runs 3",
    "thresholds": "--kappa0 .5 --noise .5 --dim 20,30 --runs 4",
    "capacity": "--dim 16,24 --runs 6",
    "cross-validate": "--alpha 1 --dim 24 --runs 6",
    "figure": "5",
    "main job": "--preset quick",
}


def test_each_training_command_is_interrupted_below():
    commands = {study_of(folder).name for folder in STUDIES} - {"published"}  # theory alone
    assert commands | {"figure", "main job"} == set(TRAINING)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINING)
def test_an_interrupted_command_keeps_finished_runs_and_continues(name, tmp_path):
    words = [*(() if name == "main job" else (name,)), *TRAINING[name].split()]
    command = (sys.executable, "-m", "verify", *words, "--workers", "1", "--out", "out")
    first = begun(tmp_path, command)

    def kept():
        """Lines of the stores; lines of the theory apart."""
        stores = [path for path in tmp_path.rglob("*.jsonl") if path.name != "lines.jsonl"]
        return {path: path.read_bytes().splitlines() for path in stores}

    while not any(kept().values()):
        assert first.poll() is None, first.communicate()[1]
        time.sleep(0.02)
    first.send_signal(signal.SIGINT)
    said = first.communicate()[1]
    assert first.returncode == 130
    assert re.search(r"interrupted: \d+ finished runs? (is|are) stored; run the same command", said)
    stored = kept()
    again = begun(tmp_path, command)
    said = again.communicate()[1]
    assert again.returncode in (0, 1), said
    assert re.search(r"[1-9]\d* of \d+ runs found", said)
    for path, lines in stored.items():
        assert path.read_bytes().splitlines()[: len(lines)] == lines
