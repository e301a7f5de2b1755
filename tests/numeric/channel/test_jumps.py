"""Whether minimisers jump: a share of samples that hangs neither on the points nor on the way its
minima are sought.
"""

from dataclasses import replace

import numpy as np
import pytest

from numeric.channel.rules import channel_of
from numeric.channel.softmax.sequence_average import sample_means
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.rational_target import RationalTarget
from numeric.maths.replicates import half_width
from numeric.maths.sobol import Sampling
from numeric.problem.fields import Fields
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from numeric.problem.solution import Status
from numeric.saddle.replicon import NEGLIGIBLE, minimisers_jump
from numeric.saddle.solve import solve

PEAK = Problem(0.15, MarchenkoPastur(0.5), 1e-3, 1.0)
AT = Overlaps(1.25, 2.16, 147.0)  # of PEAK


def agree(first: np.ndarray, second: np.ndarray) -> bool:
    """Means of replicates, to two of the interval of their difference, which one pair in 10^4
    exceeds.
    """
    return abs(first.mean() - second.mean()) < 2 * np.hypot(half_width(first), half_width(second))


@pytest.mark.parametrize(
    "alpha",
    [*(pytest.param(alpha, marks=pytest.mark.slow) for alpha in (0.12, 0.138245, 0.165)), 0.148383],
)
def test_neighbours_have_one_status(alpha):
    """Two points in the middle were `converged`: none of the 4096 samples of the replicon happened
    to lie beside a jump.
    """
    found = solve(replace(PEAK, alpha=alpha))
    assert found.status is Status.UNSTABLE
    assert found.replicon == -np.inf


def test_rare_samples_count_as_often_as_they_occur():
    """By plain points, a hundred times as many."""
    plain = sample_means(
        Fields.of(AT.m, AT.q, PEAK.rho), AT.V, 0.0, 1.0, 1.0, 2, Sampling(2**15), response=True
    )
    found = channel_of(PEAK).several_minima_shares(AT, Sampling(1024))
    assert 1e-3 < found.mean() < 1e-2
    assert half_width(found) < 0.5 * found.mean()
    assert agree(found, plain.rest + plain.moved)


@pytest.mark.parametrize("V", [8.0, 147.0])
def test_two_searches_find_one_share(V):
    """Tied attention is also a model by blocks, with noise on its label that is zero here.

    Block rules try two starts where rows try all: they find 102 and 85 % as many.
    From the best place of all, often before a barrier, they
    found two thirds at V = 8; descents that ran out of steps made it tenfold at 147.
    """
    noisy = replace(PEAK, model="label_noise_attention", extra=(("label_noise", 0.0),))
    rows, blocks = (
        channel_of(problem).several_minima_shares(AT._replace(V=V), Sampling(2048)).mean()
        for problem in (PEAK, noisy)
    )
    assert 0.75 * rows < blocks < 1.1 * rows


@pytest.mark.parametrize(
    "V", [1.0, 4.0, *(pytest.param(V, marks=pytest.mark.slow) for V in (8.0, 20.0, 60.0))]
)
def test_a_verdict_is_that_of_finer_points(V):
    at = AT._replace(V=V)
    fine = channel_of(PEAK).several_minima_shares(at, Sampling(2**14)).mean()
    assert minimisers_jump(channel_of(PEAK), at) == (fine > NEGLIGIBLE)


def test_a_jump_that_no_training_set_holds_is_none():
    """One sample in 10^7 has two minima there: a node of a rule that met one made the point
    `unstable`.
    """
    found = solve(Problem(0.5, MarchenkoPastur(0.5), 0.01, 0.5, model="first_row_attention"))
    assert found.status is Status.CONVERGED
    assert 0 < found.replicon < 1


def test_a_descent_out_of_steps_is_no_second_minimum():
    """On a grid none of 8000 samples has two minima; 2 % of descents from rest ran out of steps,
    and the point was `unstable`.
    """
    target = RationalTarget.of("cross_attention", kappa0=0.5, scale=1.0)
    found = solve(replace(PEAK, alpha=0.2, model="cross_attention", target=target))
    assert found.status is Status.CONVERGED


def test_convex_energies_have_one_minimum():
    assert not channel_of(PEAK).several_minima_shares(AT._replace(V=1.0), Sampling(256)).any()
