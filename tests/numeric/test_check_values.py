"""Stored reference values: thresholds to the last digit, curves within their stated uncertainty."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from numeric.problem import Problem
from numeric.saddle import solve
from numeric.thresholds import interpolation, recovery

VALUES = json.loads((Path(__file__).parents[1] / "check_values.json").read_text())


def digits(value: str) -> int:
    return len(value.replace(".", "").lstrip("0"))


@pytest.mark.parametrize(
    "row", [row for row in VALUES["thresholds"] if row["kappa"] == 1], ids=lambda row: f"{row['kind']}-{row['kappa0']}"
)
def test_thresholds_to_the_last_digit(row):
    count = digits(row["value"])
    if row["kind"] == "interpolation":
        found = interpolation(Fraction(row["kappa0"]), Fraction(row["Delta"]), row["T"], count)
    else:
        found = recovery(Fraction(row["kappa0"]), row["T"], count)
    assert found.value == row["value"]
    assert found.digits == count


@pytest.mark.parametrize(
    "row", VALUES["curves"], ids=lambda row: f"alpha{row['alpha']}-kappa{row['kappa']}-beta{row['beta']}"
)
def test_curves_within_their_uncertainty(row):
    problem = Problem(
        alpha=row["alpha"],
        kappa0=row["kappa0"],
        lambda_=row["lambda"],
        noise=row["Delta"],
        width=row["kappa"],
        beta=row["beta"],
        beta0=row["beta0"],
    )
    solution = solve(problem).unwrap()
    for name, key in (
        ("m", "m"),
        ("q", "q"),
        ("train_error", "train"),
        ("test_error", "test"),
        ("delta", "delta"),
        ("b", "b"),
    ):
        printed = 0.5 * 10.0 ** -len(str(row[key]).split(".")[1])  # the stored value is rounded
        allowed = row["relative_uncertainty"] * row[key] + printed + solution.errors[name]
        assert abs(getattr(solution, name) - row[key]) <= allowed, key
