"""Whoever is killed in the middle of training, the same command ends with the report of an
undisturbed one.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

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


def begun(folder):
    """The command in a folder, and all processes of it in a group of their own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        COMMAND,
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
