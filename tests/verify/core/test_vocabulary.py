"""Sequences of tokens from a table of vectors."""

from pathlib import Path

import numpy as np
import pytest
import torch
from devices import DEVICES

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.covariance.independent import IndependentCovariance
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from numeric.real.tokens import TokenFile
from numeric.saddle.solve import solve
from verify.core.data import DataKind
from verify.core.draw import draw, token_law
from verify.core.measure import RunResult, execute
from verify.core.realised_problem import realised_problem
from verify.core.run import Run
from verify.core.streams import stream
from verify.core.vocabulary import Vocabulary

WORDS = TokenFile(str(Path(__file__).parents[2] / "data" / "word_vectors.npy"), dim=16)
TARGET = IndependentCovariance(MarchenkoPastur(0.5), WORDS.table.covariance.tolist())
RUN = Run(Problem(0.6, TARGET, 0.02, 0.5, norms=0.0), 16, drawn_from=Vocabulary(WORDS))


def test_every_token_of_a_sequence_is_a_vector_of_the_table():
    tokens = draw(RUN).inputs.tokens.flatten(0, 1).numpy()
    table = WORDS.table.whitened
    nearest = np.argmin(np.sum(table**2, -1) - 2 * tokens @ table.T, axis=1)
    assert np.allclose(tokens, table[nearest])
    assert len(set(nearest.tolist())) > 0.9 * len(tokens) * (1 - len(tokens) / 2 / len(table))


def test_all_tokens_are_equally_likely():
    """A chi-square of the counts, within four standard deviations of its mean."""
    count, size = 200_000, len(WORDS.table.vectors)
    x = Vocabulary(WORDS).draw((count, 1, 16), stream(np.random.SeedSequence(0), "cpu"))
    values, found = np.unique(x[:, 0, 0].numpy(), return_counts=True)
    assert len(values) == size
    chi_square = np.sum((found - count / size) ** 2) / (count / size)
    assert abs(chi_square - size) < 4 * (2 * size) ** 0.5


def test_runs_on_other_vectors_have_other_keys_and_data():
    other = TokenFile(WORDS.path, rows=(0, 1999), dim=16)
    changed = Run(RUN.problem, 16, drawn_from=Vocabulary(other))
    plain = Run(RUN.problem, 16)
    assert len({one.key for one in (RUN, changed, plain)}) == 3
    assert "vocabulary" not in plain.record()
    assert token_law(plain) is not None and token_law(RUN) is RUN.drawn_from


def test_a_vocabulary_needs_sequences_and_its_own_dimension():
    with pytest.raises(InvalidParameter, match="use sequences"):
        RUN.varied(data="gaussian-equivalent")
    with pytest.raises(ValueError, match="16 directions"):
        Vocabulary(WORDS).draw((1, 2, 8), stream(np.random.SeedSequence(0), "cpu"))


@pytest.mark.parametrize("device", DEVICES)
def test_integers_are_below_their_bound(device):
    found = stream(np.random.SeedSequence(0), device).integers(5, 100, 3)
    assert found.shape == (100, 3) and set(found.unique().tolist()) == set(range(5))
    assert torch.device(device).type == found.device.type


#: (nu, alpha, T, lambda) of four settings.
SETTINGS = ((0.2, 0.6, 2, 0.02), (0.1, 0.4, 2, 0.05), (0.6, 1.0, 2, 0.02), (0.2, 0.4, 3, 0.05))
QUANTITIES = ("m", "q", "train_error", "test_error", "vocabulary_test_error")


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_heads_trained_on_a_vocabulary_meet_its_theory(setting):
    """Heads at two sizes, extrapolated with a part in 1/d. The theory of new tokens is rejected."""
    nu, alpha, tokens, decay = setting
    problem = Problem(alpha, MarchenkoPastur(0.5), decay, 0.5, tokens=tokens, vocabulary=nu)
    theory = solve(problem)
    gaps, errors = [], []
    for dim, count in ((64, 8), (128, 4)):
        runs = [execute(Run(problem, dim, index=index)) for index in range(count)]
        realised = solve(realised_problem(runs[0].run, runs[0].q0), theory).unwrap()
        ratios = [[getattr(one, n) / getattr(realised, n) - 1 for n in QUANTITIES] for one in runs]
        gaps.append(np.mean(ratios, axis=0))
        errors.append(np.std(ratios, axis=0, ddof=1) / count**0.5)
    of_theory = [realised.errors[name] / getattr(realised, name) for name in QUANTITIES]
    value = 2 * gaps[1] - gaps[0]
    error = np.sqrt(4 * errors[1] ** 2 + errors[0] ** 2 + np.square(of_theory))
    assert np.all(np.abs(value) < 4 * error), (value, error)
    new = solve(problem.of_new_tokens)
    shift = [getattr(new, name) / getattr(realised, name) - 1 for name in QUANTITIES[:4]]
    rejected = np.abs(value[:4] - shift) > 4 * error[:4]
    assert rejected.any()


def test_a_run_draws_its_vocabulary_once():
    problem = Problem(0.5, MarchenkoPastur(0.5), 0.05, 0.5, vocabulary=0.25)
    run = Run(problem, 12)
    drawn = draw(run)
    assert run.vocabulary_size == 36
    assert len(torch.unique(drawn.inputs.tokens.reshape(-1, 12), dim=0)) <= 36
    assert len(drawn.vocabulary.tokens) == 36
    again = draw(Run(problem.of_new_tokens, 12))
    assert again.vocabulary is None
    # A vocabulary changes the data, and nothing else of the run.
    assert torch.equal(draw(run).inputs.tokens, drawn.inputs.tokens)
    result = execute(run)
    assert RunResult.from_json(run, result.to_json()) == result
    assert result.vocabulary_test_error != result.test_error
    assert execute(Run(problem.of_new_tokens, 12)).vocabulary_test_error is None
    assert realised_problem(run, result.q0).vocabulary == 0.25


def test_sensing_matrices_have_no_vocabulary():
    problem = Problem(0.5, MarchenkoPastur(0.5), 0.05, 0.5, vocabulary=0.25)
    with pytest.raises(InvalidParameter, match="no tokens, which a vocabulary states"):
        Run(problem, 12, data=DataKind.GAUSSIAN_EQUIVALENT)
