"""Tables for a reader, and the grids that they are over."""

import json
from fractions import Fraction

import pytest

from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.text_table import WIDTH, table_text
from numeric.cli.arguments import PARAMETERS, grid
from numeric.cli.power_laws.scaling import decay_law

SCALING = [
    "scaling",
    "--power-law",
    "3/4",
    "--dim",
    "50",
    "--lambda",
    "1/d",
    "--samples",
    "1e3,1e5,3e6",
    "--noise",
    ".5",
]


def test_a_table_that_is_too_wide_is_printed_in_parts_that_begin_alike():
    names = [f"column_{k}" for k in range(30)]
    rows = [{name: place + k / 7 for k, name in enumerate(names)} for place in (100.0, 2e-9)]
    parts = [part.splitlines() for part in table_text(rows).split("\n\n")]
    assert len(parts) > 2 and all(len(part) == 3 for part in parts)
    assert {part[0].split()[0] for part in parts} == {"column_0"} and {
        part[2].split()[0] for part in parts
    } == {"2e-09"}
    assert [name for part in parts for name in part[0].split()[1:]] == names[1:]
    assert max(len(line) for part in parts for line in part) <= WIDTH
    assert float(parts[1][1].split()[1]) == pytest.approx(rows[0][parts[1][0].split()[1]], rel=1e-5)


def test_numbers_stand_to_the_right_and_texts_to_the_left():
    rows = [
        {"n": 10, "z": "+2.20", "status": "ok", "m": None},
        {"n": 2, "z": "-11.00", "status": "failed", "m": 1.5},
    ]
    assert table_text(rows).splitlines() == [
        " n       z  status    m",
        "10   +2.20  ok        -",
        " 2  -11.00  failed  1.5",
    ]


def test_columns_that_tell_rows_apart_begin_each_part():
    rows = [{"d": 16, "n": n, **{f"long_column_{k}": 1.0 for k in range(9)}} for n in (6, 13)]
    parts = [part.splitlines() for part in table_text(rows).split("\n\n")]
    assert (
        len(parts) == 2
        and [[line.split()[:2] for line in part] for part in parts]
        == [[["d", "n"], ["16", "6"], ["16", "13"]]] * 2
    )


def test_a_table_of_one_number_of_samples_is_told_apart_by_what_comes_next():
    """Its parts once began with the number of samples alone, the same in every row."""
    rows = [{"n": 9, "m": m, **{f"long_column_{k}": 1.0 for k in range(9)}} for m in (1, 2)]
    parts = [part.splitlines()[0].split()[:2] for part in table_text(rows).split("\n\n")]
    assert parts == [["n", "m"]] * 2
    alike = [{f"long_column_{k}": 1.0 for k in range(9)}] * 2
    assert [part.split()[0] for part in table_text(alike).split("\n\n")] == ["long_column_0"] * 2


def test_a_column_wider_than_a_terminal_is_printed_all_the_same():
    assert "x" * 200 in table_text([{"alpha": 1, "status": "x" * 200}])


def test_tables_of_scaling_fit_a_terminal_and_count_features_in_whole_numbers(numeric, tmp_path):
    table = tmp_path / "scaling.csv"
    out = numeric(*SCALING, "--csv", str(table), "--recovery", "2")
    above = out.partition("risk = ")[0].splitlines()
    assert len(above) > 8 and max(map(len, above)) <= WIDTH
    points = json.loads(numeric(*SCALING, "--json"))["points"]
    counts = [point["features"] for point in points]
    assert counts[-1] > counts[0] and all(count == round(count) for count in counts)


def test_columns_and_keys_of_documents_have_the_same_names(numeric, tmp_path):
    line = [
        "optimal-lambda",
        "--alpha",
        "1",
        "--kappa0",
        ".5",
        "--noise",
        ".5",
        "--tolerance",
        "1/5",
    ]
    header, _ = numeric(*line).splitlines()
    assert "test_error_error_bar" in header.split() and "test_error_error" not in header.split()
    (point,) = json.loads(numeric(*line, "--json"))["points"]
    assert point["test_error_error_bar"] > 0
    line = ["phase-diagram", "--gamma", "1", "--dim", "100", "--points", "1"]
    assert "log_d_n  log_d_lambda" in numeric(*line)
    (point,) = json.loads(numeric(*line, "--json"))["points"]
    assert {"log_d_n", "log_d_lambda"} <= point.keys()


def test_linear_grids_are_exact_and_geometric_ones_are_the_default():
    parse = grid("--alpha")
    assert parse("0.1:1:10:linear") == tuple(Fraction(k, 10) for k in range(1, 11))
    assert parse("1:2:4:linear") == (1, Fraction(4, 3), Fraction(5, 3), 2)
    assert parse("1:100:3") == parse("1:100:3:geometric") == (1, 10, 100)
    assert parse("2:1:3 : linear") == (2, Fraction(3, 2), 1)


@pytest.mark.parametrize("text", ["1:2:3:log", "1:2:3:", "1:2:3:4", "1:2:3:linear:1", "1:2"])
def test_other_grids_are_refused_with_what_a_grid_is(text):
    with pytest.raises(InvalidParameter, match="first:last:count, with :linear or :geometric"):
        grid("--alpha")(text)


def test_the_notice_of_an_upper_bound_fits_a_terminal(numeric):
    notice = numeric(
        *["threshold", "interpolation", "--kappa0", "1/5", "--noise", "1/5", "--width", "3/10"]
    )
    assert "upper bound" in notice and "51/400 = 0.1275" in notice
    assert max(map(len, notice.splitlines())) <= WIDTH


@pytest.mark.parametrize("text", ["1/n", "n^-1", "1/N", "1/(2 d)", "log(d)", "inf", "half"])
def test_a_law_of_weight_decay_that_is_none_is_answered_with_what_is_accepted(text):
    with pytest.raises(
        InvalidParameter,
        match=r"is neither a number nor a power of d; give a number, 1/d, sqrt\(d\) or d\^p",
    ):
        decay_law(text)


def test_a_curve_says_where_laws_of_weight_decay_are_taken():
    with pytest.raises(
        InvalidParameter, match=r"write it as 0.05, 5e-2 or 1/20; 1/d and d\^p are taken by scaling"
    ):
        PARAMETERS["lambda_"][1]("1/d")


def test_laws_of_weight_decay_that_are_accepted():
    found = [
        decay_law(text).at(100)
        for text in ("1/d", "sqrt(d)", "d^(-3/2)", "1e-3", "1E-3", "1/20", ".5")
    ]
    assert found == pytest.approx([0.01, 10, 1e-3, 1e-3, 1e-3, 0.05, 0.5])
