"""What a mistyped or misplaced argument says: one line, the way out, exit code 2."""

import itertools
import re
import subprocess
import sys

import pytest

from attention_erm.cli.messages import toml_hint
from attention_erm.runtime.errors import InvalidParameter
from numeric.__main__ import build_parser
from numeric.cli.arguments import grid

CURVE = "curve --kappa0 1/2 --noise 1/2 "


def said(line, capsys):
    """The line on stderr of a command that is refused."""
    try:
        build_parser().parse_args(line if isinstance(line, list) else line.split())
    except InvalidParameter as error:
        return str(error.as_option())
    except SystemExit as error:
        assert error.code == 2
        return capsys.readouterr().err
    raise AssertionError("was taken")


@pytest.mark.parametrize(
    ("line", "way_out"),
    [
        ("--alpha .5 --lambda .05 --kappa 1/2", "use --width (.*) or --kappa0"),
        ("--alpha .5 --lambda .05 --Delta 1", "use --noise"),
        ("--alpha .5 --lamda .05", "use --lambda"),
        ("--alph .5 --lambda .05", "use --alpha"),
        ("--alpha .5 --lambda .05,.1", "must be one number; .*numeric sweep"),
        ("--alpha .5 --lambda .05:1:3", "must be one number; .*numeric sweep"),
        ("--alpha .5 1 --lambda .05", "1: belongs to no option; .* --alpha .5,1"),
        ("--alpha .5 --lambda .05 --json 3", "3: belongs to no option; leave it out"),
        ("--alpha 1:1:5 --lambda .05", "a grid must end at another value"),
        ("--alpha 1:1.0000000000000000001:5 --lambda .05", "closer than numbers of double"),
    ],
)
def test_a_mistyped_argument_says_its_way_out(line, way_out, capsys):
    assert re.search(way_out, said(CURVE + line, capsys))


def test_values_without_commas_are_written_with_them(capsys):
    words = [*CURVE.split(), "--lambda", "1", "--alpha", "0.5 1"]
    assert "write 0.5,1" in said(words, capsys)


@pytest.mark.parametrize("tolerance", ["2", "0", "1e-9", "1"])
def test_a_tolerance_outside_its_range_is_refused(tolerance, capsys):
    line = f"optimal-lambda --alpha 1 --kappa0 1/2 --noise 1/2 --tolerance {tolerance}"
    assert "must lie from 1e-6 to 0.5" in said(line, capsys)


def test_a_number_of_toml_needs_a_digit_before_its_point():
    text = "kappa0 = 1\nnoise = .5\n"
    assert toml_hint(text, "Invalid value (at line 2, column 9)", "else") == (
        "write 0.5 in place of .5"
    )
    assert toml_hint(text, "Invalid value (at line 1, column 9)", "else") == "else"


def test_a_list_outside_product_names_product(tmp_path):
    study = tmp_path / "study.toml"
    study.write_text("kappa0 = 0.5\nnoise = 0.5\nlambda = [0.05, 0.1]\n[product]\nalpha = [1, 2]\n")
    done = subprocess.run(
        [sys.executable, "-m", "numeric", "sweep", study], capture_output=True, text=True
    )
    assert done.returncode == 2 and "under [product]" in done.stderr


def test_points_of_a_narrow_grid_do_not_fall_together():
    assert [float(value) for value in grid("--alpha")("0.374999:0.375001:5")] == [
        0.374999,
        0.3749995,
        0.375,
        0.3750005,
        0.375001,
    ]
    many = grid("--alpha")("1:1.00001:1000")
    steps = [float(b - a) for a, b in itertools.pairwise(many)]
    assert min(steps) > 0 and max(steps) < 1.01 * min(steps)
