"""Students of limited width: the finite-d theory against random matrices, its slopes against
derived exponents, commands.
"""

import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from attention_erm.runtime.errors import InvalidParameter
from numeric.__main__ import main
from numeric.laws.law import denoising_error_of
from numeric.laws.power_law import power_law
from numeric.problem.problem import Problem
from numeric.saddle.solve import solve
from numeric.studies.phase_diagram import width_diagram
from numeric.studies.regimes import regime_at, regimes, width_regimes
from numeric.studies.scaling import scaling_curve, width_curve

MODEL = "quadratic_network"  # of closed channel: milliseconds a point


@pytest.mark.parametrize(
    ("m", "v", "b"), [(1, 0.1, 0.0), (7, 0.02, 0.5), (30, 0.5, 0.2), (150, 0.5, -1.0)]
)
def test_the_largest_eigenvalues_of_a_random_matrix(m, v, b):
    """J and the risk of the m largest eigenvalues of S0 + noise beyond b, m = 1 and a cut among
    features included.
    """
    target, dim, rng = power_law(0.75, 300), 300, np.random.default_rng(m)
    energies, errors = [], []
    for _ in range(12):
        gaussian = rng.standard_normal((dim, dim)) * math.sqrt(v / dim / 2)
        values, vectors = np.linalg.eigh(np.diag(target.arrays[0]) + gaussian + gaussian.T)
        kept = np.maximum(values[-m:] - b, 0.0)
        energies.append(float(kept @ kept) / dim)
        student = (vectors[:, -m:] * kept) @ vectors[:, -m:].T
        errors.append(float(np.sum((student - np.diag(target.arrays[0])) ** 2)) / dim)
    limited = target.energy(v, b, m / dim)
    for seen, expected in (
        (energies, limited.J),
        (errors, denoising_error_of(limited, target.q0, v, b).value),
    ):
        error = np.std(seen) / math.sqrt(len(seen))
        assert abs(np.mean(seen) - expected) < 4 * error + 0.02 * expected  # 1/d


#: gamma, d, log n, log lambda, log m over log d, regime; how far the local slope may be from the
#: exponent: about what the balance leaves out, which vanishes as a small power of d
#: (`Regime.correction`)
DEEP = [
    (Fraction(3, 4), 10**12, 2.2, -2.0, 0.30, "cut_spikes.width"),
    pytest.param(
        Fraction(3, 4),
        10**12,
        1.8,
        -2.0,
        0.70,
        "spikes_and_cut_bulk.overfitting",
        marks=pytest.mark.slow,
    ),
    pytest.param(
        Fraction(3, 2),
        10**16,
        1.7,
        -2.0,
        0.60,
        "spikes_and_cut_bulk.overfitting",
        marks=pytest.mark.slow,
    ),
    (Fraction(1), 10**12, 2.0, 0.3, 0.60, "spikes.decay"),
    pytest.param(
        Fraction(3, 4), 10**12, 1.5, -2.0, 0.80, "spikes_and_slit.noise", marks=pytest.mark.slow
    ),
    pytest.param(
        Fraction(3, 4),
        10**12,
        1.5,
        -2.0,
        0.55,
        "spikes_and_cut_slit.overfitting",
        marks=pytest.mark.slow,
    ),
    pytest.param(
        Fraction(3, 2),
        10**16,
        1.7,
        -2.0,
        0.75,
        "spikes_and_cut_slit.overfitting",
        marks=pytest.mark.slow,
    ),
]


@pytest.mark.parametrize(("gamma", "dim", "x", "y", "w", "id"), DEEP)
def test_slopes_along_the_width_approach_the_derived_exponents(gamma, dim, x, y, w, id):
    log_d = math.log(dim)
    hidden = [round(math.exp(w * log_d + shift)) for shift in (-0.25, 0.25)]
    places = [(x * log_d, y * log_d, math.log(m), log_d) for m in hidden]
    cell = regime_at(gamma, *places[0])
    assert {cell.id, regime_at(gamma, *places[1]).id} == {id}
    left_out = max(cell.correction(*place, along="m") for place in places)
    problem = Problem(dim ** (x - 2), power_law(float(gamma), dim, per_octave=64), dim**y, 0.5)
    first, second = width_curve(problem, hidden)
    slope = math.log(second.risk / first.risk) / math.log(hidden[1] / hidden[0])
    assert left_out < 0.4
    assert abs(slope - float(cell.exponent("m"))) < left_out + 1e-3


@pytest.mark.identity
@examples(12)
@given(
    alpha=st.floats(0.02, 5.0),
    penalty=st.floats(0.05, 2.0),
    gamma=st.floats(0.6, 2.0),
    hidden=st.sampled_from([2, 5, 20]),
)
def test_more_hidden_units_never_train_worse(alpha, penalty, gamma, hidden):
    """At one penalty of S a wider student minimises the same risk over more matrices."""
    target, least = power_law(gamma, 60), []
    for m in (hidden, 2 * hidden, 60):
        width = m / 60
        solution = solve(
            Problem(alpha, target, penalty / math.sqrt(width), 0.5, width=width, model=MODEL)
        )
        if not solution.trusted:
            return
        least.append((solution.free_entropy, solution.errors["free_entropy"]))
    for (narrow, a), (wide, b) in pairwise(least):
        assert wide < narrow + 3 * (a + b) + 1e-9


def test_width_beyond_the_inputs_is_weight_decay():
    """Rank is then no limit, and only lambda sqrt(kappa) counts."""
    problem = Problem(0.2, power_law(1.0, 100), 0.3, 0.5, model=MODEL)
    wide = solve(replace(problem, width=4.0)).unwrap()
    assert wide.estimation_error == pytest.approx(
        solve(replace(problem, lambda_=0.6)).unwrap().estimation_error, rel=1e-6
    )


def test_points_know_their_width():
    problem = Problem(0.1, power_law(0.75, 200), 0.1, 0.5)
    points = width_curve(problem, [10, 20, 40])
    assert [(point.samples, point.hidden) for point in points] == [
        (pytest.approx(4000), m) for m in (10, 20, 40)
    ]
    assert points[0].learned == pytest.approx(10)
    (one,) = scaling_curve(replace(problem, width=0.1), [4000])
    assert (one.hidden, one.risk) == (20, pytest.approx(points[1].risk, rel=1e-6))
    assert points[1].slope == pytest.approx(math.log(points[2].risk / points[0].risk) / math.log(4))


@pytest.mark.identity
@examples(100)
@given(
    gamma=st.fractions(Fraction(51, 100), 10, max_denominator=100),
    place=st.tuples(st.floats(-5, 25), st.floats(-20, 20), st.floats(0, 3)),
)
def test_each_student_lies_in_one_cell(gamma, place):
    margins = sorted(regime.margin(*place, 1.0) for regime in width_regimes(gamma))
    assert margins[-1] >= -1e-9
    assert margins[-2] <= 1e-9


def test_slices_of_cells_are_the_diagram_at_one_decay():
    diagram = width_diagram(Fraction(3, 4), Fraction(-1), None, 0.5, 1)
    for x, w in ((0.8, 0.1), (1.3, 0.4), (1.8, 0.7), (1.9, 0.9), (3.0, 0.5)):
        cell, whole = diagram.regime(x, w), regime_at(Fraction(3, 4), x, -1.0, w, 1.0)
        assert cell.id == whole.id
        assert cell.exponent("m") == whole.exponent("m")
    assert len(diagram.regimes) == len({int(k) for k in diagram.image(300).ravel()})


def test_at_full_width_exponents_are_those_without_one():
    for cell in regimes(Fraction(3, 4)):
        x, y = cell.centre((0.5, 3.5), (-1.5, 1.7))
        wide = regime_at(Fraction(3, 4), x, y, 1.0, 1.0)
        n, decay, m, d = map(float, wide.risk)
        assert n * x + decay * y + m + d == pytest.approx(
            float(cell.risk[0]) * x + float(cell.risk[1]) * y + float(cell.risk[2])
        )


GIVEN = ["scaling", "--power-law", "1", "--dim", "50", "--lambda", "0.5", "--noise", ".5"]


def numeric(arguments, monkeypatch):
    """Exit code of `python -m numeric ...`, run in this process."""
    monkeypatch.setattr("sys.argv", ["numeric", *arguments])
    return main()


def test_the_command_follows_the_width(capsys, monkeypatch):
    assert (
        numeric([*GIVEN, "--samples", "2000", "--width", "0.02,0.1,0.101,1", "--json"], monkeypatch)
        == 0
    )
    document = json.loads(capsys.readouterr().out)
    assert [point["m"] for point in document["points"]] == [
        1,
        5,
        50,
    ]  # whole hidden units, each once
    assert all(point["n"] == pytest.approx(2000) for point in document["points"])
    assert document["points"][1]["local_slope"] < 0
    assert document["points"][0]["exponent"] == -1.0
    assert document["parameters"]["width"] == ["0.02", "0.1", "0.101", "1"]


def test_the_command_keeps_a_width_along_the_samples(capsys, monkeypatch, tmp_path):
    arguments = [
        *GIVEN,
        "--samples",
        "1000,4000",
        "--width",
        "0.1",
        "--plot",
        f"{tmp_path}/f.png",
        "--json",
    ]
    assert numeric(arguments, monkeypatch) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert [(point["n"], point["m"]) for point in points] == [(1000, 5), (4000, 5)]
    assert points[1]["risk"] < points[0]["risk"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (
            [*GIVEN, "--samples", "1e3,2e3", "--width", "0.1,1"],
            "--width 0.1,1: cannot vary together with --samples",
        ),
        (
            [*GIVEN, "--samples", "1e3", "--width", "0.1,1", "--recovery", "2"],
            "--recovery 2: is along --samples",
        ),
        ([*GIVEN, "--samples", "1e3", "--width", "0"], "--width 0: must be positive"),
        (
            ["phase-diagram", "--gamma", "1", "--lambda", "1/d"],
            "--lambda 1/d: is an axis of the diagram",
        ),
    ],
)
def test_bad_widths_are_refused(arguments, named, monkeypatch):
    with pytest.raises(InvalidParameter, match=re.escape(named)):
        numeric(arguments, monkeypatch)


@pytest.mark.slow
def test_the_command_draws_the_diagram_in_width(tmp_path, capsys, monkeypatch):
    path = tmp_path / "width.png"
    arguments = [
        "phase-diagram",
        "--gamma",
        "1",
        "--axis",
        "width",
        "--lambda",
        "d^(-1/2)",
        "--dim",
        "100",
    ]
    assert numeric([*arguments, "--points", "2", "--plot", str(path), "--json"], monkeypatch) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["parameters"]["axis"] == "width"
    assert document["parameters"]["lambda"] == "d^(-0.5)"
    point = document["points"][0]
    assert {"log_d_n", "log_d_m", "local_slope", "exponent", "regime"} <= point.keys()
    assert path.stat().st_size > 10_000
