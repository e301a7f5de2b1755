"""Stored reference values: thresholds to the last digit, curves within their stated uncertainty."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from numeric.proven_laws.finite import exact_power_law
from numeric.proven_laws.rational import exact_marchenko_pastur
from numeric.saddle.solve import solve
from numeric.thresholds.interpolation import interpolation
from numeric.thresholds.recovery import recovery

VALUES = json.loads((Path(__file__).parents[2] / "check_values.json").read_text())


def digits(value: str) -> int:
    return len(value.replace(".", "").lstrip("0"))


@pytest.mark.parametrize(
    "row", VALUES["thresholds"], ids=lambda row: f"{row['kind']}-{row['kappa0']}-{row['kappa']}"
)
def test_thresholds_to_the_last_digit(row):
    count, law = digits(row["value"]), exact_marchenko_pastur(Fraction(row["kappa0"]))
    if row["kind"] == "interpolation":
        found = interpolation(law, Fraction(row["Delta"]), row["T"], count, Fraction(row["kappa"]))
    else:
        found = recovery(law, row["T"], count)
    assert found.value == row["value"]
    assert found.digits == count and found.complete


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(
            row,
            id=f"d{row['d']}-gamma{row['gamma']}",
            marks=[pytest.mark.slow] if row["d"] > 100 else [],
        )
        for row in VALUES["power_law_thresholds"]
    ],
)
def test_power_law_thresholds_to_the_last_digit(row):
    count, law = (
        digits(row["value"]),
        exact_power_law(Fraction(row["gamma"]), row["d"], Fraction(row["q0"])),
    )
    assert interpolation(law, Fraction(row["Delta"]), row["T"], count).value == row["value"]


@pytest.mark.parametrize(
    "row",
    VALUES["curves"],
    ids=lambda row: f"alpha{row['alpha']}-kappa{row['kappa']}-beta{row['beta']}",
)
def test_curves_within_their_uncertainty(row):
    problem = Problem(
        alpha=row["alpha"],
        target=MarchenkoPastur(row["kappa0"]),
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
