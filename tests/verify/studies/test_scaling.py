"""Scaling of trained heads: plans, slopes with intervals, the split of trained errors, spectra
against the theory's own model.
"""

import dataclasses
import json
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy.stats import t as student

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.power_law import power_law
from numeric.problem.decay_law import DecayLaw
from numeric.problem.problem import Problem
from numeric.saddle.solve import solve
from numeric.studies.regimes import regime_at
from numeric.studies.spectrum import learned_spectrum
from verify.__main__ import main
from verify.core.data import DataKind
from verify.core.measure import execute, hidden_overlaps
from verify.core.realised_problem import realised_problem
from verify.core.run import Run
from verify.core.scores import BAND
from verify.core.spectra import LEAST_P, TrainedSpectrum, distance, model_spectra
from verify.core.target import rotated_target
from verify.studies.scaling import command as scaling_command
from verify.studies.scaling import study as scaling
from verify.studies.scaling.error_parts import ErrorParts, trained_parts
from verify.studies.scaling.plan import ScalingPlan
from verify.studies.scaling.study import TrainedPoint, slope_over

pytestmark = pytest.mark.usefixtures("no_workers")

BASE = Run(Problem(0.5, power_law(0.75, 12), 0.5, 0.5), dim=12)
INVERSE, CONSTANT = DecayLaw("1/d", power=-1.0), DecayLaw("1")
PLAN = ScalingPlan(BASE, (INVERSE, CONSTANT), (0.5, 1.0), ((12, 2), (16, 3)), ((1.0, 2),))


@pytest.fixture(autouse=True)
def one_slope_of_the_phase_diagram(monkeypatch):
    """At a dimension where it takes no time: its numbers are the theory's, and tested there."""
    monkeypatch.setattr(scaling_command, "TILES", 1)
    monkeypatch.setattr(scaling, "PHASE_DIM", 100)


def test_a_plan_has_every_run_once_and_knows_its_law():
    runs = PLAN.runs()
    assert len(set(runs)) == len(runs) == 2 * 2 * (2 + 3)
    assert {(run.dim, PLAN.decay_of(run)): run.problem.lambda_ for run in runs} == {
        (12, INVERSE): 1 / 12, (16, INVERSE): 1 / 16, (12, CONSTANT): 1.0, (16, CONSTANT): 1.0
    }  # fmt: skip
    assert all(set(group) <= set(runs) for group in PLAN.spectrum_runs().values())
    assert all(run.dim == 16 for group in PLAN.spectrum_runs().values() for run in group)
    spectra = dataclasses.replace(PLAN, spectra=((2.0, 1),))
    assert [spectra.samples(dim) for dim in (12, 16)] == [[72, 144], [128, 256, 512]]


def test_a_line_of_the_theory_is_at_whole_numbers_of_samples_from_the_first_to_the_last_trained():
    """It was at 102.39999999999998 where runs had 102."""
    plan = dataclasses.replace(PLAN, base=BASE, alphas=(0.1, 1.0), sizes=((32, 2),), spectra=())
    for job in scaling._line_tasks(plan):
        _, samples = job.arguments
        assert list(samples) == sorted(set(map(round, samples)))
        assert [samples[0], samples[-1]] == plan.samples(32)


def place(samples, excess, theory):
    regime = regime_at(Fraction(3, 4), 10.0, 0.0, 5.3)
    parts = ErrorParts(np.array([[0.0, 0.5, 0.5, 0.0]] * 2), np.array([0.0, 0.5, 0.5, 0.0]))
    return TrainedPoint(
        200,
        CONSTANT,
        samples / 200**2,
        samples,
        tuple(excess),
        2 * theory,
        theory,
        0.0,
        regime,
        5.0,
        True,
        parts,
    )


def test_slopes_are_those_of_power_laws_with_intervals_that_cover():
    rng = np.random.default_rng(1)
    covered, widths = [], []
    for _ in range(60):
        window = [
            place(n, n**-0.7 * (1 + 0.05 * rng.standard_normal(8)), 2 * n**-0.7)
            for n in (1000, 2000, 4000, 8000)
        ]
        found = slope_over(window, rng, judged=True, together=0.99)
        assert found.theory == pytest.approx(-0.7)
        covered.append([found.theory in found.trained, found.agrees])
        widths.append([found.trained.half_width, found.joint.half_width])
    alone, together = np.mean(covered, axis=0)
    assert (
        0.85 < alone <= 1 and 0.95 < together <= 1
    )  # three deviations of the mean of 60 below 95 % and 99 %
    scatter = 0.05 / math.sqrt(8 * 5 * math.log(2) ** 2)
    np.testing.assert_allclose(
        np.mean(widths, axis=0), scatter * student.ppf([0.975, 0.995], 7), rtol=0.1
    )


def test_what_the_theory_scatters_widens_the_interval_of_a_slope():
    rng = np.random.default_rng(2)
    window = [
        place(n, n**-0.7 * (1 + 0.01 * rng.standard_normal(8)), n**-0.7) for n in (1000, 2000, 4000)
    ]
    rough = [dataclasses.replace(place, expected_error=0.1 * place.expected) for place in window]
    known, scattered = (
        slope_over(places, rng, True, 0.95).trained.half_width for places in (window, rough)
    )
    assert scattered == pytest.approx(
        student.ppf(0.975, 7) * 0.1 / math.sqrt(2 * math.log(2) ** 2) * math.sqrt(8 / 7), rel=0.1
    )
    assert known < scattered / 5


def test_slopes_on_sequences_are_judged_from_enough_samples_for_each_dimension():
    sequences, gaussian = (
        PLAN,
        dataclasses.replace(PLAN, base=BASE.varied(data=DataKind.GAUSSIAN_EQUIVALENT)),
    )
    assert [sequences.theory_applies(200, n) for n in (1999, 2000)] == [False, True]
    assert gaussian.theory_applies(200, 500)
    assert (
        sequences.problem_with_exact_features(100, CONSTANT).leading,
        gaussian.problem_with_exact_features(100, CONSTANT).leading,
    ) == (8, 0)


def test_what_all_eigenvectors_know_is_the_overlap():
    rng = np.random.default_rng(0)
    s0 = torch.as_tensor(rotated_target(np.array([3.0, 2.0, 1.0, 0.5]), rng))
    noise = rng.standard_normal((4, 4))
    s = s0 + torch.as_tensor(noise + noise.T) / 8
    hidden = hidden_overlaps(s, s0)
    assert hidden[0] == pytest.approx(float((s * s0).sum()) / 4)
    assert hidden[-1] == 0
    assert hidden_overlaps(s0, s0) == pytest.approx(
        [np.sum(np.array([9, 4, 1, 0.25])[k:]) / 4 for k in range(5)]
    )


@pytest.mark.parametrize("learned", [0.0, 2.0, 2.5, 12.0])
def test_trained_parts_add_up(learned):
    result = execute(BASE)
    over, under, approximation = trained_parts(result, learned, 0.95)
    assert over + under + approximation == pytest.approx(1)
    if learned == 0:
        assert approximation == pytest.approx(0, abs=1e-12)
    if learned == 12:
        assert (over, under) == pytest.approx((0, 0), abs=1e-12)


def test_the_best_multiple_of_the_target_has_no_excess_and_no_map_has_less():
    clean = execute(BASE.varied(noise=0.0))
    assert clean.best_error == pytest.approx(
        0, abs=1e-5
    )  # labels of S0 itself: what interpolation in c leaves
    noisy = execute(BASE)
    assert 0 < noisy.best_error < noisy.test_error


def law_and_model():
    run = BASE.varied(dim=40, alpha=1.0)
    solution = solve(realised_problem(run, 1.0)).unwrap()
    return run, solution, learned_spectrum(solution)


def test_spectra_of_the_model_have_ordinary_p_values_and_others_have_none():
    run, solution, law = law_and_model()
    rng = np.random.default_rng(3)
    simulated = np.array([distance(law, [model_spectra(solution, run, 4, rng)]) for _ in range(99)])
    own = [
        TrainedSpectrum(1.0, 40, law, model_spectra(solution, run, 4, rng), simulated).p_value
        for _ in range(20)
    ]
    assert 0.2 < np.mean(own) < 0.8
    assert min(own) > LEAST_P
    louder = model_spectra(dataclasses.replace(solution, delta=1.3 * solution.delta), run, 4, rng)
    assert not TrainedSpectrum(1.0, 40, law, louder, simulated).p_value > 1 / 100


def test_the_law_of_the_model_is_the_limit_of_its_spectra():
    """Outliers and bulk together; the distance falls like 1/d."""
    gaps = []
    for dim in (20, 80):
        run = BASE.varied(dim=dim, alpha=1.0)
        solution = solve(realised_problem(run, 1.0)).unwrap()
        values = model_spectra(solution, run, 20, np.random.default_rng(0))
        gaps.append(distance(learned_spectrum(solution), [values]))
    assert gaps[1] < 0.5 * gaps[0]


@pytest.mark.slow
def test_the_command_writes_figures_and_numbers(tmp_path, capsys):
    given = [
        "--dim",
        "10,12",
        "--runs",
        "3",
        "--alpha",
        "0.5,1",
        "--lambda",
        "1",
        "--data",
        "gaussian-equivalent",
    ]
    code = main(["scaling", *given, "--out", str(tmp_path), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert code == (0 if found["agrees"] else 1)
    assert {point["dim"] for point in found["points"]} == {10, 12}
    assert all(
        point["theory"] > 0 and sum(point["parts"].values()) == pytest.approx(1)
        for point in found["points"]
    )
    assert json.loads((tmp_path / "scaling.json").read_text()) == found
    for name in ("scaling", "decomposition", "regimes"):
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
        assert (tmp_path / f"{name}.pdf").stat().st_size > 5_000


@pytest.mark.slow
def test_where_nothing_is_learned_nothing_is_judged(tmp_path, capsys):
    """A traceback after all the training before."""
    given = ["--dim", "12", "--runs", "2", "--alpha", "0.02,0.05", "--lambda", "sqrt(d)"]
    assert main(["scaling", *given, "--out", str(tmp_path)]) == 1
    assert "nothing is judged; raise --alpha" in capsys.readouterr().out
    assert main(["scaling", *given, "--out", str(tmp_path), "--data", "gaussian-equivalent"]) == 0
    assert "data: excess errors and their parts agree with the theory" in capsys.readouterr().out


@pytest.mark.slow
def test_sequences_have_their_own_theory_but_next_to_the_threshold_which_costs_no_other_place(
    tmp_path,
):
    """There it was NaN in the JSON before, or one panel less that ended the study, both after all
    the training.
    """
    given = ["--dim", "10,12", "--runs", "3", "--alpha", "0.35,1", "--lambda", "1"]
    code = main(["scaling", *given, "--out", str(tmp_path)])
    found = json.loads((tmp_path / "scaling.json").read_text())
    assert code == (0 if found["agrees"] else 1)
    near, above = (
        [point for point in found["points"] if point["alpha"] == alpha] for alpha in (0.35, 1)
    )
    assert [point["dim"] for point in above] == [10, 12]
    assert near[-1]["expected"] is None
    assert set(near[-1]["theory_parts"].values()) == {None}
    assert all(point["expected"] > point["theory"] for point in above)
    assert all(sum(point["theory_parts"].values()) == pytest.approx(1) for point in above)
    assert [spectrum["alpha"] for spectrum in found["spectra"]] == [1.0]
    assert {point["alpha"] for point in found["comparison"]["points"]} == {1.0}
    run = BASE.varied(dim=12, alpha=1.0, lambda_=1.0)
    own = solve(dataclasses.replace(realised_problem(run, 1.0), leading=6))
    by_quantity = {score["quantity"]: score for score in found["comparison"]["points"]}
    assert by_quantity["m"]["sizes"][-1]["theory"] == pytest.approx(
        own.m, rel=2e-3
    )  # another start


@pytest.mark.slow
def test_sequences_agree_with_the_theory_of_their_own_indices(tmp_path, capsys):
    """And their excess errors not with that of Gaussian indices."""
    given = ["--dim", "24,32", "--runs", "8", "--alpha", "0.8,1.6", "--lambda", "1"]
    assert main(["scaling", *given, "--out", str(tmp_path), "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert all(abs(point["z"]) < BAND for point in points)
    assert max((point["ratio"] - 1) / point["ratio_standard_error"] for point in points) > BAND


@pytest.mark.slow
def test_theory_and_training_agree_on_gaussian_equivalent_data(tmp_path):
    given = [
        "--dim",
        "24,32",
        "--runs",
        "8",
        "--alpha",
        "0.2,0.8,3.2",
        "--lambda",
        "1/d,1",
        "--data",
        "gaussian-equivalent",
    ]
    assert main(["scaling", *given, "--out", str(tmp_path)]) == 0
    assert main(["scaling", *given, "--out", str(tmp_path / "shuffled"), "--shuffle-labels"]) == 1


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (["--power-law", "1/2"], "second moment"),
        (["--lambda", "1/d,d^-1"], "contains a weight decay twice"),
        (["--lambda", "log(d)"], "nor a power of d"),
        (["--lambda", "d^1000"], "outside the range of double precision"),
        (["--lambda", "1/d,0.0625", "--dim", "12,16"], "contains a weight decay twice"),
        (["--dim", "40,40"], "lists a size twice"),
    ],
)
def test_bad_input_is_one_line(given, text, tmp_path):
    with pytest.raises(InvalidParameter, match=text):
        main(["scaling", *given, "--out", str(tmp_path)])
