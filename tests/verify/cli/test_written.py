"""What commands of verify write can stand alone: each figure beside its data, each document and
page with its provenance.
"""

import csv
import errno
import json
import os
import shlex
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from PIL import Image

from attention_erm.cli.exit import run_to_exit
from attention_erm.runtime import provenance
from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.text_table import WIDTH
from verify.__main__ import build_parser, main
from verify.core.options import output_folder, result_store
from verify.core.output import write_document, write_figures
from verify.core.scores import BAND
from verify.report.gallery import Shown, gallery_page
from verify.report.html import how_to_repeat
from verify.studies.learning_curves import campaigns

SMALL = ["--alpha", "1,2", "--dim", "12,18", "--runs", "2", "--workers", "1", "--noise", "1"]


@pytest.fixture(scope="module")
def curve(tmp_path_factory):
    """A folder with table and figure of a curve, and the line that made them."""
    folder = tmp_path_factory.mktemp("curve")
    line = [
        "curve",
        *SMALL,
        "--out",
        str(folder),
        "--csv",
        f"{folder}/curve.csv",
        "--plot",
        f"{folder}/curve.png",
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(campaigns, "CURVE_POINTS", 4)
        main(line)
    return folder, line


def test_a_curve_is_written_as_table_and_figure_that_stand_alone(curve):
    folder, line = curve
    document = json.loads((folder / "curve.json").read_text())
    with (folder / "curve.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    said = document["provenance"]
    assert shlex.split(said["command"]) == ["python", "-m", "verify", *line]
    assert said["arguments"]["target"] == "deterministic" and said["arguments"]["lambda"] == "1/100"
    assert {row["command"] for row in rows} == {said["command"]}
    assert {name: rows[0][name] for name in document["parameters"]} == document["parameters"]
    sizes = [(point, size) for point in document["points"] for size in point["sizes"]]
    assert len(rows) == len(sizes) == 16  # quantities, points, sizes
    for row, (point, size) in zip(rows, sizes, strict=True):
        assert (row["quantity"], float(row["alpha"]), int(row["dim"])) == (
            point["quantity"],
            point["alpha"],
            size["dim"],
        )
        assert (float(row["trained"]), float(row["theory"])) == (size["simulation"], size["theory"])
        assert float(row["z"]) == point["z"]
        assert row["verdict"] == ("agrees" if abs(point["z"]) < BAND else "DISAGREES")
        assert row["theory_status"] == point["theory_status"] == "converged"
    alphas = [point["alpha"] for point in document["line"]]
    assert len(alphas) == 4 and alphas[0] < 1 and alphas[-1] > 2
    text = Image.open(folder / "curve.png").text
    assert (
        text["Description"] == said["command"] and json.loads(text["Comment"]) == said["arguments"]
    )


def test_a_curve_is_printed_as_a_table_that_fits_a_terminal(curve, capsys):
    folder, _ = curve
    main(["curve", *SMALL, "--out", str(folder)])
    table, _, lines = capsys.readouterr().out.partition("sequences m: ")
    stated, header, *rows, of_residual = table.splitlines()
    assert (
        stated
        == "kappa0 1/2, width 1, lambda 1/100, noise 1, T 2, beta 1, beta0 1; sequences, factorised"
    )
    assert (
        of_residual
        == "z and mean refer to the residual of a point, extrapolated to infinite d by a + c/d"
    )
    assert max(len(stated), len(of_residual)) <= WIDTH
    assert header.split() == [
        *(
            "alpha",
            "quantity",
            "dim",
            "runs",
            "trained",
            "standard_error",
            "theory",
            "z",
            "verdict",
        ),
    ]
    assert len(rows) == 16 and max(map(len, (header, *rows))) <= WIDTH
    assert lines


def test_a_curve_of_another_model_has_a_page_instead(tmp_path):
    for option in ("--csv", "--plot"):
        with pytest.raises(
            InvalidParameter, match=f"{option} .*: is for tied attention; leave it out: a page"
        ):
            main(["curve", "--model", "quadratic_network", option, str(tmp_path / "curve.png")])


def test_figures_of_a_command_carry_its_line_and_lie_beside_their_data(tmp_path):
    build_parser().parse_args(["gap", "--alpha", "1/3"])
    write_figures(tmp_path, "gap", {"agrees": True}, {"gap": Figure, "closer": Figure})
    assert {path.name for path in tmp_path.iterdir()} == {
        *("gap.png", "gap.pdf", "closer.png", "closer.pdf", "gap.json"),
    }
    document = json.loads((tmp_path / "gap.json").read_text())
    assert (
        document["agrees"]
        and document["provenance"]["command"] == "python -m verify gap --alpha 1/3"
    )
    for name in ("gap", "closer"):
        assert (
            Image.open(tmp_path / f"{name}.png").text["Description"]
            == "python -m verify gap --alpha 1/3"
        )
        assert b"python -m verify gap" in (tmp_path / f"{name}.pdf").read_bytes()


def test_pages_say_how_to_repeat_them(monkeypatch):
    monkeypatch.setattr(provenance, "commit", lambda: "c0ffee")
    build_parser().parse_args(["figures", "--only", "1", "--seed", "7"])
    shown = {"1": Shown("title", b"", True, ("line\n",), 1.0)}
    for text in (how_to_repeat(), gallery_page(shown)):
        for part in (
            "python -m verify figures --only 1 --seed 7",
            "c0ffee",
            "seed = 7",
            "target = deterministic",
        ):
            assert part in text


def test_a_folder_is_made_at_the_first_write(tmp_path):
    """A command that was refused after it had made one left it."""
    folder = output_folder(tmp_path / "new" / "folder")
    assert not list(tmp_path.iterdir())
    write_document(folder / "one.json", {"agrees": True})
    assert json.loads((folder / "one.json").read_text())["agrees"]
    with pytest.raises(InvalidParameter, match=r"cannot be written \(Not a directory"):
        output_folder(folder / "one.json")


def test_a_disk_that_refuses_a_report_keeps_the_runs_and_says_so(monkeypatch, capsys):
    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "report/index.html")

    monkeypatch.setattr("verify.cli.study.run_study", refuse)
    with pytest.raises(SystemExit, match="1"):
        run_to_exit(lambda: main(["curve", "--alpha", "1"]))
    line = (
        "failed: report/index.html: cannot be written (No space left on device); "
        "finished runs are stored: make room and start again"
    )
    assert capsys.readouterr().err == f"{line}\n"


def test_a_folder_that_takes_no_file_is_refused_before_any_work(tmp_path, monkeypatch):
    """The system calls /proc writable; where a link leads nowhere no folder can be made in its
    place. Both were tracebacks.
    """
    monkeypatch.chdir(tmp_path)
    Path("link").symlink_to("nowhere")
    for folder, said in (("/proc/x/y", "No such file or directory"), ("link/x", "Not a directory")):
        with pytest.raises(
            InvalidParameter, match=rf"--out {folder}: cannot be written \({said}\)"
        ):
            output_folder(folder)
        with pytest.raises(InvalidParameter, match=rf"cannot be written \({said}\)"):
            result_store(Path(folder))
