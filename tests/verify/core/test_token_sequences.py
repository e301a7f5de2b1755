"""Training of any model on token sequences, and attention without the diagonal."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch

from derive.language.errors import ModelError
from derive.language.index import MaskedScores
from derive.models.tied_attention import MODEL as TIED
from numeric.problem.problem import Problem
from numeric.proven_laws.rational import rational_law
from numeric.saddle.solve import solve
from numeric.thresholds.interpolation import interpolation
from verify.core.data import DataKind
from verify.core.sensing.run import ModelRun, default_target, train_model
from verify.core.sensing.samples import sensed_indices, token_indices, token_sensing

UNTIED = "untied_attention"
QUANTITIES = ("m", "q", "train_error", "test_error")
#: (alpha, kappa0, lambda, noise) of three settings
SETTINGS = ((0.5, 0.5, 0.05, 0.5), (1.0, 0.5, 0.05, 0.5), (1.0, 0.25, 0.1, 0.2))


def problem_of(model, alpha=1.0, kappa0=0.5, decay=0.05, noise=0.5):
    return Problem(alpha, default_target(model, kappa0), decay, noise, model=model)


@pytest.mark.parametrize(
    "model", ["tied_attention", "quadratic_network", "cross_attention", UNTIED]
)
def test_sensing_matrices_of_tokens_give_their_scores(model):
    rng, problem = np.random.default_rng(0), problem_of(model)
    s = torch.as_tensor(rng.standard_normal((6, 6)))
    s = s if problem.has_singular_values else (s + s.T) / 2
    tokens = torch.as_tensor(rng.standard_normal((5, 4, 6)))
    found = sensed_indices(s, token_sensing(tokens, problem), problem)
    assert torch.allclose(found, token_indices(s, tokens, problem))


def test_scores_without_the_diagonal_are_those_of_other_tokens():
    rng, problem = np.random.default_rng(0), problem_of(UNTIED)
    s, x = (torch.as_tensor(rng.standard_normal(shape)) for shape in ((5, 5), (1, 3, 5)))
    h = (x @ s @ x.mT)[0] / 5**0.5
    rows = [h[0, 1], h[0, 2], h[1, 0], h[1, 2], h[2, 0], h[2, 1]]
    assert torch.allclose(token_indices(s, x, problem)[:, 0], torch.stack(rows))


def test_each_row_counts_like_a_query_of_cross_attention():
    """Rows are independent in the theory: three of them carry 3/2 of the labels of two queries."""
    ours, theirs = (
        interpolation(rational_law(name, kappa0=Fraction(1, 4), scale=1), 1, model=name, digits=12)
        for name in (UNTIED, "cross_attention")
    )
    assert 3 * float(ours) == pytest.approx(2 * float(theirs), rel=1e-10)


def test_symmetric_matrices_have_no_masked_scores():
    with pytest.raises(ModelError, match="equal in pairs"):
        replace(TIED, name="masked", index=MaskedScores(3))


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_untied_attention_on_sequences_meets_the_theory(setting):
    """Heads at two sizes on self-attention sequences, extrapolated with a part in 1/d."""
    problem = problem_of(UNTIED, *setting)
    theory = solve(problem)
    gaps, errors = [], []
    for dim, count in ((16, 12), (32, 6)):
        runs = [
            train_model(ModelRun(problem, dim, index, data=DataKind.SEQUENCES))
            for index in range(count)
        ]
        ratios = [[getattr(one, n) / getattr(theory, n) - 1 for n in QUANTITIES] for one in runs]
        gaps.append(np.mean(ratios, axis=0))
        errors.append(np.std(ratios, axis=0, ddof=1) / count**0.5)
    value = 2 * gaps[1] - gaps[0]
    error = np.sqrt(4 * errors[1] ** 2 + errors[0] ** 2)
    assert np.all(np.abs(value) < 4 * error), (value, error)
