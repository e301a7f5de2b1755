"""Command lines and files drawn at random: each ends with 0, 1 or 2; bad input is one line, and
leaves nothing behind.
"""

import contextlib
import io
import json
import os
import shlex
import signal
import sys
import tempfile
import traceback
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import examples

from attention_erm.cli.exit import run_to_exit
from attention_erm.cli.parser import commands
from derive import __main__ as derive
from numeric import __main__ as numeric
from verify import __main__ as verify

SECONDS = 0.3  #: that a command may take: what is refused is refused by then
PROGRAMS = {"derive": derive, "numeric": numeric, "verify": verify}
#: What only work begins: processes, and files beside the sources.
WORK = (
    "numeric.engines.processes.WorkerProcesses",
    "numeric.engines.dask_workers.Client",
    "numeric.engines.dask_workers.LocalCluster",
    "derive.cli.catalogue.ProcessPoolExecutor",
    "derive.code.emit.write",
    "derive.cli.commands.gen.delete_unused",
)
ODD = (
    "",
    " ",
    "0",
    "-0",
    "-1",
    "1e400",
    "-1e400",
    "1e-400",
    "nan",
    "inf",
    "-inf",
    "1/0",
    "0/1",
    "1/3",
    "3/2",
    "abc",
    "١",
    "1,2",
    "1,",
    ",",
    "1:2:3",
    "2:1:3",
    "0:1:3",
    "1:2:0",
    "1:2:1e9",
    "1:2",
    "1:2:3:4",
    "d",
    "1/d",
    "d^-1",
    "sqrt(d)",
    "symbolic",
    "12",
    "13",
    "99999999999999",
    "a=1",
    "a=1,b=2",
    "=",
    "x.png",
    "missing/x.png",
    ".",
    "--",
    "tied_attention",
    "quadratic_network",
    "none.toml",
    "9" * 400,
    "<b>",
    "../x",
    "\udc80",
    "overlaps.m",
    "x.py:3",
    "generated/tied_attention/float64.py:0",
    "generated/tied_attention/float64.py:" + "9" * 30,
)
#: Keys that study files and files of options have, right and wrong.
KEYS = (
    "alpha",
    "kappa0",
    "lambda",
    "noise",
    "tokens",
    "beta",
    "width",
    "model",
    "settings",
    "parametrisation",
    "eigenvalues",
    "power-law",
    "dim",
    "dims",
    "runs",
    "data",
    "entropy",
    "theory",
    "cores",
    "memory",
    "jobs",
    "json",
    "out",
    "config",
    "help",
    "seed",
    "log-level",
    "x",
)
STUDY = 'kappa0 = "1/2"\nlambda = 0.1\nnoise = 0.5\n[product]\nalpha = [0.5, 1]\n'
_TOML = (
    "true",
    "nan",
    "-inf",
    "1979-05-27",
    "0x1f",
    "1e999",
    "[]",
    "{}",
    "[[1]]",
    '"""a"""',
    '"0.1:1:3"',
    '"a\\u0000"',
)


def enough(*_, **__):
    """In place of work, which is not what is tested."""
    signal.raise_signal(signal.SIGALRM)


@cache
def commands_of(program):
    """Names of its commands with their parsers."""
    return sorted(commands(PROGRAMS[program].build_parser()).items())


def example(command):
    """The arguments of a command's own example, none for one without."""
    line = (command.epilog or "").partition("example: ")[2].partition("\n")[0].partition(" > ")[0]
    return shlex.split(line)[4:]


def texts():
    """Values on the command line."""
    number = st.one_of(
        st.integers(-5, 10**6), st.floats(-10, 1e3), st.fractions(-2, 5, max_denominator=9)
    ).map(str)
    return st.one_of(
        st.sampled_from(ODD), number, st.lists(number, min_size=2, max_size=3).map(",".join)
    )


def entries():
    """Values of a TOML file, as they stand in one."""
    quoted = texts().filter(lambda text: text != "\udc80").map(json.dumps)
    numbers = st.one_of(st.integers(-5, 10**20).map(str), st.floats(-10, 1e3).map(repr))
    plain = st.one_of(quoted, numbers, st.sampled_from(_TOML))
    several = st.lists(plain, max_size=3).map(lambda items: f"[{', '.join(items)}]")
    step = st.sampled_from(['"linear"', '"geometric"', "1"])
    span = st.tuples(plain, plain, plain, step).map(
        lambda of: f"{{from = {of[0]}, to = {of[1]}, count = {of[2]}, spacing = {of[3]}}}"
    )
    return st.one_of(plain, several, span)


def lines_of_keys(keys=KEYS):
    pairs = st.dictionaries(st.sampled_from(keys), entries(), max_size=4)
    return pairs.map(lambda stated: "".join(f"{key} = {value}\n" for key, value in stated.items()))


@st.composite
def damaged(draw, text):
    """The text with a piece of it left out, or something in its place."""
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, min(len(text), start + 8)))
    return (
        text[:start]
        + draw(st.sampled_from(["", "\0", '"', "[", "]]", "=", "\n", "é", "1_0", "#"]))
        + text[end:]
    )


def study_files():
    tables = (
        "[product]\n",
        "[[zip]]\n",
        "[training]\n",
        "[slurm]\n",
        "[other]\n",
        "zip = 1\n",
        "product = []\n",
    )
    table = st.tuples(st.sampled_from(tables), lines_of_keys()).map("".join)
    fixed = st.sampled_from(["", 'kappa0 = "1/2"\nlambda = 0.1\nnoise = 0.5\n'])
    drawn = st.tuples(fixed, lines_of_keys(), st.lists(table, max_size=3).map("".join)).map("".join)
    return st.one_of(drawn, damaged(STUDY), table.map(lambda text: STUDY + text))


@st.composite
def lines(draw, program):
    """A command and its example, with options taken away, changed and added, some of them in a
    file; and the files that it names.
    """
    name, command = draw(st.sampled_from(commands_of(program)))
    words = [draw(texts()) if draw(st.integers(0, 5)) == 0 else word for word in example(command)]
    words = [word for word in words if draw(st.integers(0, 9))]
    files = {"study.toml": draw(study_files())} if name == "sweep" else {}
    options = [
        action
        for action in command._actions
        if action.option_strings and action.dest not in ("help", "config")
    ]
    for option in draw(st.lists(st.sampled_from(options), max_size=3)):
        words.append(option.option_strings[-1])
        if option.nargs != 0:
            choices = (
                st.sampled_from(sorted(map(str, option.choices))) if option.choices else texts()
            )
            words.append(draw(st.one_of(choices, texts())))
    if "--config" in command._option_string_actions and draw(st.integers(0, 3)) == 0:
        own = [flag.removeprefix("--") for option in options for flag in option.option_strings]
        words += ["--config", "options.toml"]
        files["options.toml"] = draw(st.one_of(lines_of_keys((*own, *KEYS)), damaged(STUDY)))
    return [name, *words], files


def outcome(program, words):
    """Exit code, None for a command that went on to its work, and what it said; in a fork, which an
    alarm ends.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        out, err, code = io.StringIO(), io.StringIO(), "it did not exit"
        try:
            sys.argv[:] = [program, *words]
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                run_to_exit(PROGRAMS[program].main)
        except SystemExit as stop:
            code = stop.code
        except BaseException:
            code = traceback.format_exc()[-6000:]
        finally:
            os.write(writer, json.dumps([code, err.getvalue()]).encode()[:60_000])
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return tuple(json.loads(said)) if said else (None, "")


@cache
def load_all():
    """Load here what commands load when they are asked for work: in a fork it would take all of the
    time.
    """
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        Path(folder, "study.toml").write_text(STUDY)
        for program in ("numeric", "verify"):
            sys.argv[:] = [program, "sweep", f"{folder}/study.toml", "--dry-run"]
            PROGRAMS[program].main()


def require_an_end(program, words, files, folder):
    """What holds common options line in a folder of its own."""
    for name, text in files.items():
        Path(folder, name).write_text(text, encoding="utf-8")
    os.chdir(folder)
    code, said = outcome(program, words)
    assert code in (None, 0, 1, 2), (code, said)
    if code == 2:
        assert said.count("\n") == 1 and said.strip(), said
        assert {path.name for path in folder.iterdir()} == set(files), list(folder.iterdir())


@pytest.fixture
def only_refusals(monkeypatch, tmp_path_factory):
    """Commands that would go on to their work end there."""
    monkeypatch.setattr("sys.argv", [])
    load_all()
    for name in WORK:
        monkeypatch.setattr(name, enough)
    # its own name for the library alone: Hypothesis keeps examples in temporary files
    monkeypatch.setattr("derive.tools.new_model.tempfile", SimpleNamespace(mkstemp=enough))
    monkeypatch.chdir(tmp_path_factory.getbasetemp())


@pytest.mark.parametrize("program", PROGRAMS)
def test_random_commands(program, tmp_path_factory, only_refusals):
    @settings(examples(25), suppress_health_check=[HealthCheck.too_slow])
    @given(lines(program))
    def holds(drawn):
        require_an_end(program, *drawn, tmp_path_factory.mktemp("here"))

    holds()


@pytest.mark.parametrize("program", ["numeric", "verify"])
def test_random_studies(program, tmp_path_factory, only_refusals):
    @settings(examples(25), suppress_health_check=[HealthCheck.too_slow])
    @given(study_files())
    def holds(text):
        words = ["sweep", "study.toml", "--dry-run"]
        require_an_end(program, words, {"study.toml": text}, tmp_path_factory.mktemp("here"))

    holds()


#: What was found so, each refused in one line now.
FOUND = [
    (["exponents", "--config", "options.toml"], {"options.toml": 'out = "a\\u0000b"\n'}),
    (["figure", "6", "--dim", "12,12"], {}),  # left an empty folder
]


@pytest.mark.parametrize(("words", "files"), FOUND)
def test_what_was_found_stays_mended(words, files, tmp_path, only_refusals):
    require_an_end("verify", words, files, tmp_path)
    assert outcome("verify", words)[0] == 2
