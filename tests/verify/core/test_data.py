"""The data follow the law that the theory assumes."""

import math

import numpy as np
import pytest
import torch

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.target_spectrum import target_quantile_means
from verify.core import data
from verify.core.data import (
    DataKind,
    attention,
    contrasts_of,
    draw_inputs,
    draw_labels,
    fresh_indices,
    row_softmax,
    slope_by_indices,
)
from verify.core.streams import HostStream
from verify.core.target import gaussian_target, rotated_target

KINDS = list(DataKind)


def all_indices(inputs, s):
    return torch.cat([block.indices(s) for _, block in inputs.blocks()])


@pytest.mark.parametrize("kappa0", [0.5, 1.5])
def test_deterministic_target_has_the_moments_of_the_law(kappa0):
    s0 = rotated_target(target_quantile_means(kappa0, 40), np.random.default_rng(0))
    eigenvalues = np.linalg.eigvalsh(s0)
    assert eigenvalues.sum() / 40 == pytest.approx(math.sqrt(kappa0), abs=1e-10)
    shortfall = 1 + kappa0 - (eigenvalues**2).mean()
    assert 0 < shortfall < 0.01  # the variance within bins, of order 1/d^2
    zeros = (eigenvalues < 1e-4).sum()
    assert abs(zeros - 40 * max(0, 1 - kappa0)) <= 1


def test_gaussian_target_has_the_moments_of_the_law():
    targets = [gaussian_target(60, 0.5, np.random.default_rng(seed)) for seed in range(40)]
    q0 = np.array([(s0**2).sum() / 60 for s0 in targets])
    finite_size = 1 / 60  # E tr S0^2/d = 1 + kappa0 + 1/d
    assert abs(q0.mean() - 1.5 - finite_size) < 4 * q0.std() / math.sqrt(40)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tokens", [2, 3])
def test_indices_have_the_covariance_of_the_theory(kind, tokens):
    """Cov(h_ab, h0_ab) = (1 + delta_ab) [[q, m], [m, q0]], and distinct entries are
    uncorrelated.
    """
    rng = np.random.default_rng(1)
    dim, n = 24, 20000 if kind is DataKind.SEQUENCES else 4000
    s, s0 = (torch.as_tensor(gaussian_target(dim, k, rng)) for k in (0.7, 0.5))
    inputs = draw_inputs(kind, n, tokens, dim, HostStream(rng))
    h, h0 = all_indices(inputs, s), all_indices(inputs, s0)
    a, b = np.triu_indices(tokens)
    pairs = torch.cat([h[:, a, b], h0[:, a, b]], 1).numpy()
    measured = pairs.T @ pairs / n
    overlaps = np.array([[float((x * y).sum()) / dim for y in (s, s0)] for x in (s, s0)])
    expected = np.kron(overlaps, np.diag(1.0 + (a == b)))
    assert np.abs(measured - expected).max() < 6 * 2 * overlaps.max() * math.sqrt(2 / n)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tokens", [2, 3])
def test_adjoints_are_the_transposes_of_indices_and_of_contrasts(kind, tokens):
    rng = np.random.default_rng(2)
    inputs = draw_inputs(kind, 7, tokens, 5, HostStream(rng))
    s, g = (torch.as_tensor(rng.standard_normal(shape)) for shape in ((5, 5), (7, tokens, tokens)))
    if kind is DataKind.GAUSSIAN_EQUIVALENT:
        s = s + s.T  # other maps it does not know
    assert float((g * inputs.indices(s)).sum()) == pytest.approx(
        float((inputs.adjoint(g) * s).sum()), rel=1e-12
    )
    torch.testing.assert_close(
        inputs.contrasts(s), contrasts_of(inputs.indices(s)), rtol=1e-12, atol=1e-12
    )
    by_indices = inputs.adjoint(slope_by_indices(g[..., :-1]))
    torch.testing.assert_close(
        inputs.contrast_adjoint(g[..., :-1]), by_indices, rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("tokens", [2, 3])
def test_contrasts_are_all_that_a_softmax_sees(tokens):
    h = torch.as_tensor(np.random.default_rng(6).standard_normal((9, tokens, tokens)))
    torch.testing.assert_close(
        attention(1.7, contrasts_of(h)), row_softmax(1.7, h)[..., :-1], rtol=1e-14, atol=1e-15
    )


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_are_the_whole_in_order(kind, monkeypatch):
    monkeypatch.setattr(data, "BLOCK_ROWS", {"cpu": 16})
    inputs = draw_inputs(kind, 50, 2, 6, HostStream(np.random.default_rng(3)))
    s = torch.eye(6, dtype=torch.float64)
    torch.testing.assert_close(all_indices(inputs, s), inputs.indices(s), rtol=1e-12, atol=1e-12)


def test_fresh_gaussian_indices_share_the_law_of_drawn_ones():
    """Of contrasts c_a = h_a1 - h_a2: Var(c_1) is that of h_11 and of h_12, Cov(c_1, c_2) minus
    that of h_12.
    """
    rng = np.random.default_rng(4)
    s, s0 = (torch.as_tensor(gaussian_target(12, 0.5, rng)) for _ in range(2))
    fresh = fresh_indices(DataKind.GAUSSIAN_EQUIVALENT, (s, s0), 40000, 2, HostStream(rng))
    c, h0 = (
        torch.cat(x).squeeze(-1)
        for x in zip(*((one.contrasts, one.h0) for one in fresh), strict=True)
    )
    c0 = contrasts_of(h0).squeeze(-1)
    for x, y, unit in ((c, c, s * s), (c, c0, s * s0), (c0, c0, s0 * s0)):
        expected, scatter = float(unit.sum()) / 12, float((s0 * s0).sum()) / 12 / math.sqrt(40000)
        assert float((x[:, 0] * y[:, 1]).mean()) == pytest.approx(-expected, abs=10 * scatter)
        assert float((x[:, 0] * y[:, 0]).mean()) == pytest.approx(3 * expected, abs=20 * scatter)


def test_label_noise_has_variance_one_on_the_diagonal_and_half_off_it():
    """log(y_aa/y_ab) = beta0 (z_aa - z_ab) undoes the softmax; Var = (1 + 1/2) Delta."""
    labels = draw_labels(
        torch.zeros(40000, 2, 2, dtype=torch.float64),
        0.3,
        2.0,
        HostStream(np.random.default_rng(5)),
    )
    difference = (labels[:, 0, 0] / labels[:, 0, 1]).log() / 2
    assert float(difference.var()) == pytest.approx(1.5 * 0.3, rel=0.04)
    other = (labels[:, 1, 1] / labels[:, 1, 0]).log() / 2
    assert float((difference * other).mean()) == pytest.approx(
        0.5 * 0.3, rel=0.1
    )  # the shared xi_12


def test_inputs_beyond_the_memory_limit_are_refused_before_drawing():
    with pytest.raises(InvalidParameter, match=r"dim = 200: .* GiB, .* lower it"):
        draw_inputs(
            DataKind.GAUSSIAN_EQUIVALENT, 40000, 2, 200, HostStream(np.random.default_rng(0))
        )
