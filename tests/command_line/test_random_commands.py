"""Command lines drawn at random: each ends with 0, 1 or 2; bad input is one line, and leaves nothing behind."""

import contextlib
import io
import json
import os
import shlex
import signal
import sys
import traceback

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attention_erm.commandline.parser import commands
from numeric import __main__ as numeric
from numeric.cli.arguments import run
from verify import __main__ as verify

SECONDS = 0.3  #: that a command may take: what is refused is refused by then
PROGRAMS = {"numeric": numeric, "verify": verify}
ODD = (
    "", " ", "0", "-0", "-1", "1e400", "-1e400", "1e-400", "nan", "inf", "-inf", "1/0", "0/1", "1/3", "3/2", "abc", "١",
    "1,2", "1,", ",", "1:2:3", "2:1:3", "0:1:3", "1:2:0", "1:2:1e9", "1:2", "1:2:3:4", "d", "1/d", "d^-1",
    "sqrt(d)", "symbolic", "12", "13", "99999999999999", "a=1", "a=1,b=2", "=", "x.png", "missing/x.png", ".", "--",
    "tied_attention", "quadratic_network", "none.toml", "9" * 400,
)  # fmt: skip


def enough(*_):
    """In place of worker processes, which are started for work alone."""
    signal.raise_signal(signal.SIGALRM)


def example(command):
    """The arguments of a command's own example, none for one without."""
    line = (command.epilog or "").partition("example: ")[2].partition("\n")[0]
    return shlex.split(line)[4:]


def values():
    number = st.one_of(st.integers(-5, 10**6), st.floats(-10, 1e3), st.fractions(-2, 5, max_denominator=9)).map(str)
    return st.one_of(st.sampled_from(ODD), number, st.lists(number, min_size=2, max_size=3).map(",".join))


@st.composite
def lines(draw, program):
    """A command and its example, with options taken away, changed and added."""
    name, command = draw(st.sampled_from(sorted(commands(PROGRAMS[program].build_parser()).items())))
    words = [draw(values()) if draw(st.integers(0, 5)) == 0 else word for word in example(command)]
    words = [word for word in words if draw(st.integers(0, 9))]
    options = [action for action in command._actions if action.option_strings and action.dest not in ("help", "config")]
    for option in draw(st.lists(st.sampled_from(options), max_size=3)):
        words.append(option.option_strings[-1])
        if option.nargs != 0:
            words.append(
                draw(
                    st.one_of(st.sampled_from(sorted(map(str, option.choices))), values())
                    if option.choices
                    else values()
                )
            )
    return [name, *words]


def outcome(program, words):
    """Exit code, None for a command that went on to its work, and what it said; in a fork, which an alarm ends."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        out, err, code = io.StringIO(), io.StringIO(), "it did not exit"
        try:
            sys.argv[:] = [program, *words]
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                run(PROGRAMS[program].main)
        except SystemExit as stop:
            code = stop.code
        except BaseException:
            code = traceback.format_exc()
        finally:
            os.write(writer, json.dumps([code, err.getvalue()]).encode()[:60_000])
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return tuple(json.loads(said)) if said else (None, "")


@pytest.mark.parametrize("program", PROGRAMS)
def test_random_commands(program, tmp_path_factory, monkeypatch):
    monkeypatch.setattr("verify.jobs.pool.WorkerProcesses", enough)
    monkeypatch.setattr("numeric.engines.processes.WorkerProcesses", enough)
    monkeypatch.setattr("sys.argv", [])

    @settings(suppress_health_check=[HealthCheck.too_slow])
    @given(lines(program))
    def holds(words):
        folder = tmp_path_factory.mktemp("here")
        os.chdir(folder)
        code, said = outcome(program, words)
        assert code in (None, 0, 1, 2), (code, said)
        if code == 2:
            assert said.count("\n") == 1 and said.strip(), said
            assert not list(folder.iterdir()), list(folder.iterdir())

    monkeypatch.chdir(tmp_path_factory.getbasetemp())
    holds()
