"""Presets of figures: they cover what was promised, carry out at tiny sizes, and their verdicts can turn."""

import dataclasses
import json
from types import SimpleNamespace

import numpy as np
import pytest

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Parametrisation, Problem, SampleMinimum
from numeric.problem.solution import Status
from numeric.saddle.solve import solve
from verify.__main__ import main
from verify.figures.learning_curves import preset_figure
from verify.judging.theory import trained_norm
from verify.studies import learning_curves as gallery
from verify.studies.learning_curves import (
    FIGURE_PRESETS,
    Curve,
    Family,
    Preset,
    best_decay_along,
    order_of_theory,
    runs_of,
    study_learning_curves,
)
from verify.studies.main_job import FIGURE_ONE
from verify.training.measure import execute
from verify.training.run import Start

BASE = FIGURE_ONE
FIGURE_TWO = Problem(alpha=1.0, target=MarchenkoPastur(0.05), lambda_=0.1, noise=0.05)


@pytest.fixture
def few_points(monkeypatch):
    monkeypatch.setattr(gallery, "LINE_POINTS", 2)


@pytest.fixture
def in_process(monkeypatch):
    """Train here: a pool of workers, tested elsewhere, takes longer to start than these heads to train."""
    monkeypatch.setattr(gallery, "execute_all", lambda runs, store, workers, task=execute: [task(run) for run in runs])


def test_presets_hold_the_settings_of_the_paper():
    """Tokens, width on both sides of the target's rank, unequal temperatures and both direct parametrisations."""
    runs = {name: runs_of(preset, BASE) for name, preset in FIGURE_PRESETS.items()}
    assert {"1", "2", "6", "10", "11"} <= set(runs)
    every = [run for found in runs.values() for run in found]
    assert {run.problem.tokens for run in every} == {2, 3, 4}
    assert {np.sign(run.problem.width - run.problem.target.kappa0) for run in runs["rank"]} == {-1, 1}
    assert {np.sign(run.problem.beta - run.problem.beta0) for run in runs["10"]} == {-1, 0, 1}
    assert {run.problem.parametrisation for run in runs["direct"]} == set(Parametrisation)
    assert FIGURE_PRESETS["2"].settings == {"target": MarchenkoPastur(0.05), "noise": 0.05}
    assert all(len(preset.sizes) >= 2 for preset in FIGURE_PRESETS.values())  # else nothing can be extrapolated
    # a rounded width would be compared at another setting than the one drawn
    assert all(run.columns == pytest.approx(run.problem.width * run.dim) for run in every)


def test_a_small_figure_agrees_is_drawn_reproducibly_and_can_fail(few_points, in_process, tmp_path):
    families = tuple(Family(f"{width}", {"width": width}) for width in (0.75, 1.0))
    preset = Preset("", families, (0.5, 1.0), ((16, 4), (24, 4)))
    first = study_learning_curves(preset, BASE, tmp_path, lambda _: None)
    assert first.agrees
    assert [{s.problem.width for s in curve.scores} for curve in first.curves] == [{0.75}, {1.0}]
    assert all(s.problem.width == float(curve.label) for curve in first.curves for s in curve.solutions)
    assert preset_figure(first.curves, preset.quantities) == preset_figure(first.curves, preset.quantities)
    one = dataclasses.replace(preset, families=families[:1])
    broken = study_learning_curves(one, BASE.varied(shuffle_labels=True), tmp_path, lambda _: None)
    assert not broken.agrees


@pytest.mark.slow
def test_a_chosen_decay_is_judged_by_the_theory_at_that_decay(few_points, in_process, tmp_path, monkeypatch):
    asked = []
    theory = gallery.watched_predictions
    monkeypatch.setattr(gallery, "watched_predictions", lambda problems: asked.extend(problems) or theory(problems))
    searched = []  # the search itself is tested with numeric
    monkeypatch.setattr(
        gallery,
        "optimal_lambda",
        lambda problem, *_: searched.append(problem) or SimpleNamespace(solution=solve(problem)),
    )
    families = tuple(
        Family(p, {"parametrisation": Parametrisation(p)}, decays=(0.003, 0.03, 0.3))
        for p in ("factorised", "symmetric")
    )
    preset = Preset(
        "", families, (0.5, 1.0), ((12, 3), (16, 3)), ("test_error",), {"target": MarchenkoPastur(0.25), "noise": 0.05}
    )  # fmt: skip
    outcome = study_learning_curves(preset, BASE, tmp_path, lambda _: None)
    assert {problem.lambda_ for problem in asked} <= set(families[0].decays)
    assert {score.problem.target for score in outcome.comparison.scores} == {MarchenkoPastur(0.25)}
    assert len(outcome.comparison.scores) == 4 * 2 * 2  # points are not split by the decay chosen
    assert len(outcome.training_order) == 2 * 2
    assert all(item["agrees"] for item in outcome.training_order)
    assert [(p.alpha, str(p.parametrisation)) for p in searched] == [
        (alpha, family.label) for family in families for alpha in (0.5, 1.0)
    ]


@pytest.mark.slow
def test_direct_training_is_not_better_than_factors_at_the_best_decay_and_the_verdict_can_turn():
    """Theory of the paper's Figure 2; the other way round the same check must fail."""
    direct = dataclasses.replace(FIGURE_TWO, parametrisation=Parametrisation.SYMMETRIC)
    curves = [
        Curve(str(problem.parametrisation), tuple(best_decay_along(problem, [0.1, 1.0], iter, 1e-3)), ())
        for problem in (FIGURE_TWO, direct)
    ]
    assert order_of_theory(*curves)["agrees"]
    assert order_of_theory(*curves)["least_excess_test_error"] > 0
    assert not order_of_theory(*curves[::-1])["agrees"]


def test_lines_break_where_the_theory_has_no_answer(few_points):
    solutions = [solve(FIGURE_TWO.at(alpha)) for alpha in (0.3, 0.5, 0.7, 1.0)]
    solutions[1] = dataclasses.replace(solutions[1], status=Status.DIVERGED)
    solutions[3] = dataclasses.replace(solutions[3], status=Status.UNSTABLE)
    files = preset_figure([Curve("a", tuple(solutions), ())], ("test_error",))
    assert files["png"].startswith(b"\x89PNG")
    assert files["pdf"].startswith(b"%PDF")


def test_the_command_writes_both_files_and_one_document(few_points, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(
        FIGURE_PRESETS,
        "1",
        dataclasses.replace(FIGURE_PRESETS["1"], families=FIGURE_PRESETS["1"].families[:1], alphas=(0.5, 1.0)),
    )
    arguments = ["figure", "1", "--dim", "16,24", "--runs", "3", "--out", str(tmp_path), "--workers", "2"]
    code = main([*arguments, "--json"])
    document = json.loads(capsys.readouterr().out)
    assert code == (0 if document["agrees"] else 1)
    assert {p.name for p in tmp_path.iterdir()} == {"figure_1.png", "figure_1.pdf", "runs.jsonl"}
    assert [len(curve["theory"]) for curve in document["curves"]] == [2]
    assert {size["dim"] for point in document["comparison"]["points"] for size in point["sizes"]} == {16, 24}
    stored = (tmp_path / "runs.jsonl").read_bytes()
    assert main(arguments) == code
    assert (tmp_path / "runs.jsonl").read_bytes() == stored  # nothing is trained twice
    table = capsys.readouterr().out
    assert table.count("z ") >= 4
    assert "see " in table


def test_the_norm_of_a_general_matrix_counts_its_antisymmetric_part():
    """What training calls q: by it and m the estimation error is q0 - 2 m + q."""
    solution = solve(dataclasses.replace(FIGURE_TWO, parametrisation=Parametrisation.GENERAL), accuracy=1e-2)
    assert solution.problem.q0 - 2 * solution.m + trained_norm(solution) == pytest.approx(
        solution.estimation_error, rel=1e-12
    )
    assert trained_norm(solution) > 1.001 * solution.q


def test_starts_are_compared_on_the_same_data_and_judged_by_the_branch_of_the_preset(tmp_path, few_points, in_process):
    """Two curves, of which theory alone draws the second; a random start alone is judged."""
    families = (Family("trained", {"lambda_": 0.05}), Family("theory", {"lambda_": 0.0}, trained=False))
    preset = Preset(
        "starts", families, (1.0,), ((12, 2), (16, 2)), line=(0.5, 1.0),
        sample_minimum=SampleMinimum.FITTED, starts=(Start.RANDOM, Start.TARGET),
    )  # fmt: skip
    assert len(runs_of(preset, BASE)) == 8
    outcome = study_learning_curves(preset, BASE, tmp_path, lambda text: None)
    assert [effect.dim for effect in outcome.starts] == [12, 16]
    assert all(effect.runs == 2 and effect.largest < 1e-3 for effect in outcome.starts)  # the energy is convex there
    first, second = outcome.curves
    assert {score.groups[0].runs for score in first.scores} == {2} and not second.scores
    assert [s.problem.alpha for s in second.solutions] == [0.5, 1.0]
    assert all(s.problem.sample_minimum is SampleMinimum.FITTED for s in first.solutions)
