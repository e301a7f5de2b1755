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
from verify.core.draw import draw, token_law
from verify.core.run import Run
from verify.core.streams import stream
from verify.core.vocabulary import Vocabulary

WORDS = TokenFile(str(Path(__file__).parents[2] / "data" / "word_vectors.npy"), dim=16)
TARGET = IndependentCovariance(MarchenkoPastur(0.5), WORDS.table.covariance.tolist())
RUN = Run(Problem(0.6, TARGET, 0.02, 0.5, norms=0.0), 16, vocabulary=Vocabulary(WORDS))


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
    changed = Run(RUN.problem, 16, vocabulary=Vocabulary(other))
    plain = Run(RUN.problem, 16)
    assert len({one.key for one in (RUN, changed, plain)}) == 3
    assert "vocabulary" not in plain.record()
    assert token_law(plain) is not None and token_law(RUN) is RUN.vocabulary


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
