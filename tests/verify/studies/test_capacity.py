"""Capacity in training: the search for the number of samples, and its verdict."""

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy
import torch

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from numeric.studies.capacity import Capacity
from verify import __main__ as verify_main
from verify.core.data import DataKind
from verify.core.pool import Pool
from verify.core.scores import extrapolated, size_groups
from verify.core.sensing.run import ModelRun
from verify.core.sensing.shape import Shape
from verify.studies.capacity.section import capacity_section
from verify.studies.capacity.separation import (
    Margins,
    SeparationRun,
    predicted_samples,
    separate,
)
from verify.studies.capacity.study import (
    CapacityCase,
    CapacityEstimate,
    CapacityPlan,
    study_capacity,
)
from verify.studies.capacity.text import capacity_verdict

pytestmark = pytest.mark.usefixtures("no_workers")

SIGNS = Problem(1.0, MarchenkoPastur(0.5), 1.0, 1.0, model="sign_quadratic_hinge")


def some_signs(shape, samples, labels=1, seed=0):
    rng = np.random.default_rng(seed)
    parameters = shape.dim * (shape.dim + 1) // 2
    signs = torch.as_tensor(rng.standard_normal((samples, labels, parameters)))
    return signs, torch.as_tensor(rng.standard_normal((shape.dim, shape.columns)))


@pytest.mark.parametrize("seed", range(4))
def test_the_number_of_samples_is_that_of_linear_programming(seed):
    """Symmetric matrices are a linear space: labels are predicted where C x >= 1 has a solution."""
    shape = Shape("symmetric", True, 6, 6)
    signs, weights = some_signs(shape, 80, seed=seed)
    low, high = predicted_samples(shape, signs, weights, resolution=0.0)
    assert high == low + 1
    for count, possible in ((low, True), (high, False)):
        constraints = -signs[:count, 0].numpy()
        found = scipy.optimize.linprog(
            np.zeros(constraints.shape[1]), constraints, -np.ones(count), bounds=(None, None)
        )
        assert found.success is possible


def test_a_positive_number_predicts_positive_labels_only():
    shape = Shape("positive", True, 1, 1)
    signs = torch.tensor([1.0, 2.0, 0.5, -1.0, 3.0]).double()[:, None, None]
    assert predicted_samples(shape, signs, torch.ones(1, 1).double(), 0.0) == (3, 4)


def test_all_samples_may_be_predicted():
    shape = Shape("positive", True, 4, 4)
    signs, weights = some_signs(shape, 3)
    assert predicted_samples(shape, signs, weights, 0.0) == (3, 4)


@pytest.mark.parametrize("kind", ["positive", "symmetric", "general"])
def test_the_gradient_of_the_margins_is_that_of_differences(kind):
    shape = Shape(kind, True, 4, 4)
    rng = np.random.default_rng(1)
    size = 16 if kind == "general" else 10
    margins = Margins(shape, torch.as_tensor(rng.standard_normal((30, size))))
    weights = torch.as_tensor(rng.standard_normal((4, shape.columns)))
    _, gradient = margins.value_and_gradient(weights)
    for place in [(0, 0), (3, 2)]:
        step = torch.zeros_like(weights)
        step[place] = 1e-6
        high, low = (
            float(margins.value_and_gradient(weights + side * step)[0]) for side in (1, -1)
        )
        assert float(gradient[place]) == pytest.approx((high - low) / 2e-6, rel=1e-5)


@pytest.mark.parametrize(
    ("model", "data"),
    [
        ("sign_quadratic_hinge", DataKind.GAUSSIAN_EQUIVALENT),
        ("hard_attention_cross_entropy", DataKind.SEQUENCES),
    ],
)
def test_labels_of_the_target_without_noise_are_all_predicted(model, data):
    """The target predicts them: the search ends at the largest number, and says so."""
    clean = replace(SIGNS, model=model, noise=0.0)
    run = SeparationRun(ModelRun(clean, 8, 0, data=data), random_labels=False)
    with pytest.raises(RuntimeError, match="all labels are predicted at the largest"):
        separate(run)


def test_noise_costs_capacity_and_random_labels_most():
    def mean(random, noise):
        problem = replace(SIGNS, noise=noise, alpha=12.0)
        runs = [SeparationRun(ModelRun(problem, 10, k), random) for k in range(6)]
        return np.mean([separate(run).alpha for run in runs])

    assert mean(True, 1.0) < mean(False, 4.0) < mean(False, 0.5)


def test_a_study_finds_the_capacity_and_says_what_it_cannot_decide(tmp_path):
    plan = CapacityPlan(
        (CapacityCase(SIGNS, True),), ((10, 24), (16, 12)), 0, DataKind.GAUSSIAN_EQUIVALENT
    )
    with Pool(1, progress=False) as pool:
        outcome = pool.run(study_capacity(plan, tmp_path))
    (found,) = outcome.estimates
    assert found.theory.alpha == pytest.approx(0.5, abs=1e-4)
    assert abs(found.infinite.z) < 4
    section = capacity_section(outcome)
    assert section.agrees is found.agrees
    assert section.document["capacities"][0]["trained"]["value"] == found.interval.value
    (figure,) = section.figures.values()
    assert len(figure.draw().axes) == 1


def estimate(values, theory):
    groups = size_groups(((dim, one) for dim, row in values.items() for one in row), theory)
    found = extrapolated(groups, 1e-3)
    return CapacityEstimate(
        CapacityCase(SIGNS, False), Capacity(theory, 1e-4, 0.8), groups, found, 1e-3
    )


def test_the_verdict_can_be_each_of_three():
    rng = np.random.default_rng(0)
    values = {
        dim: 1.3 + 2 / dim + 0.5 / dim * rng.standard_normal(count)
        for dim, count in ((20, 40), (40, 40))
    }
    assert capacity_verdict(estimate(values, 1.3)) == "agrees"
    assert 1.3 in estimate(values, 1.3).interval
    assert capacity_verdict(estimate(values, 1.5)) == "DISAGREES"
    few = {dim: row[:3] * np.array([0.7, 1, 1.3]) for dim, row in values.items()}
    assert capacity_verdict(estimate(few, 1.3)).startswith("undecided")


@pytest.mark.parametrize(
    "words",
    [
        "capacity --model tied_attention",
        "capacity --model sign_quadratic_hinge --dim 20",
        "capacity --labels random,target",
        "capacity --kappa0 0",
    ],
)
def test_what_has_no_capacity_is_refused(words, tmp_path, capsys):
    with pytest.raises((InvalidParameter, SystemExit)) as refused:
        verify_main.main([*words.split(), "--out", str(tmp_path)])
    said = capsys.readouterr().err + str(refused.value)
    assert "--" in said and not list(tmp_path.iterdir())


def test_the_command_writes_document_and_figure(tmp_path, capsys):
    words = "capacity --labels random --dim 6,9 --runs 6 --workers 1 --json"
    code = verify_main.main([*words.split(), "--out", str(tmp_path)])
    document = json.loads(capsys.readouterr().out)
    assert code == (0 if document["agrees"] else 1)
    assert {"capacity.png", "capacity.json", "capacity.jsonl"} <= {
        path.name for path in tmp_path.iterdir()
    }
