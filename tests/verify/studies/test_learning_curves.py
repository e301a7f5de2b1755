"""Presets of figures: they cover what was promised, carry out at tiny sizes, and their verdicts can
turn.
"""

import dataclasses
import json
from functools import partial
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.plotting.style import Sheet, style_context
from numeric.problem.problem import Parametrisation, Problem, SampleMinimum
from numeric.problem.solution import Status
from numeric.saddle.solve import solve
from verify.__main__ import main
from verify.cli.paper_figures import FIGURES
from verify.core import theory_lines
from verify.core.curve_panel import Curve, _title, add_legend, draw_curves
from verify.core.drawing import render_figure
from verify.core.paper import figure_one
from verify.core.run import Run, Start
from verify.core.scores import Comparison
from verify.core.theory import trained_norm
from verify.core.theory_lines import (
    SolvedLine,
    TheoryLine,
    line_solutions,
    line_store,
    line_tasks,
    solve_line,
)
from verify.studies.learning_curves import study as learning_curves
from verify.studies.learning_curves.figure import preset_figure
from verify.studies.learning_curves.presets import (
    LEARNING_CURVES,
    PRESETS,
    learning_curve_figure,
)
from verify.studies.learning_curves.study import (
    Family,
    LearningCurveOutcome,
    LearningCurvePlan,
    Preset,
    order_of_theory,
    runs_of,
    study_learning_curves,
)
from verify.studies.learning_curves.text import learning_curve_lines

BASE = figure_one()
FIGURE_TWO = Problem(alpha=1.0, target=MarchenkoPastur(0.05), lambda_=0.1, noise=0.05)


@pytest.fixture
def few_points(monkeypatch):
    monkeypatch.setattr(learning_curves, "LINE_POINTS", 2)


class Here:
    """A pool that works here: workers, tested elsewhere, take longer to start than these heads to
    train.
    """

    def __init__(self):
        self.known = {}

    def run(self, steps):
        results = None
        while True:
            try:
                jobs = steps.send(results)
            except StopIteration as end:
                return end.value
            for job in jobs:
                if job not in self.known:
                    self.known[job] = job.function(*job.arguments)
            results = [self.known[job] for job in jobs]

    def lines(self):
        return [job.arguments[0] for job in self.known if isinstance(job.arguments[0], TheoryLine)]


def computed(preset, base, folder, pool):
    return pool.run(study_learning_curves(LearningCurvePlan(preset, base), folder))


def test_presets_hold_the_settings_of_the_paper():
    """Tokens, width on both sides of the target's rank, unequal temperatures and both direct
    parametrisations.
    """
    presets = {name: settings[0] for name, settings in PRESETS.items()}
    runs = {
        name: runs_of(preset, BASE.varied(**preset.settings)) for name, preset in presets.items()
    }
    assert {"1", "2", "6", "10", "11"} <= set(runs)
    every = [run for found in runs.values() for run in found]
    assert {run.problem.tokens for run in every} == {2, 3, 5}
    assert {np.sign(run.problem.width - run.problem.target.kappa0) for run in runs["width"]} == {
        -1,
        1,
    }
    assert {np.sign(run.problem.beta - run.problem.beta0) for run in runs["temperature"]} == {
        -1,
        0,
        1,
    }
    assert {(run.problem.beta, run.problem.beta0) for run in runs["10"]} == {
        (0.5, 0.5),
        (1.0, 1.0),
        (2.0, 2.0),
    }
    assert {run.problem.noise for name in ("10", "11") for run in runs[name]} == {0.0, 0.5}
    assert {run.problem.parametrisation for run in runs["direct"]} == set(Parametrisation)
    assert presets["2"].settings == {"target": MarchenkoPastur(0.05), "noise": 0.05}
    # else nothing can be extrapolated
    assert all(
        len(figure.sizes(paper)) >= 2
        for figure in LEARNING_CURVES.values()
        for paper in (False, True)
    )
    # a rounded width would be compared at another setting than the one drawn
    assert all(run.columns == pytest.approx(run.problem.width * run.dim) for run in every)


def test_samples_of_several_tokens_meet_at_equal_numbers_of_labels():
    """Figure 11: at one of its sample ratios every student has as many labels, D alpha d^2."""
    runs = runs_of(PRESETS["11"][0], BASE)
    for tokens in (2, 3, 5):
        own = {run.problem.alpha for run in runs if run.problem.tokens == tokens}
        labels = tokens * (tokens + 1) / 2 - 1
        assert sorted(labels * alpha for alpha in own) == pytest.approx(PRESETS["11"][0].alphas)


def test_a_line_is_kept_and_found_again(tmp_path):
    line = TheoryLine(FIGURE_TWO, (0.5, 1.0), 1e-2)
    solved = solve_line(line)
    store = line_store(tmp_path)
    store.append(solved)
    assert store.load([line, line]) == {line: solved}
    assert [job.store for job in line_tasks(line, store)] == [store]
    other = dataclasses.replace(line, accuracy=1e-3)
    assert other.key != line.key


def test_a_line_on_the_fitted_branch_is_solved_in_pieces(tmp_path, monkeypatch):
    """One of 13 points held a core for 13 minutes, and nothing else was left for the others."""
    monkeypatch.setattr(
        theory_lines,
        "solve_line",
        lambda line: SolvedLine(line, tuple(map(line.problem.at, line.alphas))),
    )
    alphas = tuple(np.geomspace(0.1, 3.2, 13).tolist())
    line = TheoryLine(
        dataclasses.replace(FIGURE_TWO, sample_minimum=SampleMinimum.FITTED), alphas, 1e-2
    )
    store = line_store(tmp_path)
    jobs = line_tasks(line, store)
    assert len(jobs) == 4
    assert sum(job.cost for job in jobs) == pytest.approx(line.cost)
    assert [
        [problem.alpha for problem in solved]
        for solved in Here().run(line_solutions([line], store))
    ] == [list(alphas)]


@pytest.mark.slow
def test_a_small_figure_agrees_is_drawn_reproducibly_and_can_fail(few_points, tmp_path):
    families = tuple(
        Family(f"{width}", {"width": width}, spectrum=width == 1) for width in (0.75, 1.0)
    )
    preset = Preset("", families, (0.5, 1.0), ((16, 4), (24, 4)), spectra=((0.5, ((24, 4),)),))
    first = computed(preset, BASE, tmp_path, Here())
    assert first.agrees
    assert [(label, spectrum.dim, len(spectrum.values)) for label, spectrum in first.spectra] == [
        ("1.0", 24, 4)
    ]
    assert [{s.problem.width for s in curve.scores} for curve in first.curves] == [{0.75}, {1.0}]
    assert all(
        s.problem.width == float(curve.label) for curve in first.curves for s in curve.solutions
    )
    assert render_figure(partial(preset_figure, first)) == render_figure(
        partial(preset_figure, first)
    )
    one = dataclasses.replace(preset, families=families[:1], spectra=())
    broken = computed(one, BASE.varied(shuffle_labels=True), tmp_path, Here())
    assert not broken.agrees


@pytest.mark.slow
def test_where_the_theory_has_no_value_nothing_is_judged_and_the_rest_is_drawn(
    few_points, tmp_path, monkeypatch
):
    """At beta = 2 one point of six had none, and ten minutes of work ended in a line."""
    solved = theory_lines.solve_line

    def without_the_last(line):
        found = solved(line)
        last = dataclasses.replace(found.solutions[-1], status=Status.INACCURATE)
        return dataclasses.replace(found, solutions=(*found.solutions[:-1], last))

    monkeypatch.setattr(theory_lines, "solve_line", without_the_last)
    preset = Preset("", (Family("one", {"width": 1.0}),), (0.5, 1.0), ((12, 3), (16, 3)))
    outcome = computed(preset, BASE, tmp_path, Here())
    assert not outcome.agrees
    assert {(score.problem.alpha, np.isnan(score.z)) for score in outcome.comparison.scores} == {
        (0.5, False),
        (1.0, True),
    }
    assert {verdict.advice for verdict in outcome.comparison.verdicts} == {
        "undetermined: no theory at alpha 1"
    }
    assert render_figure(partial(preset_figure, outcome))


@pytest.mark.slow
def test_a_chosen_decay_is_judged_by_the_theory_at_that_decay(few_points, tmp_path, monkeypatch):
    pool = Here()  # the search itself is tested with numeric
    monkeypatch.setattr(
        theory_lines, "optimal_lambda", lambda problem, *_: SimpleNamespace(solution=solve(problem))
    )
    families = tuple(
        Family(p, {"parametrisation": Parametrisation(p)}, decays=(0.003, 0.03, 0.3))
        for p in ("factorised", "symmetric")
    )
    preset = Preset(
        "",
        families,
        (0.5, 1.0),
        ((12, 3), (16, 3)),
        ("test_error",),
        {"target": MarchenkoPastur(0.25), "noise": 0.05},
    )
    outcome = computed(preset, BASE, tmp_path, pool)
    assert {line.problem.lambda_ for line in pool.lines() if not line.chosen} <= set(
        families[0].decays
    )
    assert {score.problem.target for score in outcome.comparison.scores} == {MarchenkoPastur(0.25)}
    assert len(outcome.comparison.scores) == 4 * 2 * 2  # points are not split by the decay chosen
    assert len(outcome.training_order) == 2 * 2
    assert all(item["agrees"] for item in outcome.training_order)
    chosen = [
        (line.alphas, str(line.problem.parametrisation)) for line in pool.lines() if line.chosen
    ]
    assert chosen == [((0.5, 1.0), family.label) for family in families]


@pytest.mark.slow
def test_direct_training_is_not_better_than_factors_at_the_best_decay_and_the_verdict_can_turn():
    """Theory of the paper's Figure 2; the other way round the same check must fail."""
    direct = dataclasses.replace(FIGURE_TWO, parametrisation=Parametrisation.SYMMETRIC)
    curves = [
        Curve(
            str(problem.parametrisation),
            solve_line(TheoryLine(problem, (0.1, 1.0), 1e-3, True)).solutions,
            (),
        )
        for problem in (FIGURE_TWO, direct)
    ]
    ordered, reversed_ = order_of_theory(*curves, 0.1), order_of_theory(*curves[::-1], 0.1)
    assert ordered["agrees"] and not ordered["better"]
    assert ordered["least_excess_test_error"] > 0
    assert not reversed_["agrees"]
    assert [place["alpha"] for place in reversed_["better"]] == [0.1, 1.0]


@pytest.mark.slow
def test_where_nearly_nothing_is_learned_direct_training_is_better():
    """Its linear estimate keeps the whole target; factors keep the positive part of the noise and
    half of the target.
    """
    decays = np.geomspace(1e-3, 0.3, 40)
    least = {}
    for parametrisation, alpha in product(
        (Parametrisation.FACTORISED, Parametrisation.SYMMETRIC), (0.005, 0.02)
    ):
        problem = dataclasses.replace(FIGURE_TWO, parametrisation=parametrisation, alpha=alpha)
        solved = [
            solve(dataclasses.replace(problem, lambda_=float(decay))).unwrap() for decay in decays
        ]
        least[parametrisation, alpha] = min(solution.test_error for solution in solved)
    excess = {
        a: least[Parametrisation.SYMMETRIC, a] - least[Parametrisation.FACTORISED, a]
        for a in (0.005, 0.02)
    }
    assert excess[0.005] == pytest.approx(
        -1.43e-3, rel=0.05
    )  # the optimum between decays is lower by parts of 1e-5
    assert excess[0.02] > 0.05


@pytest.mark.slow
def test_spectra_are_trained_at_a_weight_decay_that_training_chooses_from(tmp_path, monkeypatch):
    """Below interpolation the theory's best weight decay vanishes; heads of 60 columns did not
    converge at 9e-7.
    """

    def vanishing(problem, *_):
        return SimpleNamespace(solution=solve(dataclasses.replace(problem, lambda_=1e-6)))

    monkeypatch.setattr(theory_lines, "optimal_lambda", vanishing)
    factors = Family(
        "factors",
        {"parametrisation": Parametrisation.FACTORISED},
        decays=(0.01, 0.1, 0.3),
        spectrum=True,
    )
    preset = Preset(
        "",
        (factors,),
        (0.5, 1.0),
        ((8, 2), (12, 2)),
        line=(0.5, 1.0),
        spectra=((0.1, ((8, 1), (12, 2))),),
    )
    pool = Here()
    ((label, spectrum),) = computed(preset, BASE, tmp_path, pool).spectra
    assert (label, spectrum.dim, len(spectrum.values), len(spectrum.smaller[0])) == (
        "factors",
        12,
        2,
        1,
    )
    heads = [job.arguments[0] for job in pool.known if isinstance(job.arguments[0], Run)]
    assert [run.problem.lambda_ for run in heads] == [0.01] * 3


def test_lines_break_where_the_theory_has_no_answer(few_points):
    solutions = [solve(FIGURE_TWO.at(alpha)) for alpha in (0.3, 0.5, 0.7, 1.0)]
    solutions[1] = dataclasses.replace(solutions[1], status=Status.DIVERGED)
    solutions[3] = dataclasses.replace(solutions[3], status=Status.UNSTABLE)
    preset = Preset("", (), (0.3, 1.0), ((12, 2),), ("test_error",))
    outcome = LearningCurveOutcome(
        preset, (Curve("a", tuple(solutions), ()),), Comparison((), (), ())
    )
    said = "".join(learning_curve_lines(outcome))
    assert said.startswith("no theory of a at alpha 0.5: ") and said.count("no theory") == 1
    assert "(dotted: replica symmetry broken; gaps: no value to rely on)" in _title(outcome.curves)
    files = render_figure(partial(preset_figure, outcome))
    assert files["png"].startswith(b"\x89PNG")
    assert files["pdf"].startswith(b"%PDF")


@pytest.mark.parametrize("count", [2, 7])
def test_a_legend_fits_its_sheet(count):
    """Seven weight decays above two panels in a column were cut off at both ends."""
    with style_context():
        figure = Sheet(1, 3.0)
        figure.subplots(1, 2)
        add_legend(
            figure, [Curve(rf"$\lambda = {k}\times 10^{{-4}}$", (), ()) for k in range(count)]
        )
        figure.draw_without_rendering()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1
    assert len(legend.get_texts()) == count


@pytest.mark.slow
def test_the_command_writes_both_files_and_one_document(few_points, tmp_path, monkeypatch, capsys):
    preset, sizes, spectra = PRESETS["1"]
    few = dataclasses.replace(preset, families=preset.families[:1], alphas=(0.5, 1.0))
    monkeypatch.setitem(FIGURES, "1", learning_curve_figure(few, sizes, spectra, name="1"))
    arguments = [
        "figure",
        "1",
        "--dim",
        "16,24",
        "--runs",
        "3",
        "--out",
        str(tmp_path),
        "--workers",
        "2",
    ]
    code = main([*arguments, "--json"])
    document = json.loads(capsys.readouterr().out)
    assert code == (0 if document["agrees"] else 1)
    drawn = {f"figure_1.{suffix}" for suffix in ("png", "pdf", "json")}
    assert {p.name for p in tmp_path.iterdir() if p.suffix != ".lock"} == {
        *drawn,
        "runs.jsonl",
        "lines.jsonl",
    }
    assert [len(curve["theory"]) for curve in document["curves"]] == [2]
    assert {
        size["dim"] for point in document["comparison"]["points"] for size in point["sizes"]
    } == {16, 24}
    stored = [(tmp_path / name).read_bytes() for name in ("runs.jsonl", "lines.jsonl")]
    assert main(arguments) == code
    assert [
        (tmp_path / name).read_bytes() for name in ("runs.jsonl", "lines.jsonl")
    ] == stored  # nothing is done twice
    table = capsys.readouterr().out
    assert table.count("z ") >= 4
    assert "see " in table


def test_the_norm_of_a_general_matrix_counts_its_antisymmetric_part():
    """What training calls q: by it and m the estimation error is q0 - 2 m + q."""
    solution = solve(
        dataclasses.replace(FIGURE_TWO, parametrisation=Parametrisation.GENERAL), accuracy=1e-2
    )
    assert solution.problem.q0 - 2 * solution.m + trained_norm(solution) == pytest.approx(
        solution.estimation_error, rel=1e-12
    )
    assert trained_norm(solution) > 1.001 * solution.q


def test_training_errors_that_vanish_leave_the_panel():
    """At lambda = 0 below interpolation; their logarithm once ended the figure after half an hour
    of training.
    """
    problem = Problem(alpha=1.0, target=MarchenkoPastur(0.5), lambda_=0.0, noise=0.5)
    solutions = tuple(solve(problem.at(alpha)) for alpha in (0.05, 0.1, 0.5, 1.0))
    axes = Figure().subplots()
    draw_curves(axes, [Curve("limit", solutions, ())], ("train_error",))
    (line,) = (
        line for line in axes.lines if len(line.get_xdata())
    )  # of trained points there are none
    assert line.get_xdata()[[0, -1]] == pytest.approx([0.5, 1.0])
    low, high = axes.get_ylim()
    assert 0 < low < solutions[2].train_error < solutions[3].train_error < high


@pytest.mark.slow
def test_starts_are_compared_on_the_same_data_and_judged_by_the_branch_of_their_curve(
    tmp_path, few_points
):
    """Two curves, of which theory alone draws the second; a random start alone is judged."""
    families = (
        Family("trained", {"lambda_": 0.05}, sample_minimum=SampleMinimum.FITTED),
        Family("theory", {"lambda_": 0.0}, trained=False),
    )
    starts = (Start.RANDOM, Start.TARGET)
    preset = Preset("starts", families, (1.0,), ((12, 2), (16, 2)), line=(0.5, 1.0), starts=starts)
    assert len(runs_of(preset, BASE)) == 8
    outcome = computed(preset, BASE, tmp_path, Here())
    assert [effect.dim for effect in outcome.starts] == [12, 16]
    assert all(
        effect.runs == 2 and effect.largest < 1e-3 for effect in outcome.starts
    )  # the energy is convex there
    first, second = outcome.curves
    assert {score.groups[0].runs for score in first.scores} == {2} and not second.scores
    assert [s.problem.alpha for s in second.solutions] == [0.5, 1.0]
    assert all(
        s.problem.sample_minimum is SampleMinimum.FITTED for s in (*first.solutions, *first.scores)
    )
    assert all(s.problem.sample_minimum is SampleMinimum.GLOBAL for s in second.solutions)
