"""Whatever ends a command says so in one line: interrupts at any moment, a system that shuts down,
a disk that refuses.
"""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from attention_erm.cli.exit import run_to_exit
from attention_erm.runtime.files import write_atomically
from derive import __main__ as derive

ROOT = Path(__file__).parents[2]
POINT = "--alpha 1 --kappa0 .5 --lambda .1 --noise .5"
CURVE = (
    "numeric",
    "curve",
    "--alpha",
    "0.001:10:100",
    "--kappa0",
    ".5",
    "--lambda",
    ".001",
    "--noise",
    ".5",
)


@pytest.mark.parametrize(
    ("command", "after", "number"),
    [
        (("verify", "curve", "--out", "out"), 0.5, signal.SIGINT),  # while torch is loaded
        pytest.param(
            ("verify", "curve", "--out", "out"), 1.5, signal.SIGINT, marks=pytest.mark.slow
        ),
        (("derive", "check"), 0.3, signal.SIGINT),
        (CURVE, 1.0, signal.SIGINT),
        (CURVE, 1.0, signal.SIGTERM),  # as a cluster ends a job
    ],
)
def test_an_interrupt_at_any_moment_is_one_line(command, after, number, tmp_path):
    """It was a traceback until everything was loaded, seconds for what needs torch."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # a job in the background hands down that it is ignored
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    try:
        time.sleep(after)
        os.killpg(started.pid, number)
        said = started.communicate(timeout=60)[1].decode().splitlines()
    finally:
        started.kill()
    assert started.returncode == 130
    assert said[-1].startswith("interrupted") and "Traceback" not in "".join(said)


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_an_output_that_a_shell_closed_is_written_to_in_silence(closed, monkeypatch, capsys):
    """`>&-` leaves Python without one: it was a traceback, or nothing was written at all."""
    monkeypatch.setattr(sys, closed, None)

    def write():
        for stream in (sys.stdout, sys.stderr):
            stream.write("said\n")
        return 0

    with pytest.raises(SystemExit, match="0"):
        run_to_exit(write)
    assert sorted(capsys.readouterr()) == ["", "said\n"]


@pytest.mark.parametrize(
    ("number", "way_out"),
    [
        (errno.ENOSPC, "make room"),
        (errno.EDQUOT, "make room"),
        (errno.EROFS, "name a folder that you may write to"),
    ],
)
def test_a_disk_that_refuses_is_one_line(number, way_out, capsys, monkeypatch, tmp_path):
    """With the file: who writes to a stream is not told which it was."""

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("attention_erm.runtime.files.os.fdopen", refuse)
    with pytest.raises(SystemExit) as stop:
        run_to_exit(lambda: write_atomically(tmp_path / "curve.csv", b"1"))
    said = capsys.readouterr().err
    assert stop.value.code == 1 and said.count("\n") == 1
    assert f"{tmp_path / 'curve.csv'}: cannot be written" in said and way_out in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "line",
    [
        f"curve {POINT} --csv FILE",
        f"curve {POINT} --plot FILE.png --json",
        f"curve {POINT} --model quadratic_network --digits 5 --csv FILE",
        f"spectrum {POINT} --csv FILE",
        f"decompose {POINT} --plot FILE.png",
        f"cost {POINT} --csv FILE --json",
        "phase-diagram --gamma 3/4 --plot FILE.png",
    ],
)
def test_what_was_found_is_printed_where_a_file_is_refused(line, said, monkeypatch, tmp_path):
    """It was lost, and the line said that it was kept."""

    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fdopen", refuse)
    code, out, errors = said(
        *line.replace("FILE", str(tmp_path / "f")).split(), "--log-level", "error"
    )
    assert code == 1 and errors.count("\n") == 1 and "Traceback" not in errors
    assert f"failed: {tmp_path / 'f'}" in errors and errors.endswith(
        "; the results are printed: make room and start again\n"
    )
    assert out.count("\n") > 1 and ("--json" not in line or json.loads(out)["points"])


def test_a_device_that_is_full_is_named(said):
    code, _, errors = said("recovery", "--kappa0", "1/2", "--csv", "/dev/full")
    assert code == 1 and errors.startswith(
        "failed: /dev/full: cannot be written (No space left on device); the results are printed"
    )


def test_an_error_of_another_kind_in_writing_is_one_line(tmp_path, capsys):
    """As where a folder is removed while the work goes on; a traceback before.

    Notes say what is not lost.
    """

    def main():
        try:
            write_atomically(tmp_path / "gone" / "curve.csv", b"1")
        except OSError as error:
            error.add_note("the rest is kept")
            raise

    with pytest.raises(SystemExit) as stop:
        run_to_exit(main)
    said = capsys.readouterr().err
    assert stop.value.code == 1 and said.count("\n") == 1
    assert (
        f"{tmp_path / 'gone' / 'curve.csv'}: cannot be written (No such file or directory); the "
        "rest is kept: " in said
    )


@pytest.mark.parametrize("package", ["derive", "numeric", "verify"])
def test_a_working_folder_that_was_deleted_is_one_line(package, tmp_path):
    """A traceback before, whatever was asked for."""
    program = "import os, runpy, sys; os.rmdir(os.getcwd()); sys.argv[1:] = ['--help']; "
    program += f"runpy.run_module('{package}', run_name='__main__', alter_sys=True)"
    (folder := tmp_path / "folder").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "the working folder was deleted" in done.stderr


def test_a_read_only_installation_takes_no_new_model(capsys, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system", "derive/models")

    monkeypatch.setattr("derive.tools.new_model.tempfile.mkstemp", refuse)
    monkeypatch.setattr(sys, "argv", ["derive", "new", "a_name", "--from", "quadratic_network"])
    with pytest.raises(SystemExit) as stop:
        run_to_exit(derive.main)
    assert stop.value.code == 1
    assert capsys.readouterr().err.startswith(
        "failed: derive/models: cannot be written (Read-only file system)"
    )
