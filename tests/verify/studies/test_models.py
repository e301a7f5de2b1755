"""The risk of any model: its gradient by differences, the law of its indices, and a small training
beside the theory.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from numeric import model as models
from numeric.laws.power_law import power_law
from numeric.problem.problem import Problem, extra_setting_names
from numeric.saddle.solve import solve
from verify.core.data import DataKind
from verify.core.pool import Pool
from verify.core.sensing.risk import SensedRisk
from verify.core.sensing.run import ModelRun, default_target, train_model
from verify.core.sensing.samples import coordinates, deviations, from_coordinates, sensed_labels
from verify.core.sensing.shape import Shape
from verify.studies.models import study
from verify.studies.models.study import (
    EXTRA,
    JUDGED,
    SETTINGS,
    ModelsPlan,
    TrainingSetup,
    problem_at,
    study_models,
)

pytestmark = pytest.mark.usefixtures("no_workers")

SMALL = TrainingSetup(((12, 16), (18, 16)))


@pytest.fixture(scope="module")
def pool():
    with Pool(1, progress=False) as one:
        yield one


def problem(name, alpha=1.0, lambda_=0.05):
    extra = tuple((key, EXTRA[key]) for key in extra_setting_names(name))
    return Problem(alpha, default_target(name, 0.5), lambda_, 0.5, model=name, extra=extra)


NAMES = [name for name in models.available() if name != "tied_attention_two_bulks"]


def small_risk(name, dim=5, samples=12):
    asked, rng = problem(name), np.random.default_rng(1)
    shape_of = models.structure(name)
    size = dim**2 if shape_of.matrix == "general" else dim * (dim + 1) // 2
    sensing = torch.as_tensor(rng.standard_normal((len(shape_of.index_variances), samples, size)))
    s0 = torch.as_tensor(rng.standard_normal((dim, dim)))
    shape = Shape(shape_of.matrix, shape_of.has_linear_penalty, dim, 4)
    labels = sensed_labels(s0 if shape.kind == "general" else s0 + s0.T, sensing, asked, rng)
    return SensedRisk(asked, shape, sensing, labels), torch.as_tensor(
        rng.standard_normal((dim, shape.columns))
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_is_that_of_the_risk(name):
    risk, weights = small_risk(name)
    _, gradient = risk.value_and_gradient(weights)
    for place in [(0, 0), (2, 1), (4, weights.shape[1] - 1)]:
        step = torch.zeros_like(weights)
        step[place] = 1e-5
        high, low = (float(risk.value_and_gradient(weights + side * step)[0]) for side in (1, -1))
        assert float(gradient[place]) == pytest.approx((high - low) / 2e-5, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("kind", ["positive", "general"])
def test_coordinates_keep_the_norm_and_slopes_the_product(kind):
    rng = np.random.default_rng(2)
    s, g = (torch.as_tensor(rng.standard_normal((6, 6))) for _ in range(2))
    s, g = (s, g) if kind == "general" else (s + s.T, g + g.T)
    assert float(coordinates(s, kind).square().sum()) == pytest.approx(float(s.square().sum()))
    assert torch.allclose(from_coordinates(coordinates(g, kind), kind, 6), g)


@pytest.mark.parametrize("name", ["tied_attention", "cross_attention"])
def test_indices_have_the_variances_of_the_model(name):
    """Per unit tr S^T S/d, over many sensing matrices: 20000 samples know a variance to one per
    cent.
    """
    risk, weights = small_risk(name, dim=4, samples=20_000)
    s = risk.shape.matrix(weights)
    measured = risk.indices(s).var(1) / (s.square().sum() / 4)
    assert torch.allclose(measured, deviations(risk.problem) ** 2, rtol=4 * 0.01)


@pytest.mark.parametrize(
    "name",
    [
        "quadratic_network",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("tied_attention_cross_entropy", "first_row_attention")
        ),
    ],
)
def test_a_small_training_meets_the_theory(name, pool, tmp_path):
    """Sixteen runs at two small sizes, extrapolated: |z| < 4 in every quantity, as chance exceeds
    once in 16000.
    """
    scores = scores_of(problem(name), pool, tmp_path)
    assert all(score.agrees for score in scores), [(score.quantity, score.z) for score in scores]
    assert {score.quantity for score in scores} == set(JUDGED)


def test_listed_singular_values_are_trained_as_the_theory_has_them():
    """Cross-entropy of cross attention, a power law of 20 singular values; sizes of order 1/d stay
    below four standard errors.
    """
    problem = Problem(
        0.5, power_law(0.75, 20, singular=True), 0.5, 0.5, model="cross_attention_cross_entropy"
    )
    theory, runs = (
        solve(problem).unwrap(),
        [train_model(ModelRun(problem, 20, index)) for index in range(12)],
    )
    for name in ("m", "q", "train_error", "test_error", "free_entropy"):
        values = [getattr(run, name) for run in runs]
        assert np.mean(values) == pytest.approx(
            getattr(theory, name), abs=4 * np.std(values, ddof=1) / 12**0.5
        ), name


def scores_of(problem, pool, folder, training=SMALL):
    (model,) = pool.run(study_models(ModelsPlan((problem,), training), folder)).models
    return model.scores


def test_finished_runs_are_kept(no_workers, tmp_path):
    """`verify models` lost all finished runs at an interrupt."""
    small = replace(SMALL, sizes=((6, 2), (8, 2)))
    with Pool(progress=False) as pool:
        first = scores_of(problem("quadratic_network"), pool, tmp_path, small)
    kept = (tmp_path / "models.jsonl").read_text().splitlines()
    assert len(kept) == 4
    with Pool(progress=False) as pool:
        assert scores_of(problem("quadratic_network"), pool, tmp_path, small) == first
        assert "training" not in pool.seconds
    assert (tmp_path / "models.jsonl").read_text().splitlines() == kept


def test_broken_data_are_found(pool, tmp_path):
    """Labels shuffled among samples: the verdict must turn."""
    broken = replace(SMALL, shuffle_labels=True)
    scores = scores_of(problem("quadratic_network"), pool, tmp_path, broken)
    assert not all(score.agrees for score in scores)


def test_a_wrong_theory_is_found(monkeypatch, pool, tmp_path):
    """Noise Delta in place of Delta/2 in the theory: the verdict must turn."""
    right = problem("quadratic_network")
    wrong = Problem(1.0, right.target, 0.05, 1.0, model="quadratic_network")
    monkeypatch.setattr(
        study, "_theory_task", lambda problems, *grid: study.Task(solutions, (wrong,), 0)
    )
    assert not all(score.agrees for score in scores_of(right, pool, tmp_path))


def solutions(problem):
    return [solve(problem)]


@pytest.mark.slow
def test_quadratic_losses_of_a_vocabulary_agree_on_sequences(tmp_path):
    names = ("quadratic_network", "linear_attention")
    setting = SETTINGS[0]._replace(alpha=0.6)
    problems = tuple(problem_at(name, setting, vocabulary=0.5) for name in names)
    trial = TrainingSetup(((24, 12), (36, 12)), data=DataKind.SEQUENCES)
    with Pool(2, progress=False) as pool:
        outcome = pool.run(study_models(ModelsPlan(problems, trial), tmp_path))
    assert outcome.agrees
