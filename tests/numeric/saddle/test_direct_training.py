"""Direct training of a matrix with a quadratic penalty on tokens with a covariance (theory note,
sections 6 and 13).
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import covariances, examples
from trained_gaps import LEFT, trained_gaps

from numeric.laws.covariance.aligned import AlignedCovariance
from numeric.laws.covariance.independent import IndependentCovariance
from numeric.laws.covariance.matrix import MatrixCovariance
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from numeric.problem.solution import QUANTITIES
from numeric.saddle.estimator import DirectTraining
from numeric.saddle.solve import solve
from verify.core.realised_problem import realised_problem
from verify.core.run import Run

KINDS = ("symmetric", "general")


def least_squares(whitened, c, mh, qh, Vh, decay):
    """Return m, q, V of the minimiser of each entry, of a given whitened matrix and covariance."""
    response = 1 / (Vh + 2 * decay / np.outer(c, c))  # of the symmetric part
    dim = len(c)
    m = mh * np.sum(response * whitened**2) / dim
    q = np.sum(response**2 * (mh**2 * whitened**2 + qh / (2 * dim))) / dim
    return m, q, np.sum(response) / (2 * dim**2)


@given(
    target=covariances(),
    mh=st.floats(0.1, 3),
    qh=st.floats(0.01, 2),
    Vh=st.floats(0.1, 3),
    decay=st.floats(1e-3, 0.5),
)
@examples(40)
@pytest.mark.identity
def test_each_entry_is_shrunk_by_its_own_weight(target, mh, qh, Vh, decay):
    found = DirectTraining(Problem(0.6, target, decay, 0.5, parametrisation="symmetric")).averages(
        mh, qh, Vh
    )
    products, shares, squares = target.entries
    assert np.sum(shares) == pytest.approx(1) and np.sum(squares) == pytest.approx(target.q0)
    response = 1 / (Vh + 2 * decay / products)
    assert found.m == pytest.approx(mh * np.sum(response * squares))
    assert found.q == pytest.approx(np.sum(response**2 * (mh**2 * squares + qh / 2 * shares)))
    assert pytest.approx(np.sum(response * shares) / 2) == found.V
    assert found.V_squared == pytest.approx(np.sum(response**2 * shares) / 4)


def test_random_matrices_have_the_entries_of_the_limit():
    """Sums of squares over rows and columns of one c, relative to all, fluctuate like 1/d."""
    dim, rng = 400, np.random.default_rng(3)
    c = np.where(np.arange(dim) % 2, 1.6, 0.4)
    w = rng.standard_normal((dim, dim // 2))
    s0 = w @ w.T / np.sqrt(dim * dim // 2)
    law = IndependentCovariance(MarchenkoPastur(0.5), [0.4, 1.6])
    given_matrices = MatrixCovariance(s0, np.diag(c))
    state = (1.3, 0.7, 0.9)
    limit, drawn = (
        DirectTraining(Problem(0.6, one, 0.1, 0.5, parametrisation="symmetric")).averages(*state)
        for one in (law, given_matrices)
    )
    roots = np.sqrt(c)
    by_hand = least_squares(s0 * np.outer(roots, roots), c, *state, 0.1)
    assert drawn[:3] == pytest.approx(by_hand, rel=1e-10)
    shares = drawn.m / given_matrices.q0, limit.m / law.q0  # q0 itself scatters by percents
    assert shares[0] == pytest.approx(shares[1], rel=2 / dim)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_a_covariance_of_one_changes_nothing(kind, quantity):
    plain = Problem(0.6, MarchenkoPastur(0.5), 0.05, 0.5, parametrisation=kind)
    covered = replace(plain, target=IndependentCovariance(MarchenkoPastur(0.5), [1, 1]))
    here, there = (getattr(solve(one), quantity) for one in (plain, covered))
    assert there == pytest.approx(here, rel=1e-9, nan_ok=True)


@pytest.mark.parametrize("kind", KINDS)
def test_the_slope_of_the_free_entropy_in_the_decay_is_the_penalty(kind):
    target = AlignedCovariance([2.0, 1.0, 0.0], [1.6, 1.0, 0.4])
    problem = Problem(0.6, target, 0.05, 0.5, parametrisation=kind)
    at, step = solve(problem), 1e-3
    low, high = (solve(replace(problem, lambda_=0.05 + s)).free_entropy for s in (-step, step))
    products, shares, squares = target.entries
    parts = [(at.mh, at.qh, at.Vh)]
    if at.antisymmetric:
        parts.append((0.0, at.antisymmetric.qh, at.antisymmetric.Vh))
    norms = (
        np.sum((mh**2 * squares + qh / 2 * shares) / (Vh + 0.1 / products) ** 2 / products)
        for mh, qh, Vh in parts
    )
    assert (high - low) / (2 * step) == pytest.approx(sum(norms), rel=1e-3)  # step^2 and rounding


@pytest.mark.slow
@pytest.mark.parametrize(
    ("covariance", "settings"),
    [
        ([0.4, 1.6], {"alpha": 0.6, "lambda_": 0.05, "parametrisation": "symmetric"}),
        ([0.1, 0.9, 2.0], {"alpha": 1.0, "lambda_": 0.02, "parametrisation": "symmetric"}),
        ([0.4, 1.6], {"alpha": 0.6, "lambda_": 0.05, "parametrisation": "general"}),
    ],
)
def test_trained_matrices(covariance, settings):
    law = IndependentCovariance(MarchenkoPastur(0.5), covariance)
    value, error = trained_gaps(
        lambda dim, index: Run(Problem(target=law, noise=0.5, **settings), dim, index=index),
        lambda one: realised_problem(one.run, one.q0),
    )
    assert np.all(np.abs(value) < 4 * error + LEFT)
