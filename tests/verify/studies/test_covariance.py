"""Training on tokens with a covariance against the theory."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.covariance.aligned import AlignedCovariance
from numeric.laws.covariance.independent import IndependentCovariance
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from verify.batches.execute import execute_batch
from verify.core.campaign import Campaign
from verify.core.controls import WITHOUT_COVARIANCE, covariance_plan, study_controls
from verify.core.controls_section import controls_section
from verify.core.data import DataKind, Sequences
from verify.core.draw import draw
from verify.core.measure import execute
from verify.core.parametrisation import WhitenedFactors
from verify.core.pool import Pool
from verify.core.realised_problem import realised_problem
from verify.core.risk import Risk
from verify.core.run import Run
from verify.core.target import covariance_eigenvalues
from verify.core.theory import without_covariance

LAW = IndependentCovariance(MarchenkoPastur(0.5), (0.1, 1.9))
BASE = Run(Problem(0.5, LAW, 0.05, 0.5), dim=12)


def test_the_risk_is_that_of_tokens_with_the_covariance():
    """Loss and gradient by W from the tokens x = C^(1/2) g themselves, by autograd."""
    rng, c = np.random.default_rng(0), np.array([0.2, 0.6, 1.4, 1.8])
    g, y = torch.as_tensor(rng.standard_normal((30, 2, 4))), torch.rand(30, 2, 2).double()
    y /= y.sum(-1, keepdim=True)
    w = torch.as_tensor(rng.standard_normal((4, 3))).requires_grad_()
    x = torch.as_tensor(np.sqrt(c)) * g
    s = w @ w.T / math.sqrt(12)
    h = (x @ s @ x.mT - torch.eye(2).double() * (torch.as_tensor(c) * s.diagonal()).sum()) / 2
    loss = (torch.softmax(1.3 * h, -1) - y).square().sum() + 0.3 * w.square().sum()
    (slope,) = torch.autograd.grad(loss / 16, w)
    risk = Risk(Sequences(g), y, 0.3, 1.3, WhitenedFactors(tuple(np.sqrt(c))))
    value, gradient = risk.value_and_gradient(w.detach())
    assert float(value) == pytest.approx(float(loss.detach()) / 16, rel=1e-12)
    assert gradient.numpy() == pytest.approx(slope.numpy(), rel=1e-10)


def test_sizes_have_means_of_the_law_over_equal_masses():
    assert covariance_eigenvalues(LAW, 4) == pytest.approx([1.9, 1.9, 0.1, 0.1])
    assert covariance_eigenvalues(LAW, 3) == pytest.approx([1.9, 1.0, 0.1])
    power = IndependentCovariance(MarchenkoPastur(0.5), np.arange(1.0, 1001) ** -0.5)
    found = covariance_eigenvalues(power, 10)
    assert found.mean() == pytest.approx(1) and list(found) == sorted(found, reverse=True)
    assert found[0] == pytest.approx(np.mean(power.covariance[:100]))
    assert covariance_eigenvalues(MarchenkoPastur(0.5), 4).size == 0
    aligned = AlignedCovariance((2.0, 1.0), (0.5, 1.5))
    assert covariance_eigenvalues(aligned, 2) == pytest.approx([0.5, 1.5])
    with pytest.raises(InvalidParameter, match="dim = 3"):
        covariance_eigenvalues(aligned, 3)


@pytest.mark.parametrize("kind", DataKind)
@pytest.mark.parametrize(
    "changes",
    [
        {"target_kind": "gaussian"},
        {"target_kind": "deterministic"},
        {"parametrisation": "symmetric"},
    ],
)
def test_runs_alone_or_together_reach_the_same_minimum(kind, changes):
    runs = [BASE.varied(data=kind, index=index, **changes) for index in range(2)]
    for one, other in zip(map(execute, runs), execute_batch(runs), strict=True):
        # each descent ends within 5e-5 of its limit
        assert (one.m, one.q, one.loss) == pytest.approx((other.m, other.q, other.loss), rel=1e-3)


def test_the_target_of_a_run_is_whitened():
    run = BASE.varied(dim=40, target_kind="gaussian")
    q0 = float(draw(run).s0.square().sum()) / 40
    problem = realised_problem(run, q0)
    assert problem.target.q0 == pytest.approx(q0, rel=1e-12)
    assert problem.target.covariance == pytest.approx((1.9,) * 20 + (0.1,) * 20)
    aligned = AlignedCovariance((2.0, 1.0, 0.5, 0.0), (0.5, 1.5, 1.2, 0.8))
    s0 = draw(Run(Problem(0.5, aligned, 0.05, 0.5), dim=4)).s0
    assert s0.numpy() == pytest.approx(np.diag([1.0, 1.5, 0.6, 0.0]))


def test_records_of_isotropic_runs_do_not_change():
    record = BASE.record()
    assert record["covariance"] == pytest.approx([1.9] * 6 + [0.1] * 6)
    assert "covariance" not in BASE.varied(target=MarchenkoPastur(0.5)).record()
    assert BASE.key != BASE.varied(target=IndependentCovariance(LAW.target, (0.2, 1.8))).key


@pytest.mark.parametrize(
    "changes", [{"minimiser": "proximal"}, {"start": "target"}, {"output": "sequences"}]
)
def test_what_needs_isotropic_tokens_is_refused(changes):
    with pytest.raises(InvalidParameter, match=next(iter(changes))):
        BASE.varied(**changes)


def test_isotropic_theory_has_the_second_moment_of_the_target():
    assert without_covariance(BASE.problem).q0 == pytest.approx(LAW.q0)


def test_trained_heads_agree_and_isotropic_theory_is_rejected(tmp_path):
    campaign = Campaign(DataKind.SEQUENCES, ((24, 8), (40, 8)), (0.2, 0.8), (1.0,))
    base = BASE.varied(dim=24, lambda_=0.01)
    shuffled = dataclasses.replace(base, shuffle_labels=True)
    with Pool(1, progress=False) as pool:
        outcome, control = (
            pool.run(study_controls(covariance_plan(run, campaign, must_reject=True), tmp_path))
            for run in (base, shuffled)
        )
    assert outcome.comparison.agrees and outcome.agrees
    assert outcome.rejects(WITHOUT_COVARIANCE) and list(outcome.controls) == [WITHOUT_COVARIANCE]
    assert not control.agrees
    section = controls_section(outcome)
    assert section.document["rejects_isotropic"]
    assert (
        "theory of the tokens with a covariance: agrees; theory of isotropic tokens: rejected"
        in (section.text)
    )
