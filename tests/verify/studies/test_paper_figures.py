"""The gallery: every figure of the paper has a name, sizes, and a place on the page; what one
disagrees about, the command says.
"""

import json
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from attention_erm.runtime.errors import InvalidParameter
from verify.__main__ import build_parser, main
from verify.cli.figure import request
from verify.cli.paper_figures import FIGURES
from verify.core.paper_figure import PaperFigure, Request
from verify.core.section import Section, ShownFigure


def fake(name="fake", agrees=True):
    """Return a figure that trains nothing and takes no time."""

    def steps(plan, folder):
        assert (yield []) == [] and plan.sizes == ()
        return agrees

    def show(outcome):
        figures = {name: ShownFigure("a < b", Figure)}
        return Section("a < b", outcome, ("z < 4\n",), {"value": 1.5}, figures=figures)

    return PaperFigure("a < b", (), (), lambda request: request, steps, show)


def test_the_paper_is_complete_and_in_its_order():
    numbers = [int(name) for name in FIGURES if name.isdigit()]
    assert numbers == sorted(numbers)
    assert {1, 2, 3, 4, 5, 6, 10, 11} <= set(numbers)
    assert all(figure.title for figure in FIGURES.values())


def test_the_strongest_decay_of_figure_four_lets_a_student_learn():
    """lambda = sqrt(d) needs n of about d^2: the derived boundary of the cell where nothing is
    learned.
    """
    plan = FIGURES["4"].plan(Request(Path(), ((20, 2),)))
    assert {decay.name for decay in plan.decays} == {"1/d", "1", "sqrt(d)"}
    assert max(plan.alphas) > 10


def test_all_figures_are_written_with_a_page(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(FIGURES, "1", fake())
    monkeypatch.setitem(FIGURES, "2", fake("other", agrees=False))
    given = ["figures", "--only", "1,2,1", "--out", str(tmp_path), "--workers", "1"]
    assert main(given) == 1
    assert [line.split(",")[0] for line in capsys.readouterr().out.splitlines()[:2]] == [
        "figure 1: agrees",
        "figure 2: DISAGREES",
    ]
    page = (tmp_path / "figures.html").read_text()
    assert (
        page.count("<img") == 2
        and "a &lt; b" in page
        and "z &lt; 4" in page
        and "disagrees" in page
    )
    written = json.loads((tmp_path / "fake.json").read_text())
    assert written.pop("provenance")[
        "command"
    ] == f"python -m verify {' '.join(given)}" and written == {"value": 1.5}
    assert main([*given[:2], "1", *given[3:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["1"]["value"] == 1.5


def test_one_size_takes_the_runs_of_the_first(tmp_path):
    """`--dim 20` alone was answered by the number of runs, which nobody had given."""
    asked = build_parser().parse_args(["figure", "3", "--dim", "20", "--out", str(tmp_path)])
    assert request(FIGURES["3"], asked).sizes == ((20, FIGURES["3"].sizes(False)[0][1]),)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["figures", "--only", "1,seven"], "argument figure seven: is unknown; use one of 1,2"),
        (["figure", "1", "--style", "nosuch"], "--style nosuch: is not a style of matplotlib"),
        (
            ["figures", "--only", "1", "--style", "nosuch"],
            "--style nosuch: is not a style of matplotlib",
        ),
        (["figure", "1", "--dim", "8"], "--dim 8: is not supported by a figure without training"),
    ],
)
def test_bad_input_is_named(arguments, message, tmp_path, monkeypatch):
    monkeypatch.setitem(FIGURES, "1", fake())
    with pytest.raises(InvalidParameter, match=message):
        main([*arguments, "--out", str(tmp_path)])
