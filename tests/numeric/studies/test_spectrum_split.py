"""Rank of the learned S, and the sample ratio at which its spectrum falls into two bulks."""

import pytest

from attention_erm.runtime.errors import NoAnswer
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from numeric.saddle.solve import solve
from numeric.studies.spectrum import SPLIT_TOLERANCE, learned_rank, learned_spectrum, spectrum_split


def solved(kappa0, alpha, **others):
    return solve(
        Problem(alpha, MarchenkoPastur(kappa0), **{"lambda_": 0.01, "noise": 0.5} | others)
    ).unwrap()


@pytest.mark.parametrize(
    ("kappa0", "low", "high"),
    [pytest.param(0.2, 0.35, 0.5, marks=pytest.mark.slow), (0.5, 5.0, 8.0), (0.8, 200.0, 300.0)],
)
def test_the_split_is_where_two_edges_of_the_noisy_law_meet(kappa0, low, high):
    """z' = z'' = 0 of z = 1/g + kappa0/(r - g) + v g, r^2 = kappa0: at g = r/(1 - kappa0^(1/3)), v
    = (1 - kappa0^(1/3))^3/kappa0.
    """
    split = spectrum_split(solved(kappa0, low), solved(kappa0, high))
    merged = (1 - kappa0 ** (1 / 3)) ** 3 / kappa0
    assert split.after.delta**2 < merged * (1 + 1e-9)
    assert split.before.delta**2 > merged * (1 - 1e-9)
    assert split.before.delta**2 == pytest.approx(
        split.after.delta**2, rel=2 * SPLIT_TOLERANCE
    )  # ~ 1/alpha
    assert split.error < 1e-4 * split.alpha


def test_a_split_that_is_not_bracketed_is_refused():
    with pytest.raises(NoAnswer, match="no split of the spectrum between alpha 10 and 20"):
        spectrum_split(solved(0.5, 10.0), solved(0.5, 20.0))


@pytest.mark.parametrize(
    "settings",
    [{}, {"width": 0.3}, pytest.param({"tokens": 2, "beta": 2.0}, marks=pytest.mark.slow)],
)
def test_the_rank_is_what_the_spectrum_leaves_of_one(settings):
    solution = solved(0.5, 0.4, **settings)
    rank, error = learned_rank(solution)
    assert rank == pytest.approx(1 - learned_spectrum(solution).zero_mass, abs=1e-12)
    assert 0 <= error < 1e-3


def test_half_of_the_noise_is_learned_of_many_samples():
    """The threshold falls faster than the noise: positive eigenvalues of the lower bulk remain,
    half of it.
    """
    assert learned_rank(solved(0.5, 1e5))[0] == pytest.approx(0.75, abs=1e-3)


def test_nothing_learned_has_no_rank():
    assert learned_rank(solved(0.5, 1.0, lambda_=100.0)) == (0.0, 0.0)
