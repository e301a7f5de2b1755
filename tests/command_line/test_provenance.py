"""Whatever a command writes says of itself which command repeats it, with which arguments, and of
which code it is.
"""

import csv
import json
import shlex
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from attention_erm.cli.exit import run_to_exit
from attention_erm.runtime import provenance
from numeric import __main__ as command
from numeric.cli.output import save, write_table
from numeric.plotting.caption import add_caption, caption_of

ROOT = Path(__file__).parents[2]
CURVE = ["curve", "--alpha", "0.5,1", "--kappa0", ".5", "--lambda", ".01", "--noise", ".5"]


def rows_of(path):
    """Records of a table."""
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture
def known_code(monkeypatch):
    """A version and a commit that no other code has."""
    monkeypatch.setattr(provenance, "__version__", "9.8.7")
    monkeypatch.setattr(provenance, "commit", lambda: "c0ffee")


def test_table_document_and_figure_of_a_curve_stand_alone(numeric, tmp_path, known_code):
    table, figure = tmp_path / "curve.csv", tmp_path / "curve.png"
    line = [*CURVE, "--csv", str(table), "--plot", str(figure), "--json"]
    document = json.loads(numeric(*line))
    said = document["provenance"]
    assert shlex.split(said["command"]) == ["python", "-m", "numeric", *line]
    assert (said["version"], said["commit"]) == ("9.8.7", "c0ffee")
    assert (
        said["arguments"]["alpha"] == ["1/2", "1"] and said["arguments"]["beta0"] == "1"
    )  # stated or not
    assert document["parameters"]["accuracy"] == "0.0001"
    assert (
        json.loads((tmp_path / "curve.json").read_text()) == document
    )  # what is drawn, beside the figure
    first, second = rows_of(table)
    for row in (first, second):
        assert (row["version"], row["commit"], row["command"]) == (
            "9.8.7",
            "c0ffee",
            said["command"],
        )
        assert {name: row[name] for name in document["parameters"]} == document["parameters"]
    assert float(second["m"]) == document["points"][1]["m"]
    assert float(second["test_error_error_bar"]) == document["points"][1]["errors"]["test_error"]
    text = Image.open(figure).text
    assert (
        text["Description"] == said["command"]
        and "9.8.7" in text["Software"]
        and "c0ffee" in text["Software"]
    )
    assert json.loads(text["Comment"]) == {
        **said["arguments"],
        **document["parameters"],
    }  # the accuracy aimed at, too


@pytest.mark.parametrize("cut", [False, True])
def test_what_an_interrupt_cut_short_says_so_and_nothing_else_does(cut, tmp_path, monkeypatch):
    """Three points of sixty had the provenance of all sixty, and nothing else."""
    monkeypatch.setattr("attention_erm.runtime.interrupts.interrupted", lambda: cut)
    figure, table = Figure(), tmp_path / "points.csv"
    add_caption(figure, "settings")
    write_table(table, [{"alpha": 1.0}], {})
    (row,) = rows_of(table)
    assert json.loads(provenance.document_text({"points": []})).get("interrupted", False) is cut
    assert row.get("interrupted") == ("True" if cut else None)
    assert caption_of(figure) == "settings" + (
        "; interrupted before it had finished" if cut else ""
    )


def test_the_command_repeats_the_numbers(numeric, tmp_path):
    """Options of a file stand in it, too: the file may have changed since."""
    file = tmp_path / "options.toml"
    file.write_text('kappa0 = 0.5\nlambda = "1/20"\n')
    first = json.loads(
        numeric("curve", "--config", str(file), "--alpha", "1", "--noise=.5", "--json")
    )
    file.unlink()
    again = json.loads(numeric(*shlex.split(first["provenance"]["command"])[3:]))
    assert again["points"] == first["points"] and again["parameters"] == first["parameters"]
    assert "--config" not in first["provenance"]["command"]


@pytest.mark.parametrize("abbreviated", ["--config={}", "--config {}"])
def test_a_file_of_options_is_replaced_by_what_it_states(abbreviated, tmp_path):
    file = tmp_path / "options.toml"
    file.write_text("noise = 0.25\n")
    line = ["curve", *abbreviated.format(file).split(), *CURVE[1:-2]]
    command.build_parser().parse_args(line)
    assert provenance.current().command == shlex.join(
        ["python", "-m", "numeric", "curve", "--noise=0.25", *CURVE[1:-2]]
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["threshold", "recovery", "--kappa0", "1/2", "--digits", "5"],
        ["exponents", "--gamma", "3/4"],
        ["recovery", "--kappa0", "1/2"],
        ["phase-diagram", "--gamma", "1"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_every_document_has_its_provenance(arguments, numeric):
    document = json.loads(numeric(*arguments, "--json"))
    said = document["provenance"]
    assert 0 <= document.get("seconds", 0.0) < 600
    assert said["command"] == shlex.join(["python", "-m", "numeric", *arguments, "--json"])
    assert said["arguments"]["json"] is True and said["version"]


def test_pdf_and_svg_carry_it_and_are_equal_files_for_equal_results(tmp_path, known_code):
    command.build_parser().parse_args(CURVE)
    for suffix in ("pdf", "svg"):
        contents = []
        for name in ("a", "b"):
            figure = Figure()
            figure.subplots().plot([1, 2], [3, 4])
            save(figure, tmp_path / f"{name}.{suffix}", {})
            contents.append((tmp_path / f"{name}.{suffix}").read_bytes())
        assert (
            b"c0ffee" in contents[0]
            and b"numeric curve" in contents[0]
            and b"kappa0" in contents[0]
        )
        if suffix == "pdf":
            assert contents[0] == contents[1]
        else:
            assert b"dc:date" not in contents[0]


def test_in_a_program_of_one_s_own_there_is_no_command():
    program = (
        "from attention_erm.runtime import provenance; found = provenance.current(); "
        "print(found.command, found.arguments, found.version)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["None", "{}", provenance.__version__]


def test_the_commit_is_that_of_the_checkout_and_says_where_files_were_changed(
    tmp_path, monkeypatch
):
    def git(*words):
        names = ["-c", "user.name=a", "-c", "user.email=a@b"]
        done = subprocess.run(
            ["git", *names, *words], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    (tmp_path / "file").write_text("as it was")
    git("init", "-q")
    git("add", "file")
    git("commit", "-q", "-m", "first")
    head = git("rev-parse", "HEAD")
    assert provenance.commit.__wrapped__() == head
    (tmp_path / "file").write_text("changed")
    assert provenance.commit.__wrapped__() == f"{head}-dirty"


def test_a_repository_around_an_installation_is_not_taken_for_that_of_the_code(
    tmp_path, monkeypatch
):
    """As that of a user, in whose environment it is installed."""
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    packages = tmp_path / "site-packages"
    packages.mkdir()
    monkeypatch.setattr(provenance, "ROOT", packages)
    assert provenance.commit.__wrapped__() is None


def test_pip_tells_of_the_commit_that_it_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "ROOT", tmp_path)

    class Installed:
        def read_text(self, name):
            return json.dumps({"url": "a", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}})

    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Installed())
    assert provenance.commit.__wrapped__() == "c0ffee"


def test_the_data_of_a_figure_replace_no_table(numeric, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        sys,
        "argv",
        ["numeric", *CURVE, "--csv", f"{tmp_path}/a.json", "--plot", f"{tmp_path}/a.png"],
    )
    with pytest.raises(SystemExit) as stop:
        run_to_exit(command.main)
    assert (
        stop.value.code == 2
        and "one is the file of --csv; name two files" in capsys.readouterr().err
    )
    assert list(tmp_path.iterdir()) == []


def test_a_parameter_that_is_a_column_is_not_repeated(tmp_path):
    path = tmp_path / "table.csv"
    write_table(path, [{"width": 1, "recovery": "2"}], {"width": "x", "tokens": [2, 3]})
    header, row = path.read_text().splitlines()
    assert header == "width,recovery,tokens,version,commit,command"
    assert row.startswith('1,2,"2,3",')


ALONG = ["--alpha", "0.5,2", "--kappa0", ".5", "--noise", ".5"]
DRAWN = [
    ["curve", *ALONG, "--lambda", ".05"],
    ["spectrum", "--alpha", ".5", *ALONG[2:], "--lambda", ".05"],
    ["cost", *ALONG, "--lambda", ".05"],
    ["decompose", *ALONG, "--lambda", ".05"],
    ["recovery", "--kappa0", "1/4,1/2", "--width", "1,3/4"],
    pytest.param(["optimal-lambda", *ALONG, "--tolerance", "1/5"], marks=pytest.mark.slow),
    [
        "scaling",
        "--power-law",
        "3/4",
        "--dim",
        "50",
        "--lambda",
        "1/d",
        "--samples",
        "1e3,1e4,1e5",
        "--noise",
        ".5",
    ],
]


@pytest.mark.parametrize("arguments", DRAWN, ids=lambda arguments: arguments[0])
def test_every_number_that_is_drawn_is_in_the_data_beside_the_figure(
    arguments, numeric, tmp_path, monkeypatch
):
    drawn = []
    written = Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda self, *a, **k: (drawn.append(self), written(self, *a, **k))
    )
    numeric(*arguments, "--plot", str(tmp_path / "figure.png"))
    document = json.loads((tmp_path / "figure.json").read_text())
    assert (
        0 <= document.get("seconds", 0.0) < 600
    )  # what the command took, not since when the machine runs
    known = np.unique([*numbers_of(document)])
    (figure,) = drawn
    seen = np.concatenate(
        [line.get_xydata().ravel() for axes in figure.axes for line in axes.lines if of_data(line)]
    )
    seen = seen[np.isfinite(seen)]
    nearest = known[np.abs(known[None] - seen[:, None]).argmin(axis=1)]
    assert len(seen) >= 8 and seen == pytest.approx(nearest, rel=1e-9, abs=1e-12)


def of_data(line):
    """Whether both coordinates are data: the height of an arrow at a mass is a share of the
    panel's.
    """
    return line.get_transform() == line.axes.transData


def numbers_of(value):
    """All numbers of a document, texts that are some, too; of a decomposition also what its parts
    are of the test error.
    """
    if isinstance(value, dict):
        if "rate" in value:
            yield from (
                value["rate"] * value[name]
                for name in ("overfitting", "underfitting", "approximation")
            )
        for part in value.values():
            yield from numbers_of(part)
    elif isinstance(value, list):
        for part in value:
            yield from numbers_of(part)
    elif value is not None:
        try:
            yield float(Fraction(value))
        except (ValueError, TypeError):
            return
