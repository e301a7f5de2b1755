"""Digits that are estimated: another rule over another variable, check values, fewer digits against
more, and jumps refused.
"""

from fractions import Fraction

import pytest
from exact_problems import ROWS, exact

from attention_erm.runtime.errors import InvalidParameter, NoAnswer
from numeric.channel.block_average import Nodes, block_means
from numeric.channel.block_sample import BlockSample
from numeric.model import float64
from numeric.problem.fields import Fields
from numeric.proven_saddle.bounded_point import bounded_point
from numeric.proven_saddle.digits import solver_of
from numeric.proven_saddle.estimated_point import estimated_point
from numeric.proven_saddle.proven_point import proven_point
from numeric.saddle.solve import solve

HALF, WEAK = Fraction(1, 2), Fraction(1, 20)
ENTROPY = exact("cross_attention_cross_entropy", Fraction(1), HALF, WEAK, HALF)


@pytest.fixture(scope="module")
def entropy():
    return estimated_point(ENTROPY, 14)


def test_cross_entropy_meets_the_check_values_and_the_solver(entropy):
    (row,) = (row for row in ROWS if row["model"] == "cross attention, cross-entropy")
    found = solve(ENTROPY.rounded).unwrap()
    names = {"train": "train_error", "test": "test_error", "e": "free_entropy"}
    for key in ("m", "q", "V", "mh", "qh", "Vh", "b", "c", "train", "test", "e"):
        name = names.get(key, key)
        assert float(entropy.values[name]) == pytest.approx(row[key], rel=2e-6), key
        assert float(entropy.values[name]) == pytest.approx(
            getattr(found, name), abs=2 * found.errors[name]
        ), key
    assert entropy.status == "estimated"


@pytest.mark.parametrize(
    "problem",
    [ENTROPY, exact("cross_attention", Fraction(1), HALF, HALF, HALF)],
    ids=lambda one: one.rounded.model,
)
def test_the_channel_is_that_of_a_rule_over_fields_with_minimisers(problem):
    """At the point found: float64, minimised sample by sample, other nodes in another variable; it
    shares the loss alone.
    """
    point = estimated_point(problem, 13)
    m, q, V, mh, qh, Vh, train, test = (
        float(point.values[key])
        for key in ("m", "q", "V", "mh", "qh", "Vh", "train_error", "test_error")
    )
    sample = BlockSample(problem.rounded.model, 1, (("beta", 1.0), ("beta0", 1.0)))
    means = block_means(sample, Fields.of(m, q, problem.rounded.rho), V, Nodes(120))
    assert (means.train, means.test) == pytest.approx((train, test), rel=1e-11)
    _, *slopes = problem.rounded.generated.channel_derivatives(
        m, q, V, problem.rounded.rho, means.train, means.R, means.F1, means.F2
    )
    assert float64.conjugates(1.0, *slopes) == pytest.approx((mh, qh, Vh), rel=1e-10)


def test_fewer_digits_are_the_rounding_of_more(entropy):
    few = estimated_point(ENTROPY, 8)
    for key, text in few.values.items():
        last = Fraction(1, 10 ** len(text.partition(".")[2]))
        assert abs(Fraction(text) - Fraction(entropy.values[key])) <= last * Fraction(51, 100), key


@pytest.mark.slow
def test_where_the_minimiser_jumps_there_are_no_digits():
    """Square loss at V = 2.4, above the convexity bound."""
    with pytest.raises(NoAnswer, match="may jump"):
        estimated_point(exact("cross_attention", Fraction(1), HALF, WEAK, HALF), 10)


def test_every_problem_goes_the_way_that_it_can():
    limit = exact("cross_attention_cross_entropy", Fraction(1, 10), HALF, Fraction(0), HALF)
    assert solver_of(ENTROPY, 30) is estimated_point
    assert solver_of(limit, 100) is proven_point
    assert solver_of(exact("quadratic_network", Fraction(1), HALF, WEAK, HALF), 100) is proven_point
    with pytest.raises(InvalidParameter, match="must not exceed 40"):
        solver_of(ENTROPY, 41)
    pair = exact("tied_attention", Fraction(1), HALF, Fraction(1, 5), HALF)
    assert solver_of(pair, 12) is bounded_point
    with pytest.raises(InvalidParameter, match="must not exceed 12"):
        solver_of(pair, 13)
