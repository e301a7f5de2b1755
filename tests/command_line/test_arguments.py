"""What arguments mean, up to the ends of their ranges, and what is said of what was found."""

import hashlib
import json
import math
import runpy
import shlex
import sys
import warnings
from argparse import Namespace
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from packaging.requirements import Requirement

from attention_erm.runtime import interrupts
from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.files import write_atomically
from numeric import __main__ as command
from numeric.cli import digits, installation, output, target_arguments
from numeric.cli.arguments import (
    PARAMETERS,
    _number_of_points,
    exact,
    exact_text,
    grid,
    integer,
    non_negative,
    positive,
)
from numeric.cli.commands import cost, recovery, spectrum, sweep, threshold
from numeric.cli.model_arguments import _in_domain, listed_settings, own_settings
from numeric.cli.output import (
    counted,
    figure_data_path,
    outputs,
    print_unsolved,
    run_or_return_partial,
    save,
    warn_of_statuses,
    with_kinks,
    write_table,
)
from numeric.cli.power_laws import scaling
from numeric.cli.power_laws.crossovers import PlacedSlope, crossover_line
from numeric.cli.power_laws.exponents import decay_exponent, monomial
from numeric.cli.power_laws.phase_diagram import _decay_power
from numeric.cli.problem_arguments import problem_of
from numeric.cli.study import values
from numeric.cli.study.file import read_study
from numeric.cli.target_arguments import float64_target, parse_eigenvalues, parse_weights
from numeric.engines.interrupted import Interrupted
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import power_law
from numeric.problem.problem import Problem
from numeric.problem.solution import Status, failed_solution
from numeric.studies.bayes_comparison import CostPoint
from numeric.studies.recovery_table import RecoveryRow, recovery_table
from numeric.studies.scaling import ScalingPoint
from numeric.studies.spectrum import LearnedSpectrum
from numeric.sweeps.attributes import status_attributes

PROBLEM = Problem(1.0, MarchenkoPastur(0.5), 0.1, 0.5)
POINT = failed_solution(PROBLEM, Status.CONVERGED, 1e-9, 7)
UNSOLVED = failed_solution(PROBLEM.at(2.0), Status.STEP_LIMIT)
STATED = ["--alpha", "1", "--kappa0", ".5", "--lambda", ".1", "--noise", ".5"]
SCALING = [
    "--power-law",
    "3/4",
    "--dim",
    "20",
    "--lambda",
    "1/d",
    "--samples",
    "1e3",
    "--noise",
    ".5",
]


def parsed(*arguments):
    """Arguments of `python -m numeric ...` as values."""
    return command.build_parser().parse_args(arguments)


@pytest.mark.parametrize("text", ["1e12", "-1e12", "1e-100", "0", "0e99999", " 1/20 "])
def test_exact_numbers_reach_to_the_ends_of_their_range(text):
    assert exact(text) == Fraction(text.strip())


@pytest.mark.parametrize("text", ["1000000000001", "-1.1e12", "0.99e-100", "1e100000", "0e-100000"])
def test_numbers_beyond_it_are_refused_before_they_are_written_out(text):
    with pytest.raises(OverflowError):
        exact(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1/20", "0.05"),
        ("3/40", "0.075"),
        ("1/64", "0.015625"),
        ("1/3", "1/3"),
        ("7/60", "7/60"),
        ("12", "12"),
        ("1/5", "0.2"),
    ],
)
def test_a_number_is_written_as_a_decimal_where_it_is_one(value, text):
    assert exact_text(Fraction(value)) == text


def test_ends_of_ranges_belong_to_them():
    assert integer("--n", 2, 12, "")("2") == 2 and integer("--n", 2, 12, "")("12") == 12
    assert non_negative("--x", "")("0") == 0 and positive("--x", "")("1e-9") > 0
    assert PARAMETERS["tokens"][1]("1000000") == 10**6  # thresholds take any number
    for parse, text in (
        (integer("--n", 2, 12, ""), "1"),
        (integer("--n", 2, 12, ""), "13"),
        (positive("--x", ""), "0"),
        (non_negative("--x", ""), "-1e-9"),
        (PARAMETERS["tokens"][1], "1000001"),
    ):
        with pytest.raises(InvalidParameter, match="must"):
            parse(text)


def test_a_grid_has_two_points_or_many():
    assert grid("--alpha")("1:3:2") == (1, 3)
    assert _number_of_points("--alpha", "", "100000", "") == 10**5
    assert grid("--alpha")("1:2:3")[1] == Fraction("1.41421")
    for text in ("1:3:1", "1:3:100001", "1:3:x", "1:3:-2"):
        with pytest.raises(InvalidParameter, match="points: a grid has from 2 to 100000"):
            grid("--alpha")(text)


def test_a_file_that_is_written_can_be_read_by_others(tmp_path):
    write_atomically(tmp_path / "points.csv", b"points")
    assert (tmp_path / "points.csv").stat().st_mode & 0o777 == 0o644
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("domain", "inside", "outside"),
    [
        ("(0, inf)", ("1e-9", "1e9"), ("0", "-1")),
        ("[0, 1)", ("0", "0.999"), ("1", "-1e-9")),
        ("(0, 1]", ("1", "1e-9"), ("0", "1.001")),
        ("(-inf, 2)", ("-1e9", "1.999"), ("2", "3")),
        ("[1/2, 1]", ("1/2", "1"), ("0.499", "1.001")),
    ],
)
def test_a_setting_lies_in_its_domain(domain, inside, outside):
    parse = _in_domain("--mu", domain)
    assert [parse(text) for text in inside] == [Fraction(text) for text in inside]
    for text in outside:
        with pytest.raises(InvalidParameter, match="must lie in"):
            parse(text)


def test_settings_are_listed_once_each_with_a_value():
    domains = {"mu": "(0, inf)", "nu": "[0, 1]"}
    assert listed_settings("mu=1/2,nu=0", domains, "") == {"mu": Fraction(1, 2), "nu": 0}
    assert listed_settings(None, domains, "") == {}
    for text in ("mu", "mu=1,mu=2", "rho=1", ""):
        with pytest.raises(InvalidParameter, match="must set each model-specific setting once"):
            listed_settings(text, domains, "")


TARGET = ("--alpha", "1", "--lambda", ".1", "--noise", ".5")


@pytest.mark.parametrize(
    ("stated", "atoms"),
    [
        (("--eigenvalues", "3,1,3", "--dim", "4"), {0.0: 0.25, 1.0: 0.25, 3.0: 0.5}),
        (("--eigenvalues", "3,1", "--dim", "2"), {1.0: 0.5, 3.0: 0.5}),
        (("--eigenvalues", "3,1", "--weights", "1/4,3/4"), {1.0: 0.75, 3.0: 0.25}),
        (("--eigenvalues", "0,2,4,4"), {0.0: 0.25, 2.0: 0.25, 4.0: 0.5}),
    ],
)
def test_a_list_is_a_law(stated, atoms):
    target, _ = float64_target(parsed("curve", *TARGET, *stated), "tied_attention", {})
    assert dict(zip(target.eigenvalues, target.weights, strict=True)) == atoms


def test_a_power_law_has_its_second_moment():
    for stated, gamma, q0 in (
        (("3/4",), 0.75, 1.0),
        (("1/2", "--q0", "3"), 0.5, 3.0),
        (("1", "--q0", "1/4"), 1.0, 0.25),
    ):
        target, given = float64_target(
            parsed("curve", *TARGET, "--dim", "20", "--power-law", *stated), "tied_attention", {}
        )
        assert target.eigenvalues == pytest.approx(power_law(gamma, 20, q0).eigenvalues, rel=1e-14)
        assert float(Fraction(given["q0"])) == q0 and given["dim"] == "20"


def test_a_problem_is_what_its_arguments_state():
    stated = shlex.split(
        "--kappa0 1/4 --lambda .02 --noise 1/3 --width 3/4 --tokens 12 --beta 2 --beta0 3 "
        "--sample-minimum fitted"
    )
    asked, given = problem_of(parsed("curve", "--alpha", "1/2,2", *stated), Fraction(1, 2))
    assert asked == Problem(
        0.5,
        MarchenkoPastur(0.25),
        0.02,
        1 / 3,
        0.75,
        tokens=12,
        beta=2.0,
        beta0=3.0,
        sample_minimum="fitted",
    )
    assert given["lambda"] == "1/50" and given["noise"] == "1/3" and given["tokens"] == "12"
    arguments = parsed("curve", *TARGET, "--kappa0", "1e-12")
    assert problem_of(arguments, Fraction(1))[0].target.kappa0 == 1e-12
    arguments.kappa0 = Fraction(1, 10**12 + 1)
    with pytest.raises(InvalidParameter, match="is below 1e-12"):
        problem_of(arguments, Fraction(1))


@pytest.mark.parametrize(
    ("text", "at"),
    [("d", 100.0), ("1/sqrt(d)", 0.1), ("d^-0.5", 0.1), ("d**2", 1e4), ("1e-2 ", 0.01)],
)
def test_powers_of_the_dimension(text, at):
    assert scaling.decay_law(text).at(100) == pytest.approx(at)


def test_the_decay_of_a_diagram_in_the_width_is_a_power_of_d():
    assert (
        _decay_power("1/d") == -1
        and _decay_power("d^(-2/3)") == Fraction(-2, 3)
        and _decay_power("0.1") == 0
    )


def test_a_dimension_is_a_whole_number():
    assert (scaling.dimension("2"), scaling.dimension("1e6"), scaling.dimension("1e12")) == (
        2,
        10**6,
        10**12,
    )
    for text in ("1", "2.5", "1e13", "1e15", "inf", "d"):
        with pytest.raises(InvalidParameter, match="--dim"):
            scaling.dimension(text)


def test_an_exponent_of_eigenvalues_exceeds_one_half():
    assert decay_exponent("--gamma")("0.500001") == Fraction(500001, 10**6)
    with pytest.raises(InvalidParameter, match="must exceed 1/2"):
        decay_exponent("--gamma")("1/2")


def test_products_of_powers_are_written_without_what_is_not_there():
    assert (
        monomial({"n": "1", "lambda": "0", "d": "-1/2"}) == "n d^(-1/2)"
        and monomial({"n": "0", "d": "0"}) == "1"
    )


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ((4.2, 6.5), "from d = 1e5 to 1e7 on, at the same powers of d (by the farthest of 2)"),
        ((4.2, 4.7), "from d = 1e5 on, at the same powers of d (by the farthest of 2)"),
        (
            (4.2, math.inf),
            "from d = 1e5 on, but not on the edge of the cell, at the same powers of d (by the "
            "farthest of 2)",
        ),
        (
            (math.inf, math.inf),
            "on the edge of the cell no slope comes within 0.05 of it at the same powers of d (by "
            "the farthest of 2)",
        ),
    ],
)
def test_crossovers_are_said_by_the_dimensions_at_which_they_end(ends, said):
    regime = SimpleNamespace(
        name="cell", exponent=lambda along: -0.5, slope_tolerance=lambda along: 0.05,
        constant=lambda slopes, logs, along: 1.0, log10_dim_near=lambda constant, end, along: end,
        slowest_correction=lambda end, along: 1 / end,
    )  # fmt: skip
    slopes = [PlacedSlope(-0.3 + 0.1 * k, 0.01, regime, (end,), "n") for k, end in enumerate(ends)]
    line = crossover_line(slopes)
    assert line.startswith(
        '2 slopes (-0.30 to -0.20) are not yet the exponent -0.500 of "cell": '
    ) and line.endswith(said)
    powers = [1 / end for end in ends if end < math.inf]
    fall = " to ".join(
        f"d^-{power:.2g}" for power in sorted({0.0, *powers} if math.inf in ends else powers)
    )
    assert math.inf == min(ends) or f"corrections go as {fall}, below 0.05" in line
    alike = [slopes[0], slopes[0]._replace(value=-0.3001)]
    assert crossover_line(alike).startswith("2 slopes (-0.30) are")


def test_points_are_counted_in_words():
    assert counted([1]) == "1 point" and counted([1, 2]) == "2 points" and counted([]) == "0 points"


def test_points_without_a_solution_are_said_and_are_an_error(caplog):
    assert print_unsolved([POINT]) == 0 and not caplog.records
    assert (
        print_unsolved([POINT, UNSOLVED])
        == print_unsolved([POINT, UNSOLVED], "n", [10.0, 20.0])
        == 1
    )
    said = [record.message for record in caplog.records]
    assert said == [f"alpha = 2: {Status.STEP_LIMIT.value}", f"n = 20: {Status.STEP_LIMIT.value}"]


@pytest.mark.parametrize(
    ("name", "stated"), [("scaling", SCALING), ("decompose", STATED), ("cost", STATED)]
)
def test_what_advice_names_is_an_option_of_the_command(name, stated):
    """`scaling` was advised --sample-minimum, which it did not have."""
    assert parsed(name, *stated, "--sample-minimum", "fitted").sample_minimum == "fitted"
    advised = replace(UNSOLVED, status=Status.INACCURATE)
    assert "--sample-minimum fitted" in advised.advice
    kept = replace(PROBLEM, target=power_law(0.75, 20), leading=2)
    assert (
        "--sample-minimum" not in failed_solution(kept, Status.INACCURATE).advice
    )  # which takes too long beside --leading


def test_the_fitted_minimum_beside_leading_features_is_refused():
    with pytest.raises(InvalidParameter, match="--sample-minimum fitted: takes minutes"):
        scaling.COMMAND.run(
            parsed("scaling", *SCALING, "--leading", "2", "--sample-minimum", "fitted")
        )


def test_points_of_broken_symmetry_are_said_along_what_was_asked(caplog):
    broken = replace(POINT, status=Status.UNSTABLE)
    warn_of_statuses([POINT, POINT])
    assert not caplog.records
    warn_of_statuses([broken, POINT, broken], "n", [10.0, 20.0, 30.0])
    assert caplog.records[0].message.startswith(
        "2 points (n = 10, 30): solved, but replica symmetry is broken"
    )
    warn_of_statuses([POINT, failed_solution(PROBLEM.at(2.0), Status.UNLEARNED)])
    assert caplog.records[1].message.startswith("1 point (alpha = 2): the minimiser is S = 0")


def test_a_point_of_a_curve_has_no_number_that_json_does_not_know():
    errors = {"m": 0.1, "denoising_error": 0.2, "q": math.nan}
    found = replace(
        POINT, m=2.0, q=math.inf, errors=errors, replicon=-math.inf, residual=math.inf
    ).record()
    assert (found["m"], found["q"], found["V"]) == (2.0, None, None)
    assert found["errors"] == {"m": 0.1, "denoising_error": 0.2} and found["error_estimate"] == 0.05
    assert (found["replicon"], found["residual"]) == ("-inf", None)
    assert POINT.record()["residual"] == 1e-9
    assert replace(POINT, replicon=0.5).record()["replicon"] == 0.5
    assert replace(POINT, replicon=math.nan).record()["replicon"] is None
    unsolved = replace(UNSOLVED, m=2.0).record()
    assert unsolved["m"] is unsolved["error_estimate"] is None


def test_errors_are_said_where_they_exceed_what_was_asked(caplog):
    found = [replace(POINT, m=1.0, errors={"m": error}) for error in (0.01, 0.03, 0.02)]
    mixed = [*found, replace(UNSOLVED, m=1.0, errors={"m": 0.5})]
    output.warn_inexact(mixed, 0.01)
    output.warn_inexact(mixed[:1], where="")
    output.warn_inexact([replace(POINT, m=1.0, errors={"m": 2e-4})])
    closed = replace(
        POINT, m=1.0, problem=replace(POINT.problem, model="quadratic_network"), errors={"m": 1e-9}
    )
    output.warn_inexact([closed], where="")  # rounding: no rule is any finer
    closer = "more than 1e-04; a smaller --accuracy takes longer and comes closer"
    assert [record.message for record in caplog.records] == [
        "2 points with relative errors of up to 3.0e-02 (m), more than 1e-02; no finer rule is "
        "tried",
        f"1 point with relative errors of up to 1.0e-02 (m), {closer}",
        f"1 point with relative errors of up to 2.0e-04 (m), {closer} in python -m numeric curve",
    ]


def test_a_sweep_says_what_its_statuses_mean():
    """Of the theory and of training each in its own words."""
    endings = {
        "theory_status": [(status.name.lower(), status.value) for status in Status],
        "status": [
            ("converged", "converged"),
            ("step_limit", "too few steps; raise them: once"),
            ("lost", "lost"),
        ],
    }
    codes = {"theory_status": [1, 5, 6, 1], "status": [0, 1, 2, 2]}
    dataset = xr.Dataset(
        {
            name: ("alpha", values, status_attributes(name, endings[name]))
            for name, values in codes.items()
        }
    )
    assert list(sweep._status_descriptions(sweep._statuses(dataset), dataset)) == [
        *(f"{status.name.lower()}: {status.value}" for status in (Status.ROUGH, Status.UNSTABLE)),
        "unfinished: not stored yet",
        "step_limit: too few steps; raise them: once",
    ]


def test_advice_names_only_what_the_model_takes():
    said = Status.INACCURATE.value
    poor = replace(POINT, status=Status.INACCURATE)
    assert poor.advice == f"{said}, or decrease beta or beta0, or try --sample-minimum fitted"
    fitted = replace(poor.problem, sample_minimum="fitted")
    noisy = replace(poor.problem, model="label_noise_attention", extra=(("label_noise", 0.1),))
    network = replace(poor.problem, model="quadratic_network")
    for problem, advice in (
        (fitted, f"{said}, or decrease beta or beta0"),
        (noisy, f"{said}, or decrease beta or beta0"),
    ):
        assert replace(poor, problem=problem).advice == advice
    assert replace(poor, problem=network).advice == said
    assert POINT.advice == "converged"


def test_accuracies_reach_from_1e_8_to_1e_2():
    for text in ("1e-8", "1e-2"):
        assert parsed("curve", *TARGET, "--kappa0", "1", "--accuracy", text).accuracy == Fraction(
            text
        )
    for text in ("0.99e-8", "0.0101"):
        with pytest.raises(InvalidParameter, match="must lie from 1e-8 to 1e-2"):
            parsed("curve", *TARGET, "--kappa0", "1", "--accuracy", text)


def test_a_point_of_costs_without_an_optimum_or_a_solution_says_so():
    solved = replace(POINT, estimation_error=0.3)
    assert cost._record(CostPoint(solved, 0.2)) == {
        "alpha": 1.0,
        "estimation_error": 0.3,
        "bayes_error": 0.2,
        "ratio": pytest.approx(1.5),
        "status": "converged",
    }
    assert cost._record(CostPoint(solved, 0.0))["ratio"] is None
    without = cost._record(CostPoint(solved, None))
    assert (without["estimation_error"], without["ratio"]) == (0.3, None)
    assert without["status"] == "optimum beyond double precision"
    lost = cost._record(CostPoint(UNSOLVED, 0.2))
    assert (lost["estimation_error"], lost["ratio"], lost["status"]) == (None, None, "step_limit")


def test_rows_of_a_spectrum_are_its_parts_in_order():
    x, density = np.array([1.0, 2.0, 4.0, 5.0]), np.array([0.1, 0.2, 0.3, 0.4])
    found = spectrum.rows(LearnedSpectrum(0.25, x, density, ((1.0, 2.0), (4.0, 5.0)), (), 0.0, 0.0))
    assert [(row["part"], row["value"], row["density"], row["weight"]) for row in found] == [
        ("zero", 0.0, None, 0.25),
        *(("bulk 1", value, share, None) for value, share in ((1.0, 0.1), (2.0, 0.2))),
        *(("bulk 2", value, share, None) for value, share in ((4.0, 0.3), (5.0, 0.4))),
    ]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.4, "0 s"),
        (119, "119 s"),
        (120, "2 min"),
        (600, "10 min"),
        (7199, "120 min"),
        (7200, "2.0 h"),
        (9000, "2.5 h"),
    ],
)
def test_a_duration_is_said_in_its_unit(seconds, said):
    assert sweep._duration(seconds) == said


def test_a_row_of_recovery_thresholds_has_their_ratio():
    row = recovery._record(RecoveryRow(Fraction(1, 4), Fraction(1, 3), 2, "0.3", "0.15"))
    assert row == {
        "kappa0": "0.25",
        "width": "1/3",
        "tokens": 2,
        "recovery": "0.3",
        "bayes": "0.15",
        "ratio": 2.0,
    }


def test_lines_of_recovery_end_at_widths_between_the_rank_ratios():
    kappa0s, widths = (
        tuple(Fraction(k, 10) for k in (2, 4, 8)),
        [Fraction(k, 10) for k in (1, 2, 3, 4, 6, 8, 9, 10, 12)],
    )
    extra = recovery.extra_rank_ratios(kappa0s, widths)
    rows = [*recovery_table(kappa0s, widths, (2,)), *recovery_table(extra, widths, (2,))]
    ends = {
        width: max(row.kappa0 for row in rows if row.width == width)
        for width in widths
        if width > kappa0s[0]
    }
    assert ends == {width: min(width, kappa0s[-1]) for width in ends}
    assert len({(row.kappa0, row.width) for row in rows}) == len(rows)
    assert recovery.extra_rank_ratios((Fraction(1, 2),), widths) == []
    wide = (Fraction(1, 2), Fraction(2)), [Fraction(1), Fraction(3, 2)]
    rows = recovery_table(recovery.extra_rank_ratios(*wide), wide[1], (2,))
    assert len(rows) == 2 * (recovery.EXTRA_POINTS - 1)
    assert {row.width for row in rows} == set(wide[1])


def test_a_list_of_eigenvalues_may_be_as_long_as_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(target_arguments, "MOST_EIGENVALUES", 3)
    (tmp_path / "four").write_text("4 3\n2, 1")
    read = partial(
        target_arguments._numbers, "--eigenvalues", rule="is any number", holds=lambda _: True
    )
    assert read("3,2,1") == (3, 2, 1)
    with pytest.raises(InvalidParameter, match="--eigenvalues 4 numbers: must be at most 3"):
        read(f"@{tmp_path / 'four'}")


def test_interrupts_are_watched_before_libraries_load(monkeypatch):
    begun = []
    monkeypatch.setattr(
        interrupts, "install_handlers", lambda: begun.append("numeric.cli.arguments" in sys.modules)
    )
    monkeypatch.setattr(sys, "argv", ["numeric", "--version"])
    with monkeypatch.context() as patch:
        for name in [name for name in sys.modules if name.startswith("numeric.cli")]:
            patch.delitem(sys.modules, name)
        with pytest.raises(SystemExit) as stop, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it has been imported before
            runpy.run_module("numeric", run_name="__main__")
    assert stop.value.code == 0 and begun == [False]


def test_tokens_of_recovery_are_any_numbers_from_two_on():
    read = command.build_parser().parse_args(
        ["recovery", "--kappa0", "1/4", "--tokens", "2,1000000"]
    )
    assert read.tokens == (2, 10**6)
    for refused in ("1", "2,1000001"):
        with pytest.raises(InvalidParameter, match="--tokens"):
            command.build_parser().parse_args(["recovery", "--kappa0", "1/4", "--tokens", refused])


def test_combinations_without_a_threshold_are_counted(numeric, caplog):
    numeric("recovery", "--kappa0", "1/4,1/2,2", "--width", "1/4,1", "--tokens", "2,3")
    assert (
        "4 combinations left out" in caplog.text
    )  # at two numbers of tokens a width of 1/4 below 1/2 and below 1


def test_a_threshold_is_refused_where_it_is_not_defined():
    def asked(kind, **changed):
        settings = {"noise": 0, "width": 1, "beta": 1, "beta0": 1, **changed}
        threshold.check_threshold(Namespace(kind=kind, **settings), Fraction(1, 2))

    asked("interpolation", noise=1, width=Fraction(1, 9), beta=2)
    asked("interpolation-limit", beta=2)
    asked("bayes", width=Fraction(1, 9), beta=2)
    asked("recovery", width=Fraction(1, 2), beta=2, beta0=2)
    for kind, changed, name in (
        ("interpolation", {}, "--noise"),
        ("interpolation-limit", {"width": Fraction(9, 10)}, "--width"),
        ("interpolation-limit", {"noise": 1}, "--noise"),
        ("recovery", {"beta": 2}, "--beta"),
        ("recovery", {"width": Fraction(49, 100)}, "--width"),
        ("bayes", {"noise": 1}, "--noise"),
    ):
        with pytest.raises(InvalidParameter, match=name):
            asked(kind, **changed)


def test_what_a_threshold_was_chosen_from_is_said():
    one = SimpleNamespace(value="0.2", roots=("0.2",), choice="", complete=True, upper_bound=None)
    assert threshold.threshold_text(one) == "0.2\n"
    several = SimpleNamespace(
        **{**vars(one), "roots": ("0.2", "0.3"), "choice": "least", "complete": False}
    )
    assert threshold.threshold_text(several).splitlines() == [
        "0.2",
        "roots: 0.2, 0.3",
        "chosen: least",
        "completeness not proven: there may be other roots",
    ]


def scaled(**changed):
    """A point of a scaling curve at n = 400 and m = 20 where d = 20, and what a table has of it."""
    problem = Problem(1.0, power_law(0.75, 20), 0.05, 0.5)
    solution = failed_solution(replace(problem, **changed.pop("problem", {})), Status.CONVERGED)
    return replace(
        ScalingPoint(400.0, 20.0, solution, *map(float, range(1, 9)), slope=-0.4, slope_error=0.01),
        **changed,
    )


def test_a_row_of_a_scaling_curve():
    found = scaling.record(scaled(), "samples")
    assert (found["n"], found["n_eff"], found["risk"], found["bulk_edge"]) == (400, 20, 1, 8)
    assert (found["local_slope"], found["status"]) == (-0.4, "converged") and "m" not in found
    assert found["exponent"] is not None and found["regime"]
    assert scaling.record(scaled(slope=math.nan), "samples")["local_slope"] is None
    narrow = scaling.record(scaled(hidden=10.0, problem={"width": 0.5}), "samples")
    assert narrow["m"] == 10
    assert scaling.record(scaled(), "hidden")["m"] == 20


def test_a_slope_is_placed_by_the_logarithms_of_its_regime():
    (along,) = scaling.slopes_of(scaled(), "samples")
    assert (
        along.logs == pytest.approx([math.log(value) for value in (400, 0.05, 20)])
        and along.along == "n"
    )
    (beside,) = scaling.slopes_of(scaled(hidden=10.0), "hidden")
    assert (
        beside.logs == pytest.approx([math.log(value) for value in (400, 0.05, 10, 20)])
        and beside.along == "m"
    )
    assert (along.value, along.error) == (-0.4, 0.01) and scaling.slopes_of(
        scaled(slope=math.nan), "samples"
    ) == []


def test_readers_of_tables_of_a_study():
    assert (
        values.whole_number(1)(1) == 1
        and values.whole_numbers(1)(3) == (3,)
        and values.whole_numbers(1)([1, 3]) == (1, 3)
    )
    for read, value in (
        (values.whole_number(1), 0),
        (values.whole_number(1), True),
        (values.whole_numbers(1), []),
        (values.whole_numbers(1), [1, 1]),
        (values.whole_numbers(1), [1, 0]),
        (values.whole_numbers(1), [1, 2.5]),
        (values.switch, 1),
        (values.text, 1),
        (values.texts, ["a", 1]),
        (values.texts, "a"),
        (values.one_of(("a", "b")), "c"),
    ):
        with pytest.raises(ValueError, match="must be"):
            read(value)
    assert (
        values.one_of(("a", "b"), str.upper)("b") == "B"
        and values.switch(False) is False
        and values.texts([]) == []
    )


def test_outputs_are_two_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def asked(table, figure, style=None, no_caption=False):
        return outputs(Namespace(csv=table, plot=figure, style=style, no_caption=no_caption))

    assert asked("a.csv", "a.png") == (Path("a.csv"), Path("a.png")) and asked(None, None) == (
        None,
        None,
    )
    assert figure_data_path(Path("b/a.png")) == Path("b/a.json")
    for table, figure in (("a.png", "a.png"), ("a.json", "a.png")):
        with pytest.raises(InvalidParameter, match="name two files"):
            asked(table, figure)
    (tmp_path / "a.json").mkdir()
    with pytest.raises(
        InvalidParameter, match="is not the name of a file"
    ):  # which was written under that name
        asked("-", None)
    with pytest.raises(
        InvalidParameter, match="is a folder"
    ):  # where the data of the figure would be
        asked(None, "a.png")


def test_a_study_that_was_interrupted_gives_what_had_finished():
    def study(finished):
        raise Interrupted(finished)

    assert (
        run_or_return_partial(study, [1, 2]) == [1, 2] and run_or_return_partial(len, [1, 2]) == 2
    )
    with pytest.raises(Interrupted) as stop:
        run_or_return_partial(study, [])
    assert stop.value.__notes__ == [
        "the attribute `finished` of this exception is the partial result"
    ]  # where nobody caught it


def test_a_figure_has_more_points_at_kinks_but_after_an_interrupt(monkeypatch):
    points = [0.1 * 1.4**k for k in range(14)]

    def shown(x):
        return x, max(x / 0.7, 1.0) ** 2

    more = with_kinks(points, shown, lambda left, right, place: place)
    assert set(points) < set(more)

    def interrupted(*_):
        raise KeyboardInterrupt

    answered = []
    monkeypatch.setattr(interrupts, "mark_handled", lambda: answered.append(True))
    assert with_kinks(points, shown, interrupted) == points and answered == [True]
    monkeypatch.setattr(interrupts, "interrupted", lambda: True)
    assert with_kinks(points, shown, lambda left, right, place: place) == points


def test_a_table_has_error_bars_of_what_has_some(tmp_path):
    points = [
        {"alpha": 1, "m": 2.0, "q": 3.0, "errors": {"m": 0.1}},
        {"alpha": 2, "m": 4.0, "q": 5.0, "errors": {"m": 0.2, "q": 0.3}},
    ]
    write_table(tmp_path / "t.csv", points, {"lambda": "1/2"})
    header, *rows = (line.split(",") for line in (tmp_path / "t.csv").read_text().splitlines())
    assert header[:6] == ["alpha", "m", "q", "m_error_bar", "q_error_bar", "lambda"]
    assert [row[:6] for row in rows] == [
        ["1", "2.0", "3.0", "0.1", "", "1/2"],
        ["2", "4.0", "5.0", "0.2", "0.3", "1/2"],
    ]


def test_digits_are_asked_of_what_has_proven_ones():
    """Exact values go to what proves; a point in double precision stands beside them."""
    stated = (
        "curve",
        "--alpha",
        "1/3,1/2",
        "--kappa0",
        "1/7",
        "--lambda",
        "1/11",
        "--noise",
        "1/13",
        "--digits",
        "1000",
    )
    arguments = parsed(*stated, "--width", "3/4", "--beta", "2", "--beta0", "3", "--tokens", "4")
    assert arguments.digits == 1000
    asked = digits.exact_problem_of(arguments, Fraction(1, 3))
    assert asked.settings == {
        "alpha": Fraction(1, 3),
        "lambda_": Fraction(1, 11),
        "kappa": Fraction(3, 4),
        "Delta": Fraction(1, 13),
        "beta": 2,
        "beta0": 3,
        "T": 4,
    }
    assert asked.rounded.alpha == 1 / 3 and asked.rounded.tokens == 4
    for more in (("--parametrisation", "symmetric"), ("--sample-minimum", "fitted")):
        with pytest.raises(InvalidParameter, match="has no proven digits"):
            digits.exact_problem_of(parsed(*stated, *more), Fraction(1, 3))


def test_an_old_library_is_advised_about(monkeypatch):
    needed = tuple(Requirement(text) for text in ("one>=2", "two<3", "three"))
    monkeypatch.setattr(installation, "_needed", lambda: needed)
    for found, said in (
        ({"one": "2.0", "two": "2.9", "three": "0"}, []),
        ({"one": "1.9", "two": "3.0"}, ["one 1.9", "two 3.0", "three not installed"]),
    ):
        monkeypatch.setattr(
            installation,
            "installed",
            lambda name, found=found: found.get(name, installation.ABSENT),
        )
        assert [line.split(":")[0] for line in installation._about_versions()] == said
    monkeypatch.setattr(installation, "_needed", lambda: ())
    assert "is not installed" in next(installation._about_versions())


def test_what_is_needed_has_no_extras():
    names = {one.name for one in installation._needed()}
    assert "numpy" in names and not {"torch", "pytest", "marimo"} & names
    assert (
        installation.installed("numpy")[0].isdigit()
        and installation.installed("no-such-thing") == installation.ABSENT
    )


def test_generated_code_is_current_where_files_are_those_of_the_manifest(tmp_path):
    folder = tmp_path / "tied_attention"
    folder.mkdir()
    text = b"x = 1"
    (folder / "float64.py").write_bytes(text)
    stated = {"float64.py": hashlib.sha256(text).hexdigest()[:16]}
    (folder / "MANIFEST.json").write_text(json.dumps({"files": stated}))
    assert installation._state(folder) == "current"
    lines = list(
        installation.Report({"one": {"a": "b", "c": {"d": 1, "e": 2}}, "two": "f"}, []).lines()
    )
    assert [line.split() for line in lines] == [
        ["one", "a", "b"],
        ["one", "c", "d", "1,", "e", "2"],
        ["two", "f"],
        ["all", "is", "well"],
    ]
    assert list(installation.Report({}, ["mend it"]).lines()) == ["mend it"]


def test_cuda_is_told_by_what_torch_was_built_with(monkeypatch):
    monkeypatch.setattr(
        installation, "requires", lambda name: ["numpy", "nvidia-cuda-runtime-cu12==1"]
    )
    for torch, runtime, said in (
        ("2.1+cpu", installation.ABSENT, "no runtime"),
        ("2.1", installation.ABSENT, "unlimited"),
        ("2.1", "12.4", "cu12 12.4"),
    ):
        found = {"torch": torch, "nvidia-cuda-runtime-cu12": runtime, "numpy": "1"}
        monkeypatch.setattr(installation, "installed", found.get)
        assert f"{said}; device: " in installation._cuda() and "numpy" not in installation._cuda()


def test_settings_of_a_model_come_from_either_way_or_their_default():
    """Its own law needs more of them than a list does."""
    line = (
        "curve",
        "--alpha",
        "1",
        "--lambda",
        ".1",
        "--noise",
        ".5",
        "--model",
        "signed_quadratic_network",
    )
    own = own_settings(parsed(*line, "--kappa0", "1"), "signed_quadratic_network", False)
    assert own == {"positive": Fraction(1, 2)}
    assert own_settings(
        parsed(*line, "--kappa0", "1", "--positive", "1/4"), "signed_quadratic_network", False
    ) == {"positive": Fraction(1, 4)}
    assert own_settings(parsed(*line, "--eigenvalues=-1,2"), "signed_quadratic_network", True) == {}
    two = parsed(
        *line[:-1],
        "tied_attention_two_bulks",
        "--kappa1",
        "1/5",
        "--settings",
        "kappa2=1/4,scale1=1,scale2=2",
    )
    assert list(own_settings(two, "tied_attention_two_bulks", False).values()) == [
        Fraction(1, 5),
        Fraction(1, 4),
        1,
        2,
    ]
    with pytest.raises(InvalidParameter, match="must set each model-specific setting once"):
        own_settings(
            parsed(
                *line[:-1],
                "tied_attention_two_bulks",
                "--kappa1",
                "1/5",
                "--settings",
                "kappa1=1/4",
            ),
            "tied_attention_two_bulks",
            False,
        )


@pytest.mark.parametrize(
    ("stated", "values"),
    [
        ('"1:4:3"', ["1", "2", "4"]),
        ("{from = 0, to = 1, count = 3, spacing = 'linear'}", ["0", "1/2", "1"]),
        ("{from = 1, to = 4, count = 2, spacing = 'geometric'}", ["1", "4"]),
        ("[0.05, '1/3', [1, 2]]", ["0.05", "1/3", "1,2"]),
    ],
)
def test_what_varies_in_a_study(stated, values, tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(f"[product]\nalpha = {stated}\n")
    assert [varied["alpha"] for varied in read_study(str(path), ()).varied] == [tuple(values)]


@pytest.mark.parametrize(
    "stated",
    [
        "{from = 0, to = 1, count = 1, spacing = 'linear'}",
        "{from = 0, to = 1, count = 100001, spacing = 'linear'}",
        "{from = 0, to = 1, count = 3, spacing = 'cubic'}",
        "{from = 'a', to = 1, count = 3, spacing = 'linear'}",
        "{from = 0, to = 1, count = 3}",
        "'1:2'",
        "'1:2:3:4:5'",
        "[[]]",
    ],
)
def test_what_varies_in_no_study(stated, tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(f"[product]\nalpha = {stated}\n")
    with pytest.raises(InvalidParameter, match=r"study\.toml: alpha"):
        read_study(str(path), ())


def test_a_list_has_positive_weights_and_a_dimension():
    assert parse_weights("1/4,3/4") == (Fraction(1, 4), Fraction(3, 4)) and parse_eigenvalues(
        "0,-1"
    ) == (0, -1)
    assert parsed("curve", *TARGET, "--power-law", "1", "--dim", "1").dim == 1
    for text, rule in (
        ("0,1", "--weights 0: must be positive"),
        ("a", "--weights 'a': is not a number"),
        ("1,,2", "has an empty entry"),
    ):
        with pytest.raises(InvalidParameter) as refused:
            parse_weights(text)
        assert rule in str(refused.value)


def test_where_the_data_of_a_figure_are_is_said(tmp_path, caplog):
    def savefig(buffer, format, metadata):
        buffer.write(format.encode())

    with caplog.at_level("INFO", "numeric"):
        save(SimpleNamespace(savefig=savefig), tmp_path / "a.pdf", {"points": []})
    assert (tmp_path / "a.pdf").read_bytes() == b"pdf" and json.loads(
        (tmp_path / "a.json").read_text()
    )["points"] == []
    assert caplog.messages == [f"{tmp_path / 'a.pdf'}: its data are in {tmp_path / 'a.json'}"]
