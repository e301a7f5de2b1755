"""Preparation of token vectors: mean, norms, covariance, directions, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from attention_erm.runtime.errors import InvalidParameter
from numeric.real.tokens import TokenFile

WORDS = Path(__file__).parents[2] / "data" / "word_vectors.npy"


@examples(20)
@given(
    count=st.integers(30, 200),
    size=st.integers(2, 12),
    dim=st.integers(2, 12),
    leading=st.booleans(),
    normalised=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
@pytest.mark.identity
def test_prepared_vectors_have_the_covariance_that_is_stated(
    tmp_path_factory, count, size, dim, leading, normalised, seed
):
    rng, dim = np.random.default_rng(seed), min(dim, size)
    path = tmp_path_factory.mktemp("t") / "x.npy"
    spread = np.linspace(1, 2, size)
    np.save(path, rng.standard_normal((count, size)) * spread + rng.standard_normal(size))
    table = TokenFile(str(path), dim=dim, leading=leading, normalised=normalised).table
    x = table.vectors
    assert x.shape == (count, dim)
    assert np.allclose(x.mean(axis=0), 0, atol=1e-8)
    assert np.allclose(x.T @ x / count, np.diag(table.covariance), atol=1e-9 * dim)
    assert np.all(np.diff(table.covariance) <= 1e-9)
    assert table.covariance.sum() == pytest.approx(dim)
    white = table.whitened
    assert np.allclose(white.T @ white / count, np.eye(dim), atol=1e-8)
    squares = np.sum(x**2, axis=1)
    assert table.norms == pytest.approx(np.var(squares) / np.sum(table.covariance**2), abs=1e-9)
    if normalised:
        assert table.norms == 0.0


def test_leading_directions_have_the_largest_variance():
    tables = [TokenFile(str(WORDS), dim=16, leading=one, normalised=False).table for one in (1, 0)]
    whole = TokenFile(str(WORDS), normalised=False).table
    shares = [one.covariance / one.covariance.sum() for one in (tables[0], whole)]
    assert shares[0] == pytest.approx(whole.covariance[:16] / whole.covariance[:16].sum(), rel=1e-6)
    assert tables[0].covariance[0] != pytest.approx(tables[1].covariance[0], rel=1e-3)


def test_gaussian_vectors_have_gaussian_norms(tmp_path):
    """2000 d^2 numbers: the variance of a squared norm is known to 1/sqrt(1000)."""
    np.save(tmp_path / "g.npy", np.random.default_rng(0).standard_normal((2000, 30)))
    assert TokenFile(str(tmp_path / "g.npy"), normalised=False).table.norms == pytest.approx(
        2, abs=0.3
    )


def test_rows_are_chosen_and_the_digest_knows_them():
    some = TokenFile(str(WORDS), rows=(0, 1000))
    assert len(some.table.vectors) == 1000
    assert some.table.ratio == 1000 / 48**2
    others = (
        TokenFile(str(WORDS)),
        TokenFile(str(WORDS), rows=(1, 1001)),
        TokenFile(str(WORDS), dim=8),
    )
    assert len({one.digest for one in (some, *others)}) == 4
    assert TokenFile(str(WORDS), rows=(0, 1000)).digest == some.digest


@pytest.mark.parametrize(
    ("arrays", "settings", "words"),
    [
        ({"x": np.eye(5)[:3]}, {}, "more than the dimension 5"),
        ({"x": np.ones((9, 3))}, {}, "equal to the mean"),
        ({"x": np.ones(9)}, {}, "0 matrices"),
        ({"x": np.ones(9)}, {"tensor": "x"}, "one token in each row"),
        ({"x": np.eye(4), "y": np.eye(3)}, {}, "add --tensor, e.g. x, y"),
        ({"x": np.eye(4)}, {"tensor": "z"}, "is not in"),
        ({"x": np.eye(4)}, {"rows": (3, 9)}, "from 0 to 4"),
        ({"x": np.random.default_rng(0).normal(size=(9, 4))}, {"dim": 5}, "from 2 to 4"),
        ({"x": np.random.default_rng(0).normal(size=(9, 4)) * [1, 1, 1, 0]}, {}, "must span"),
    ],
)
def test_what_is_no_table_of_tokens_is_refused(tmp_path, arrays, settings, words):
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(InvalidParameter, match=words):
        _ = TokenFile(str(tmp_path / "t.npz"), **settings).table
