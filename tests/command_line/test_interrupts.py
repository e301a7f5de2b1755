"""Ctrl-C with real signals, at any moment: one line, exit 130, no process left, what had finished
is given or kept, in seconds.
"""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST = 5.0  # seconds from the signal to the end
PROBLEM = "--kappa0 .5 --noise .5"
ALPHA = f"--alpha 0.05:4:300 {PROBLEM} --lambda .01"


def started(command, folder=ROOT):
    """A command with a session of its own, as one in a terminal."""
    return subprocess.Popen(
        [sys.executable, *command.split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"},
        # a job in the background of a script ignores interrupts, and hands that down
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )


def alive(session):
    """Processes of a session that have not ended; one that nobody waits for counts as ended."""
    table = subprocess.run(
        ["ps", "-A", "-o", "pid=,sess=,stat="], capture_output=True, text=True, check=True
    ).stdout
    rows = map(str.split, table.splitlines())
    return {int(process) for process, of, state in rows if int(of) == session and state[0] != "Z"}


def interrupted(running, whole_group=True, times=1):
    """Stdout and lines of stderr of a command that is interrupted now, and is gone, with all it
    started, in time.
    """
    asked = time.monotonic()
    for _ in range(times):
        (os.killpg if whole_group else os.kill)(running.pid, signal.SIGINT)
    output, errors = running.communicate(timeout=60)
    took = time.monotonic() - asked
    while alive(running.pid) and time.monotonic() - asked < MOST:
        time.sleep(0.05)
    assert not alive(running.pid)
    assert running.returncode == 130, errors
    assert took < MOST
    return output, errors.splitlines()


def when(running, holds):
    """Wait for what a command is to have come to."""
    begun = time.monotonic()
    while not holds():
        assert running.poll() is None and time.monotonic() - begun < 60
        time.sleep(0.05)


def watches(running):
    """Whether Python itself is loaded, and what it loads for us is our own to answer for."""
    status = Path(f"/proc/{running.pid}/status").read_text()
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught & 1 << signal.SIGALRM - 1)


def heard(running, word):
    """Read stderr up to a line with this word."""
    for line in running.stderr:
        if word in line:
            return
    raise AssertionError(f"ended without saying {word}")


def test_what_had_finished_of_a_curve_is_printed(tmp_path):
    table, figure = tmp_path / "curve.csv", tmp_path / "curve.png"
    running = started(
        f"-m numeric curve {ALPHA} --json --log-level debug --csv {table} --plot {figure}"
    )
    for _ in range(3):
        heard(running, "converged")  # a line for each solve, just before it counts
    output, errors = interrupted(running)
    document = json.loads(output)
    points = document["points"]
    assert (
        document["interrupted"] is True
        and json.loads(figure.with_suffix(".json").read_text()) == document
    )
    with table.open(newline="") as stream:
        assert [row["interrupted"] for row in csv.DictReader(stream)] == ["True"] * len(points)
    assert 2 <= len(points) < 300 and all(point["status"] == "converged" for point in points)
    assert errors[-1] == "interrupted: partial results were written"
    assert all("converged" in line for line in errors[:-1] if "its data are in" not in line)


@pytest.mark.parametrize(
    "command", ["numeric curve " + ALPHA, "verify curve --runs 2", "derive check"]
)
@pytest.mark.parametrize("after", [0.0, 0.2, 0.6])
def test_among_imports_it_is_one_line(command, after, tmp_path):
    running = started(f"-m {command}" + (f" --out {tmp_path}" if "verify" in command else ""))
    when(running, lambda: watches(running))
    time.sleep(after)
    output, errors = interrupted(
        running, times=2
    )  # as `timeout -s INT` sends it: to the command, and to its group
    assert (output, errors) == ("", ["interrupted"])


UNCAUGHT = """
    import time
    from attention_erm.runtime import interrupts
    interrupts.install_handlers()
    interrupts.raise_on_interrupt()
    print("here", flush=True)
    time.sleep(60)
"""
LOST = """
    import sys, time
    from attention_erm.runtime import interrupts
    interrupts.install_handlers()
    interrupts.raise_on_interrupt()

    class Careless:
        def __del__(self):
            print("here", flush=True)
            time.sleep(5)

    try:
        Careless()
        time.sleep(60)
    except KeyboardInterrupt:
        sys.exit(interrupts.report("kept"))
"""
BUSY = """
    import ctypes
    from attention_erm.runtime import interrupts
    interrupts.install_handlers()
    interrupts.raise_on_interrupt()
    print("here", flush=True)
    mutex, library = ctypes.create_string_buffer(64), ctypes.CDLL(None)
    library.pthread_mutex_lock(mutex)
    library.pthread_mutex_lock(mutex)  # for ever, whatever signal comes
"""
COMPILING = """
    import time
    from concurrent.futures import ThreadPoolExecutor
    from attention_erm.cli import exit as ending
    from attention_erm.runtime import interrupts
    interrupts.install_handlers()
    interrupts.raise_on_interrupt()

    def main():
        ThreadPoolExecutor(1).submit(time.sleep, 60)
        print("here", flush=True)
        time.sleep(60)

    ending.run_to_exit(main)
"""


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (UNCAUGHT, "interrupted"),
        (LOST, "interrupted: kept"),
        (BUSY, "interrupted"),
        (COMPILING, "interrupted"),
    ],
)
def test_an_interrupt_that_nobody_catches_ends_the_command(program, said, tmp_path):
    """In a finaliser no exception comes through; compiled code may let none come for minutes;
    Python waits for threads at its end.
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(program))
    (tmp_path / "attention_erm").symlink_to(ROOT / "attention_erm")
    running = started("program.py", tmp_path)
    assert running.stdout.readline() == "here\n"
    assert interrupted(running) == ("", [said])


def test_it_ends_where_nobody_reads_its_line(tmp_path):
    """The line could not be said, and the thread that was to end the process died of that: no
    signal but KILL ended it.
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(BUSY))
    (tmp_path / "attention_erm").symlink_to(ROOT / "attention_erm")
    running = started("program.py", tmp_path)
    assert running.stdout.readline() == "here\n"
    for lines in (running.stdout, running.stderr):
        lines.close()
    running.send_signal(signal.SIGTERM)
    try:
        assert running.wait(2 * MOST) == 130
    finally:
        running.kill()


@pytest.mark.parametrize(
    ("command", "whole_group"),
    [("check", False), ("gen --force", True)],
    ids=["check", "gen, as a terminal does"],
)
def test_models_that_are_derived_are_let_be(command, whole_group, tmp_path):
    """It took ten seconds and more to end before: the workers finished all models first."""
    for package in (
        "derive",
        "generated",
    ):  # without manifests, so that nothing is current and gen has to derive
        ignored = shutil.ignore_patterns("__pycache__", "MANIFEST.json")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    (tmp_path / "attention_erm").symlink_to(ROOT / "attention_erm")
    running = started(f"-m derive {command}", tmp_path)
    when(running, lambda: len(alive(running.pid)) >= 3)
    time.sleep(0.5)  # the models are being derived, which takes ten seconds and more
    _, (*before, last) = interrupted(running, whole_group)
    assert last == "interrupted"
    assert [
        line for line in before if not line.startswith("derive: ")
    ] == []  # what takes over two seconds says so


@pytest.mark.slow
@pytest.mark.parametrize(
    "whole_group", [False, True], ids=["the command", "its group, as a terminal does"]
)
@pytest.mark.parametrize("after", [0, 0.3, 0.6, 1, 1.5, 2, 3, 4, 6, 9])
@pytest.mark.parametrize(
    "command",
    [
        f"numeric curve {ALPHA}",
        f"numeric curve {ALPHA} --tokens 3",
        "numeric scaling --power-law 3/4 --dim 200 --lambda 1/d --samples 1e3:1e8:300 --noise .5",
        "numeric phase-diagram --gamma 3/4 --dim 1e4 --points 20",
        f"numeric optimal-lambda --alpha 0.05:4:300 {PROBLEM}",
        f"numeric decompose {ALPHA}",
        "verify curve --alpha 0.5,1 --dim 60 --runs 64 --noise 1 --out OUT",
        "verify thresholds --out OUT",
        "verify --preset quick --out OUT",
        "verify figure 1 --out OUT",
    ],
)
def test_it_is_one_line_at_any_moment(command, after, whole_group, tmp_path):
    running = started(f"-m {command.replace('OUT', str(tmp_path))} --log-level warning")
    when(running, lambda: watches(running))
    time.sleep(after)
    output, errors = interrupted(running, whole_group)
    besides = ("compiling", "not yet the exponent")  # the latter of slopes that are given
    said = [line for line in errors if not any(words in line for words in besides)]
    finished = bool(output) and command.startswith("numeric")
    assert (
        said == ["interrupted: partial results were written"]
        if finished
        else said[0].startswith("interrupted")
    )
    assert len(said) == 1
