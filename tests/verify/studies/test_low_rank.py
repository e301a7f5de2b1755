"""Ranks of trained heads, the upper bulk, and the study on small heads."""

import dataclasses
import json

import numpy as np
import pytest

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from numeric.saddle.solve import solve
from numeric.studies.spectrum import learned_rank
from verify.cli.figure import write
from verify.cli.paper_figures import FIGURES
from verify.core.measure import execute
from verify.core.pool import Pool
from verify.core.run import Run
from verify.core.spectra import model_spectra
from verify.studies.low_rank.study import RankPlan, gap_of, ranked, study_ranks

pytestmark = pytest.mark.usefixtures("no_workers")

RUN = Run(Problem(2.0, MarchenkoPastur(0.2), 0.01, 0.5), 40)


def test_the_rank_is_that_of_maps_drawn_from_the_theory():
    solution = solve(RUN.problem)
    drawn = np.mean(model_spectra(solution, RUN, 300, np.random.default_rng(0)) > 0, axis=1)
    rank, _ = learned_rank(solution)
    # finite size moves the mean by a fraction of an eigenvalue
    assert drawn.mean() == pytest.approx(rank, abs=4 * drawn.std() / np.sqrt(300) + 0.5 / RUN.dim)


def test_of_drawn_maps_the_upper_bulk_has_its_number_of_eigenvalues():
    solution = solve(RUN.problem)
    values = model_spectra(solution, RUN, 50, np.random.default_rng(0))
    assert np.all((values > gap_of(solution)).sum(axis=1) == 8)  # kappa0 d


def test_before_the_split_there_is_no_upper_bulk():
    assert gap_of(solve(RUN.problem.at(0.3))) is None


def test_a_trained_map_has_the_rank_that_linear_algebra_says():
    result = execute(dataclasses.replace(RUN, problem=RUN.problem.at(0.3)))
    values = np.array(result.singular_values)
    assert (
        ranked(result, None).rank
        == np.linalg.matrix_rank(np.diag(values), tol=1e-4 * values.max()) / 40
    )
    assert ranked(result, values[4:6].mean()).upper == 5 / 40


@pytest.fixture(scope="module")
def curves(tmp_path_factory):
    plan = RankPlan(RUN, {0.2: (0.2, 2.0)}, ((20, 6), (30, 6)), (0.1, 0.3, 0.6, 3.0))
    with Pool(1, progress=False) as pool:
        return pool.run(study_ranks(plan, tmp_path_factory.mktemp("runs")))


@pytest.mark.slow
def test_small_heads_agree(curves):
    (curve,) = curves
    assert curve.agrees
    assert curve.theory.split.alpha == pytest.approx(
        0.4218, abs=1e-4
    )  # as in the figure, from other neighbours
    assert [score.problem.alpha for score in curve.uppers] == [2.0]


@pytest.mark.slow
def test_another_target_is_told_apart(curves):
    (curve,) = curves
    wrong = tuple(dataclasses.replace(score, z=9.0) for score in curve.uppers)
    assert not dataclasses.replace(curve, uppers=wrong).agrees


@pytest.mark.slow
def test_the_figure_and_its_document(curves, tmp_path):
    section = FIGURES["low-rank"].show(curves)
    files = write(section, tmp_path)
    assert set(files) == {f"low_rank.{suffix}" for suffix in ("png", "pdf", "json")}
    (document,) = json.loads(files["low_rank.json"])["curves"]
    assert document["split_alpha"] == curves[0].theory.split.alpha
    assert "two bulks from alpha = 0.4218" in section.lines[0]
