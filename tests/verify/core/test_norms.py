"""Training on tokens whose norms are not Gaussian: their data, and the theory next to them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from trained_gaps import LEFT, trained_gaps

from numeric.laws.covariance.independent import IndependentCovariance
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from verify.core.data import DataKind, draw_inputs, fresh_indices
from verify.core.norms import TokenNorms
from verify.core.realised_problem import realised_problem
from verify.core.run import Run
from verify.core.streams import HostStream

MP = MarchenkoPastur(0.5)
DIM = 6
ROOTS = torch.linspace(0.5, 1.4, DIM, dtype=torch.float64)
ROOTS = ROOTS / (ROOTS**2).mean().sqrt()


def symmetric(rng):
    matrix = rng.standard_normal((DIM, DIM))
    return torch.tensor(matrix + matrix.T)


@pytest.mark.parametrize("variance", [0.0, 1.0, 3.0])
def test_scores_of_sensing_matrices_have_the_covariance_of_the_theory(variance):
    """Those of a token with itself lose the part along C; all others keep theirs."""
    rng = np.random.default_rng(2)
    norms, count = TokenNorms(variance, ROOTS), 100_000
    s, s0 = symmetric(rng), symmetric(rng)
    kind = DataKind.GAUSSIAN_EQUIVALENT
    inputs = draw_inputs(kind, count, 2, DIM, HostStream(rng), norms)
    fresh = fresh_indices(kind, (s, s0), count, 2, HostStream(rng), law=norms)
    h0 = torch.cat([part.h0 for part in fresh])
    expected = norms.covariances(s, s0).numpy()
    own = torch.stack([inputs.indices(one)[:, 0, 0] for one in (s, s0)]).numpy()
    found = own @ own.T / count
    scale = np.sqrt(np.outer(expected.diagonal(), expected.diagonal()) * 2 / count)
    assert np.all(np.abs(found - expected) < 4 * scale)
    assert abs(float(h0[:, 1, 1].square().mean()) - expected[1, 1]) < 4 * scale[1, 1]
    other, q0 = inputs.indices(s0)[:, 0, 1], float(s0.square().sum()) / DIM
    assert abs(float(other.square().mean()) / q0 - 1) < 4 * np.sqrt(2 / count)


@pytest.mark.parametrize("variance", [0.0, 0.5])
def test_tokens_have_the_norms_that_are_stated(variance):
    norms = TokenNorms(variance, ROOTS)
    rng = HostStream(np.random.default_rng(0))
    tokens = norms.rescaled(rng.normal(20_000, 2, DIM), rng)
    squares = ((tokens * ROOTS) ** 2).sum(-1) / DIM
    allowed = 4 * np.sqrt(variance / DIM / 20_000) + 1e-12
    assert float(squares.mean()) == pytest.approx(1, abs=allowed)
    wanted = variance * float((ROOTS**4).mean()) / DIM
    assert float(squares.var()) == pytest.approx(wanted, rel=0.05, abs=1e-12)


@pytest.mark.parametrize(
    "target",
    [MP, IndependentCovariance(MP, [0.4, 1.6])],
    ids=["isotropic", "covariance"],
)
def test_runs_of_other_norms_are_other_runs(target):
    gaussian = Run(Problem(0.6, target, 0.02, 0.5), 8)
    fixed = gaussian.varied(norms="fixed")
    assert fixed.key != gaussian.key
    assert "norms" not in gaussian.record()
    assert fixed.record()["norms"] == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("kind", DataKind)
@pytest.mark.parametrize("norms", [0.0, 1.0])
@pytest.mark.parametrize("target", [MP, IndependentCovariance(MP, [0.4, 1.6])])
def test_training_meets_the_theory_of_its_norms(target, norms, kind):
    """The theory of Gaussian norms is rejected for fixed norms: its test error is too low."""

    def run_at(dim, index):
        return Run(Problem(0.6, target, 0.02, 0.5, norms=norms), dim, data=kind, index=index)

    def theory_of(one):
        return realised_problem(one.run, one.q0)

    value, error = trained_gaps(run_at, theory_of)
    assert np.all(np.abs(value) < 4 * error + LEFT)
    if norms == 0:
        value, error = trained_gaps(run_at, lambda one: replace(theory_of(one), norms=2.0))
        assert value[2] > 4 * error[2]
