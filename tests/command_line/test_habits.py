"""What all command lines have in common: help with examples, version, completion, options from a
file, levels of what is said.
"""

import json
import logging
import os
import re
import shlex
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

import attention_erm
from attention_erm.cli.parser import MANY, commands
from attention_erm.runtime import progress as lines
from attention_erm.runtime.log import PACKAGES, current_level, set_level
from attention_erm.runtime.progress import progress
from derive import __main__ as derive
from numeric import __main__ as numeric
from numeric.cli import caches, installation
from verify import __main__ as verify

ROOT = Path(__file__).parents[2]
LINES = {"derive": derive, "numeric": numeric, "verify": verify}
COMMANDS = [
    (name, command) for name, line in LINES.items() for command in commands(line.build_parser())
]
STATED = 'alpha = "0.5,1"\nkappa0 = 0.5\nlambda = "1/20"\nnoise = 0.5\n'


@pytest.fixture(autouse=True)
def _default_level():
    """Whatever a test asks for, the next one hears what goes on."""
    yield
    set_level("info")


@pytest.fixture
def file(tmp_path):
    """Path of a file of options with this text."""

    def write(text):
        path = tmp_path / "options.toml"
        path.write_text(text)
        return str(path)

    return write


def parsed(*arguments):
    """Arguments of `python -m numeric ...` as values."""
    return numeric.build_parser().parse_args(arguments)


@pytest.mark.parametrize(("package", "name"), COMMANDS, ids=" ".join)
def test_a_command_s_help_is_a_paragraph_and_an_example_that_parses(package, name, capsys):
    command = commands(LINES[package].build_parser())[name]
    assert len(command.description.split()) > 20
    start = f"example: python -m {package} "
    assert command.epilog.startswith(start)
    arguments = shlex.split(command.epilog.removeprefix(start).partition(" > ")[0])
    assert arguments[0] == name
    assert LINES[package].build_parser().parse_args(arguments).command == name
    with pytest.raises(SystemExit):
        LINES[package].build_parser().parse_args([name, "--help"])
    help_text = capsys.readouterr().out
    assert (
        "--log-level" in help_text and f"{command.epilog}\n" in help_text
    )  # in one line, to be copied


@pytest.mark.parametrize("package", LINES)
def test_exit_codes_are_in_the_help_and_in_the_document(package):
    said = LINES[package].build_parser().epilog
    table = (ROOT / "docs" / "reference" / "command_line.md").read_text()
    assert "exit codes: " in said
    for code in ("0", "1", "2", "130"):
        assert f" {code} " in said and f"\n| {code} |" in table


@pytest.mark.parametrize("package", LINES)
def test_the_version_is_that_of_the_package(package, capsys):
    with pytest.raises(SystemExit) as stop:
        LINES[package].build_parser().parse_args(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"attention-erm {attention_erm.__version__}\n"


def bash_completion(package, *words):
    """What bash offers for the last of these words."""
    script = r"""
eval "$($PYTHON -m $PACKAGE --print-completion bash)"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
function=$(complete -p "$1" | sed 's/.*-F \([^ ]*\).*/\1/')
$function "$1" "${@: -1}" "${@: -2:1}"
printf '%s\n' "${COMPREPLY[@]}"
"""
    environment = {**os.environ, "PYTHON": sys.executable, "PACKAGE": package}
    done = subprocess.run(
        ["bash", "-c", script, "bash", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("package", "words", "offered"),
    [
        ("numeric", ["attention-numeric", "cu"], {"curve"}),
        ("numeric", ["attention-numeric", "curve", "--kap"], {"--kappa0", "--kappa1", "--kappa2"}),
        ("numeric", ["attention-numeric", "curve", "--parametrisation", "s"], {"symmetric"}),
        (
            "numeric",
            ["attention-numeric", "threshold", "int"],
            {"interpolation", "interpolation-limit"},
        ),
        ("numeric", ["attention-numeric", "curve", "--config", "pyproj"], {"pyproject.toml"}),
        ("derive", ["attention-derive", "di"], {"diff"}),
        pytest.param(
            "verify",
            ["attention-verify", "curve", "--log-level", "deb"],
            {"debug"},
            marks=pytest.mark.slow,
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bash_completes_commands_options_choices_and_files(package, words, offered):
    assert bash_completion(package, *words) == offered


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_other_shells_have_a_script(shell, said):
    code, out, _ = said("--print-completion", shell)
    assert code == 0 and "attention-numeric" in out and "optimal-lambda" in out


def test_a_file_states_options_and_the_line_wins(file):
    path = file(f"{STATED}json = true\n")
    arguments = parsed("curve", "--config", path, "--noise", "1/3")
    assert (arguments.json, str(arguments.lambda_), str(arguments.noise)) == (True, "1/20", "1/3")
    assert [str(alpha) for alpha in arguments.alpha] == ["1/2", "1"]
    assert str(parsed("curve", "--noise=1/3", "--config", path).noise) == "1/3"
    assert parsed("curve", "--config", file(f"{STATED}json = false\n")).json is False


def test_the_file_of_the_document_is_one(file):
    text = (
        (ROOT / "docs" / "reference" / "command_line.md")
        .read_text()
        .partition("```toml\n")[2]
        .partition("```")[0]
    )
    arguments = parsed("curve", "--config", file(text), "--alpha", "0.1,1")
    assert (str(arguments.kappa0), str(arguments.lambda_), len(arguments.alpha)) == (
        "1/2",
        "1/100",
        2,
    )


@pytest.mark.parametrize("text", ['"1/20"', "0.05", "5e-2", '"0.05"', "0.0_5"])
def test_one_twentieth_in_a_file_is_exact(text, file):
    stated = STATED.replace('lambda = "1/20"', f"lambda = {text}")
    assert str(parsed("curve", "--config", file(stated)).lambda_) == "1/20"


def test_a_list_in_a_file_is_a_list(file):
    path = file('alpha = [0.5, 1, "3/2"]\nlambda = 1\nnoise = 1\neigenvalues = [-1, 2]\n')
    arguments = parsed("curve", "--config", path)
    assert list(map(str, arguments.alpha)) == ["1/2", "1", "3/2"] and list(
        arguments.eigenvalues
    ) == [-1, 2]


def test_another_way_to_state_the_target_replaces_that_of_the_file(file):
    arguments = parsed("curve", "--config", file(STATED), "--eigenvalues", "3,2")
    assert arguments.kappa0 is None and list(arguments.eigenvalues) == [3, 2]


def test_the_main_job_has_a_file_of_its_own(file):
    arguments = verify.build_parser().parse_args(["--config", file('preset = "quick"\nseed = 7\n')])
    assert (arguments.preset, arguments.seed, arguments.command) == ("quick", 7, None)
    path = file("seed = 7\nalpha = 2\n")
    arguments = verify.build_parser().parse_args(["--seed", "3", "curve", "--config", path])
    assert arguments.seed == 7 and list(arguments.alpha) == [2]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("kapa0 = 1\n", ("kapa0", "write kappa0")),
        ("help = true\n", ("help", "no such option")),
        ('config = "other.toml"\n', ("config", "no such option")),
        ("kappa0 = true\n", ("kappa0 = True", "must be a number")),
        ("kappa0 = 0\n", ("kappa0 = 0", "must be positive; use the target's rank")),
        ('kappa0 = "half"\n', ("kappa0 = half", "is not a number")),
        ("kappa0 = inf\n", ("kappa0 = inf", "is not a number")),
        ("kappa0 = 2026-01-01\n", ("kappa0", "must be a number")),
        ("alpha = []\n", ("alpha", "must be a number")),
        ("alpha = [[1]]\n", ("alpha", "must be a number")),
        ("[curve]\nalpha = 1\n", ("curve", "no such option")),
        ("json = 1\n", ("json = 1", "write true or false")),
        ('parametrisation = "free"\n', ("parametrisation = free", "use one of factorised")),
        ('log-level = "loud"\n', ("log-level = loud", "use one of error")),
        ("alpha = 1\nalpha = 2\n", ("line 2", "invalid TOML")),
        ("alpha = 1/2\n", ("line 1", 'write lines such as kappa0 = "1/2"')),
        ("\0", ("line 1", "invalid TOML")),
    ],
)
def test_a_bad_file_is_refused_in_one_line(text, named, file, said):
    path = file(text)
    code, out, err = said(
        "curve", "--config", path, "--alpha", "1", "--lambda", "1", "--noise", "1"
    )
    assert (code, out) == (2, "")
    assert err.startswith(path) and err.count("\n") == 1
    for part in named:
        assert part in err


def test_a_file_that_cannot_be_read_is_refused_in_one_line(tmp_path, said):
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    for path in (tmp_path / "missing.toml", tmp_path, binary):
        code, _, err = said("curve", "--config", str(path))
        assert code == 2 and str(path) in err and err.count("\n") == 1


@pytest.mark.parametrize(("package", "name"), COMMANDS, ids=" ".join)
def test_commands_with_many_options_take_a_file_and_others_do_not(package, name):
    command = commands(LINES[package].build_parser())[name]
    habits = {"--config", "--log-level", "--help"}
    own = [
        action
        for action in command._actions
        if action.option_strings and not habits & {*action.option_strings}
    ]
    assert ("--config" in command._option_string_actions) == (len(own) > MANY)


POINT = ("curve", "--alpha", "0.5", "--kappa0", ".5", "--lambda", ".05", "--noise", ".5", "--json")


def test_levels_say_less_and_more(said):
    said(*POINT)  # which may say that it compiles
    code, out, err = said(*POINT, "--log-level", "debug")
    assert code == 0 and json.loads(out)["points"]
    assert err.count("\n") == 1
    for part in ("tied_attention at alpha 0.5", "converged", "steps", "residual", " s\n"):
        assert part in err
    assert said(*POINT)[2] == ""
    left_out = ("recovery", "--kappa0", "1/4,1/2", "--width", "1/3")
    assert "1 combinations left out" in said(*left_out, "--log-level", "warning")[2]
    assert said("--log-level", "error", *left_out)[2] == ""


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_shown_at_the_default_level_alone(terminal, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setattr(lines, "PATIENCE", 0.01)
    for level in ("error", "warning", "info", "debug"):
        set_level(level)
        values = progress([1, 2], desc="alpha")
        for value, expected in zip(values, (1, 2), strict=True):
            assert value == expected
            time.sleep(0.05)
        shown = capsys.readouterr().err
        assert (shown != "") == (level == "info")
        if level == "info" and not terminal:  # a bar is not what a file should hold
            assert re.fullmatch(
                r"alpha: 0 of 2 after 0 s\n(alpha: [01] of 2 after 0 s(, about 0 s left)?\n)*",
                shown,
            )
            assert shown.count("\n") <= 4  # after .01, .03, .07 and .15 seconds
        assert current_level() == level


def test_what_is_quick_is_silent_where_there_is_no_terminal(capsys):
    set_level("info")
    assert list(progress([1, 2], desc="alpha")) == [1, 2]
    assert capsys.readouterr().err == ""


def test_lines_tell_how_far_the_work_is():
    points = lines.ProgressLines(range(30), "alpha", None, False)
    assert points.line(2) == "alpha: 0 of 30 after 2 s"
    points.update(3)
    assert points.line(4) == "alpha: 3 of 30 after 4 s, about 36 s left"
    shares = lines.ProgressLines(None, "training", 80.0, True)
    shares.update(20)
    assert shares.line(5) == "training: 25 % after 5 s, about 15 s left"
    assert lines.ProgressLines(None, "solving", None, False).line(2) == "solving: at work after 2 s"


def test_a_level_is_of_the_packages_alone():
    set_level("debug")
    assert logging.getLogger().level == logging.WARNING
    assert all(logging.getLogger(package).level == logging.DEBUG for package in PACKAGES)


def test_doctor_says_what_there_is(said):
    said(*POINT)
    code, out, _ = said("doctor", "--json")
    found = json.loads(out)
    assert code == (1 if found["advice"] else 0)
    assert found["version"]["numpy"][0].isdigit() and found["machine"]["cores available"] >= 1
    assert set(found["generated"].values()) == {"current"}
    assert set(found["kernel"].values()) <= {"compiled", "will be compiled on first use"}
    assert found["kernel"]["laws.marchenko_pastur_root.upper_edge"] == "compiled"
    assert all("MiB" in facts["kernels"] for facts in found["cache"].values())
    assert "torch" in found["version"]


def test_doctor_imports_no_torch():
    loaded = (
        "import sys; from numeric.cli.installation import examine; examine(); print('torch' "
        "in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", loaded], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_doctor_says_what_is_missing_for_training_and_looks_at_all_else(said, monkeypatch):
    """Extras are no fault of an installation."""
    extras = ("torch", "distributed", "dask-jobqueue", "marimo")
    there, needed = (
        installation.installed,
        tuple(one for one in installation._needed() if one.name not in extras),
    )
    monkeypatch.setattr(installation, "_needed", lambda: needed)
    monkeypatch.setattr(
        installation,
        "installed",
        lambda name: installation.ABSENT if name in extras else there(name),
    )
    code, out, _ = said("doctor")
    assert "verify trains in torch, which is not installed: run pip install" in out
    assert "kernel laws.marchenko_pastur_root.upper_edge" in out
    assert code == 0 and out.endswith("all is well\n")


def test_only_what_trains_needs_torch():
    """`pip install .` leaves it out; what trains, tests and draws the documentation brings it, at
    the version of the documents.
    """
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert not any(text.startswith("torch") for text in stated["dependencies"])
    extras = stated["optional-dependencies"]
    assert [
        name for name, texts in extras.items() if any(text.startswith("torch") for text in texts)
    ] == ["verify"]
    assert all(
        any("verify" in text for text in extras[name] if "attention-erm[" in text)
        for name in ("test", "docs")
    )
    assert re.search(r"^torch==", (ROOT / "constraints.txt").read_text(), re.M)
    main_job = (
        (ROOT / "README.md").read_text().split("<!-- main job -->")[1].split("<!-- end -->")[0]
    )
    assert "-e '.[verify]'" in main_job and main_job.strip().endswith("-m verify\n```")


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (
            "curve --alpha 1 --kapa0 .5 --lambda .1",
            "numeric curve: --kapa0: unknown option; use --kappa0; see ",
        ),
        ("curve --alpha=1 --xyzzy=1", "numeric curve: --xyzzy: unknown option; see "),
        (
            "curve --alpha 1 --hold 1",
            "numeric curve: --hold: unknown option; see ",
        ),  # and not --help
        ("--vresion", "numeric: --vresion: unknown option; use --version; see "),
        ("curv --alpha 1", "'curv': unknown command; use curve"),
        (
            "threshold interpolaton",
            ": 'interpolaton' is none of the choices; use interpolation; see ",
        ),
        (
            "exponents --gamma 1 --model tied_atention",
            "--model 'tied_atention': is not a generated model; use tied_attention, or ",
        ),
    ],
)
def test_a_mistyped_option_is_named_with_what_is_like_it(line, named, said):
    """What was missing without it was asked for instead, or "unrecognized arguments" of the whole
    program.
    """
    code, out, err = said(*line.split())
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert named in err


def without_torch(*arguments):
    """`python -m verify ...` where torch is not installed."""
    without = (
        "import sys, runpy; sys.modules['torch'] = None; sys.argv[0] = 'verify'; "
        "runpy.run_module('verify', run_name='__main__')"
    )
    return subprocess.run(
        [sys.executable, "-c", without, *arguments], cwd=ROOT, capture_output=True, text=True
    )


def test_who_reads_help_or_is_refused_waits_for_no_torch():
    """It takes seconds to load. All in one process, as the rest takes one, too."""
    script = """
import contextlib, shlex, sys
from verify.cli import lazy_torch
lazy_torch.install_lazy_torch()
from attention_erm.cli.parser import commands
from attention_erm.runtime.errors import InvalidParameter
from verify.__main__ import build_parser, main
for arguments in (
    ["curve", "--alpha", "1", "--runs", "1"], ["models", "--dim", "20"],
    ["gap", "--dim", "24"], ["sweep", "none"],
):
    with contextlib.suppress(InvalidParameter):
        main(arguments)
    assert "Tensor" not in vars(sys.modules["torch"])
for arguments in (
    ["--help"], ["--version"], ["--print-completion", "bash"], ["sweep", "--help"],
    ["curve", "--alhpa", "1"],
):
    print("begun", *arguments)
    with contextlib.suppress(SystemExit):
        main(arguments)
for command in commands(build_parser()).values():
    example = command.epilog.partition("-m verify ")[2].partition(" > ")[0]
    build_parser().parse_args(shlex.split(example))
assert not [name for name in sys.modules if name.startswith("torch.")]
assert lazy_torch.has_torch()
import torch
print("begun torch", torch.zeros(2).tolist(), sep="\\n")
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert (
        done.returncode == 0
        and "--alhpa: unknown option" in done.stderr
        and done.stderr.count("\n") == 1
    )
    said = [part.splitlines() for part in done.stdout.split("begun ")[1:]]
    asked = [
        "--help",
        "--version",
        "--print-completion bash",
        "sweep --help",
        "curve --alhpa 1",
        "torch",
    ]
    assert [lines[0] for lines in said] == asked
    assert [len(lines) > 1 for lines in said] == [True, True, True, True, False, True]


@pytest.mark.parametrize(
    "arguments", [pytest.param([], marks=pytest.mark.slow), ["curve", "--alpha", "1"]]
)
def test_training_without_torch_says_in_a_line_what_to_install(arguments):
    done = without_torch(*arguments)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "torch" in done.stderr and "'.[verify]'" in done.stderr


def test_doctor_gives_advice(said, monkeypatch, tmp_path):
    """A library that is missing, a folder that cannot be written to, generated code that was
    edited.
    """
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "structure.json").write_text("{}")
    (folder / "float64.py").write_text("edited")
    (folder / "MANIFEST.json").write_text(json.dumps({"files": {"float64.py": "0" * 16}}))
    assert installation._state(folder) == "float64.py differs from its digest in the manifest"
    (folder / "float64.py").unlink()
    assert installation._state(folder) == "float64.py is missing"
    for text in ("{", "[]", '{"files": null}', '{"files": [1]}'):
        (folder / "MANIFEST.json").write_text(text)
        assert installation._state(folder) == "has no manifest that can be read"
    for name in ("../../secret", "/etc/passwd", "../shared/../../x"):
        (folder / "MANIFEST.json").write_text(json.dumps({"files": {name: "0" * 16}}))
        rule = f"the manifest lists {name!r}, which is outside generated/"
        assert installation._state(folder) == rule
    monkeypatch.setattr(installation, "_generated", lambda: {"model": "float64.py is missing"})
    monkeypatch.setattr(caches, "folders", lambda: {"/cache": {"writable": "no"}})
    code, out, _ = said("doctor")
    assert code == 1
    assert (
        "run python -m derive gen model" in out
        and "set NUMBA_CACHE_DIR" in out
        and "all is well" not in out
    )
    monkeypatch.setattr(
        installation, "installed", lambda name: installation.ABSENT if name == "numba" else "1.14.5"
    )
    code, out, _ = said("doctor")
    assert code == 1 and "numba not installed: " in out and "kernel" not in out
