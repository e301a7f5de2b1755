"""The command line of derive: what it prints, and how it refuses bad input (one line, exit 2, no
traceback).
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from derive import __main__ as command
from derive import models
from derive.cli.commands import diff
from derive.code import emit, manifest, orphans
from derive.models import available, load
from derive.tools.diff import Change

ROOT = Path(__file__).parents[2]


@pytest.fixture
def derive(monkeypatch, capsys):
    """`python -m derive ...` in this process: exit code, stdout and stderr."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["derive", *arguments])
        try:
            code = command.main()
        except SystemExit as stop:
            code = stop.code
        return code, *capsys.readouterr()

    return run


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["explain", "no.such.equation"], "no.such.equation"),
        (["explain", "overlaps.none"], "overlaps.none"),
        (["tex", "no_such_model"], "no_such_model"),
        (["explain", "generated/tied_attention/float64.py:3"], "line 3"),
        (["explain", "generated/tied_attention/float64.py:99999"], "not 99999"),
        (["explain", "generated/tied_attention_two_bulks/float64.py:99999"], "not 99999"),
        (["explain", "nowhere.py:1"], "nowhere.py"),
        (["gen", "no_such_model"], "no_such_model"),
        (["gen", "tied_atention"], "MODEL tied_atention: no such model; use tied_attention\n"),
        (["new", "lambda", "--from", "tied_attention"], "NAME lambda: is a keyword of Python"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_unknown_names_are_refused_without_deriving(arguments, text, derive, monkeypatch):
    monkeypatch.setattr("derive.tools.explain.derive", lambda _: pytest.fail("derived"))
    code, out, err = derive(
        *arguments, "--log-level", "warning"
    )  # a busy machine may say what takes it so long
    assert code == 2 and out == ""
    assert text in err and err.count("\n") == 1


def test_a_refusal_is_one_line_of_the_process_too():
    command_line = [
        sys.executable,
        "-m",
        "derive",
        "explain",
        "no.such.equation",
        "--log-level",
        "warning",
    ]
    done = subprocess.run(command_line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no.such.equation" in done.stderr and done.stderr.count("\n") == 1


# What check proves is asserted of every model in test_generated.py, and by continuous integration;
# here is what the command says.
CLOSED, SOFTMAX = "tied_attention", "direct_symmetric"  # which other tests derive, too
QUICKEST = "direct_general"  # to derive


@pytest.mark.slow
@pytest.mark.parametrize("model", available())
def test_explain_finds_a_generated_line(model, derive):
    for path in emit.imported_shared_files(ROOT / "generated" / model):
        lines = path.read_text().splitlines()
        number = (
            next((k for k, line in enumerate(lines, 1) if line.startswith("def overlaps")), 0) + 5
        )
        if number > 5 and path.parent.name == "float64":
            break
    place = path.relative_to(ROOT)
    code, out, _ = derive("explain", f"{place}:{number}", "--json")
    document = json.loads(out)
    assert code == 0
    assert document["function"] == "overlaps"
    assert document["step"]["name"] == "reduction"
    assert [equation["id"] for equation in document["equations"]] == [
        "overlaps.m",
        "overlaps.q",
        "overlaps.V",
    ]
    assert f"{place}:{number - 5}" in document["locations"]


@pytest.mark.slow
def test_explain_knows_an_equation_that_is_not_generated_yet(derive, tmp_path, monkeypatch):
    monkeypatch.setattr(manifest, "GENERATED", tmp_path)
    code, out, _ = derive("explain", "overlaps.m")
    assert code == 0 and out.startswith("overlaps: order parameters")


@pytest.fixture
def one_process(monkeypatch):
    """This one, which derives a model once for all tests; the others are tried by interrupts."""
    monkeypatch.setattr("derive.cli.catalogue._cores", lambda: 1)


@pytest.fixture
def two_models(monkeypatch, one_process):
    """A catalogue of a closed channel and of softmax rows, which is soon derived."""
    for module in (models, diff):
        monkeypatch.setattr(module, "available", lambda: (SOFTMAX, CLOSED))
    return SOFTMAX, CLOSED


@pytest.mark.slow
def test_check_says_what_is_proven_of_models(derive, two_models):
    for name in two_models:  # a model by itself is checked in this process, which then knows it
        code, out, _ = derive("check", name)
        assert code == 0 and out.startswith(f"{name}: ") and out.count("\n") == 1
    code, out, _ = derive("check", *two_models)
    lines = out.splitlines()
    assert code == 0
    assert [line.split(":")[0] for line in lines] == list(two_models)
    assert all(
        "equal to their source" in line and "stored values reproduced" in line for line in lines
    )
    document = json.loads(derive("check", *two_models, "--json")[1])
    assert document["problems"] == []
    assert [report["model"] for report in document["models"]] == list(two_models)


def test_check_names_what_is_wrong(derive, one_process, tmp_path, monkeypatch):
    monkeypatch.setattr(models, "available", lambda: (SOFTMAX, QUICKEST))
    monkeypatch.setattr(manifest, "GENERATED", tmp_path)
    for name in SOFTMAX, QUICKEST, "shared":
        shutil.copytree(ROOT / "generated" / name, tmp_path / name)
    (tmp_path / SOFTMAX / "balls.py").unlink()
    (tmp_path / "left_over").mkdir()
    monkeypatch.setattr(orphans, "unused_shared_files", lambda: ["shared.py"])
    code, out, _ = derive("check")
    lines = out.splitlines()
    assert code == 1 and lines[:3] == [
        f"generated/{SOFTMAX}/balls.py: missing",
        "generated/left_over/: unknown model",
        "generated/shared.py: no model's code imports it",
    ]
    assert f"{SOFTMAX}: 1 problems" in lines
    assert lines[-1].startswith(f"{QUICKEST}: ") and "stored values reproduced" in lines[-1]


def test_gen_deletes_what_nobody_shares_any_more_where_all_is_up_to_date(
    derive, one_process, tmp_path, monkeypatch
):
    """It stayed until a model was written: here all that other models share."""
    monkeypatch.setattr(models, "available", lambda: (QUICKEST,))
    monkeypatch.setattr(manifest, "GENERATED", tmp_path)
    for name in QUICKEST, "shared":
        shutil.copytree(ROOT / "generated" / name, tmp_path / name)
    left = orphans.unused_shared_files()
    assert (
        left
        and derive("gen", QUICKEST)[1] == f"{QUICKEST}: up to date\n"
        and orphans.unused_shared_files() == left
    )
    deleted = ", ".join(f"{name.removeprefix('shared/')} (deleted)" for name in left)
    assert derive("gen")[1] == f"{QUICKEST}: up to date\nshared: {deleted}\n"
    assert orphans.unused_shared_files() == [] and manifest.is_current(QUICKEST)
    assert derive("gen")[1] == f"{QUICKEST}: up to date\n"


def test_list_names_equations_and_diff_finds_them_unchanged(derive, two_models):
    code, out, _ = derive("list", "--json")
    document = json.loads(out)
    assert code == 0 and list(document) == list(two_models)
    assert all(of["title"] == load(name).title for name, of in document.items())
    code, out, _ = derive("diff", "--json")
    changes = json.loads(out)
    assert code == 0
    for model, rows in changes.items():
        assert [row["equation"] for row in rows] == document[model]["equations"]
        assert {row["verdict"] for row in rows} == {"unchanged"}
    code, out, _ = derive("diff")
    counts = [(model, len(rows)) for model, rows in changes.items()]
    assert out.splitlines() == [
        f"{model}: {count} of {count} equations unchanged" for model, count in counts
    ]


def test_list_is_short_without_a_name_and_fits_a_terminal(derive):
    code, out, _ = derive("list")
    names = [line.split(":")[0] for line in out.splitlines() if not line.startswith(" ")]
    assert code == 0 and names == list(available())
    code, named, _ = derive("list", "tied_attention")
    assert code == 0 and "overlaps.m" in named and "test_error" not in out
    steps = [line.split()[0] for line in named.splitlines() if line[:2] == "  " != line[1:3]]
    assert {"reduction", "spectral"} < set(steps) and len(set(steps)) == len(
        steps
    )  # each before all of its equations
    assert max(map(len, (out + named).splitlines())) <= 100
    assert derive("list", "none_such")[0] == 2


def test_list_and_a_gen_that_has_nothing_to_do_load_no_sympy():
    """They took a second and two; a model file that changed is derived all the same, which `gen`
    into an empty folder shows.
    """
    program = (
        "import sys; sys.argv = {}; from derive.__main__ import main; code = main(); "
        "sys.exit(code or 'sympy' in sys.modules)"
    )
    for arguments in (["derive", "list", "tied_attention"], ["derive", "gen"]):
        done = subprocess.run(
            [sys.executable, "-c", program.format(arguments)],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr


def test_diff_prints_what_changed_and_counts_the_rest(derive, monkeypatch):
    found = [
        Change("overlaps.m", "unchanged"),
        Change("gain", "value changed", "x = 1: 2 -> 3"),
        Change("old", "removed"),
    ]
    monkeypatch.setattr(diff, "process_models", lambda *_: [(CLOSED, found, None)])
    code, out, _ = derive("diff")
    assert code == 0 and out.splitlines() == [
        f"{CLOSED} gain: value changed at x = 1: 2 -> 3",
        f"{CLOSED} old: removed",
        f"{CLOSED}: 1 of 3 equations unchanged",
    ]
    assert len(json.loads(derive("diff", "--json")[1])[CLOSED]) == 3


@pytest.mark.slow
def test_tex_prints_a_document(derive):
    code, out, _ = derive("tex", "tied_attention")
    assert (
        code == 0 and out.startswith("\\documentclass") and out.rstrip().endswith("\\end{document}")
    )
