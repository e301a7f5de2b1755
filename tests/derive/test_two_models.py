"""New model files and the comparison of two models: written from each shipped model, and equal to
it in every equation.
"""

import importlib
import json
import re
import sys
from dataclasses import replace

import pytest
import sympy as sp

from derive import models
from derive.__main__ import main
from derive.language.setting import Setting
from derive.models import available, load
from derive.pipeline import derive, functions
from derive.tools import new_model, two_models

NEW = "written_by_a_test"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder in which new models are written; it hides files of the same name from what is
    not loaded yet.
    """
    load("quadratic_network")
    monkeypatch.setattr(models, "__path__", [str(tmp_path), *models.__path__])
    importlib.invalidate_caches()
    yield tmp_path
    sys.modules.pop(f"derive.models.{NEW}", None)


def run(capsys, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["derive", *arguments])
    monkeypatch.setattr(
        "derive.cli.catalogue._cores", lambda: 1
    )  # this process derives a model once for all tests
    try:
        code = main()
    except SystemExit as stop:
        code = stop.code
    return code, *capsys.readouterr()


@pytest.mark.parametrize("base", available())
def test_a_new_file_is_short_and_states_what_its_model_does(base, folder):
    path = new_model.write(NEW, new_model.source(NEW, load(base)))
    lines = [line for line in path.read_text().split('"""')[2].splitlines() if line.strip()]
    assert sum(not line.strip().startswith("#") for line in lines) <= 30
    assert sum(line.strip().startswith("#") for line in lines) >= 5
    importlib.invalidate_caches()
    assert two_models.model_parts(load(NEW)) == two_models.model_parts(load(base))


def test_a_new_file_declares_settings_and_takes_functions_of_its_model(folder, model_file):
    model_file(
        "base_of_a_test",
        "from dataclasses import replace\n"
        "from derive.language.channel import Channel\n"
        "from derive.language.setting import setting\n"
        "from derive.models.quadratic_network import MODEL as BASE\n"
        "size = setting('size', 'of a difference', '1/3 1/2 3', unit='index')\n"
        "def output(h):\n    return [h[0, 0]]\n"
        "MODEL = replace(BASE, name='base_of_a_test', title='a \"quoted\" title', channel="
        "Channel(output, lambda o, y: (o[0] - y[0]) ** 2 / size))\n",
    )
    new_model.write(NEW, new_model.source(NEW, load("base_of_a_test")))
    importlib.invalidate_caches()
    new, base = load(NEW), load("base_of_a_test")
    assert (
        new.loss_of_numbers == base.loss_of_numbers and new.output_of_index == base.output_of_index
    )
    (own,) = (symbol for symbol in new.settings if isinstance(symbol, Setting))
    assert own.declaration == ("size", "of a difference", "index", "(0, inf)", "1/3 1/2 3")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("tied_attention", "a model of this name exists"),
        ("no-name", "Python name"),
        ("class", "keyword of Python"),
        ("shared", "taken"),
    ],
)
def test_names_that_cannot_be_used_are_refused(name, words, folder, capsys, monkeypatch):
    (folder / "tied_attention.py").write_text("kept")
    code, out, err = run(capsys, monkeypatch, "new", name, "--from", "quadratic_network")
    assert code == 2 and out == "" and words in err and err.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == ["tied_attention.py"]
    assert (folder / "tied_attention.py").read_text() == "kept"


def test_equations_of_two_models_are_compared(capsys, monkeypatch):
    code, out, _ = run(
        capsys, monkeypatch, "diff", "quadratic_network", "linear_attention", "--json"
    )
    rows = {row["name"]: row for row in json.loads(out)["rows"]}
    assert code == 0
    both = [
        {i for _, f in functions(derive(load(name))) for i in f.equation_ids()}
        for name in ("quadratic_network", "linear_attention")
    ]
    assert both[0] | both[1] <= rows.keys()
    for name, row in rows.items():
        if name in both[0] ^ both[1]:
            assert row["verdict"].startswith("only in")
    assert rows["overlaps.m"]["verdict"] == rows["interpolation_ratio"]["verdict"] == "same"
    M = rows["closed_envelope.M"]
    assert M["verdict"] == "differ"
    assert sp.simplify(3 * sp.sympify(M["first"]) - sp.sympify(M["second"])) == 0


def test_text_prints_both_sides_and_counts_the_rest(capsys, monkeypatch):
    _, out, _ = run(capsys, monkeypatch, "diff", "signed_quadratic_network", "quadratic_network")
    lines = out.splitlines()
    assert not lines[0].startswith(" ")  # the step of what comes first
    where = lines.index("  class of the matrix: differ")
    assert lines[where + 1 : where + 3] == [
        "    signed_quadratic_network: symmetric",
        "    quadratic_network: positive",
    ]
    same, differ, first, second = (int(part.split()[0]) for part in lines[-1].split(", "))
    assert same > 80 and differ == sum(line.endswith(": differ") for line in lines)
    assert max(map(len, lines)) <= 100
    alone = re.findall(r"^  only in (\w+): (.*(?:\n {6}.*)*)", out, re.MULTILINE)
    for model, count in (("signed_quadratic_network", first), ("quadratic_network", second)):
        assert sum(len(names.split(",")) for name, names in alone if name == model) == count > 0


def test_the_same_expression_in_another_form_is_the_same():
    """Text differs, the value does not: (x + 1)^2 is x^2 + 2 x + 1."""
    x = load("quadratic_network").settings[0]
    one, other, third = (
        two_models.Equation("step", "name", "", e) for e in ((x + 1) ** 2, x**2 + 2 * x + 1, x**2)
    )
    assert two_models.expressions_equal(one, other) and not two_models.expressions_equal(one, third)
    (_, function), *_ = functions(derive(load("quadratic_network")))
    with_code = [replace(equation, function=function) for equation in (one, other, third)]
    assert two_models.expressions_equal(*with_code[:2]) and not two_models.expressions_equal(
        *with_code[1:]
    )
    assert two_models.expressions_equal(with_code[0], other) and two_models.expressions_equal(
        one, with_code[1]
    )  # of one there is code


@pytest.mark.parametrize(
    "names", [["tied_attention"], ["tied_attention"] * 2, ["nowhere", "tied_attention"]]
)
def test_what_cannot_be_compared_is_refused(names, capsys, monkeypatch):
    code, out, err = run(capsys, monkeypatch, "diff", *names)
    assert code == 2 and out == "" and err.count("\n") == 1
