"""Digits that are estimated: another rule over another variable, check values, fewer digits against more, and jumps refused."""

from fractions import Fraction

import numpy as np
import pytest
from exact_problems import ROWS, exact
from flint import arb

from numeric.channel.block_average import Nodes, block_means
from numeric.channel.block_sample import BlockSample
from numeric.channel.softmax.pair_average import Resolution, average
from numeric.maths.domain import NoAnswer
from numeric.model import float64
from numeric.problem.fields import Fields
from numeric.problem.parameter import InvalidParameter
from numeric.proven_saddle.digits import solver_of
from numeric.proven_saddle.estimated_point import estimated_point
from numeric.proven_saddle.proven_point import proven_point
from numeric.proven_saddle.smooth_channel import Trapezoid
from numeric.proven_saddle.smooth_pairs import SoftmaxPair, averages
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
        assert float(entropy.values[name]) == pytest.approx(getattr(found, name), abs=2 * found.errors[name]), key
    assert entropy.status == "estimated"


@pytest.mark.parametrize(
    "problem", [ENTROPY, exact("cross_attention", Fraction(1), HALF, HALF, HALF)], ids=lambda one: one.rounded.model
)
def test_the_channel_is_that_of_a_rule_over_fields_with_minimisers(problem):
    """At the point found: float64, minimised sample by sample, other nodes in another variable; it shares the loss alone."""
    point = estimated_point(problem, 13)
    m, q, V, mh, qh, Vh, train, test = (
        float(point.values[key]) for key in ("m", "q", "V", "mh", "qh", "Vh", "train_error", "test_error")
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


PAIR = exact("tied_attention", Fraction(1), HALF, Fraction(1, 5), HALF)
PAIR_ENTROPY = exact("tied_attention_cross_entropy", Fraction(1), HALF, WEAK, HALF)


@pytest.mark.parametrize(
    "problem", [PAIR, exact("direct_general", Fraction(1), HALF, Fraction(2), HALF)], ids=lambda one: one.rounded.model
)
def test_two_tokens_and_matrices_without_a_threshold_are_those_of_the_solver(problem):
    point, found = estimated_point(problem, 6), solve(problem.rounded).unwrap()
    for key, text in point.values.items():
        assert float(text) == pytest.approx(getattr(found, key), rel=6e-6), key


def test_two_tokens_by_a_rule_along_lines_of_fields():
    """Twelve digits of `estimated_point`, at which the rule of curves, made for jumps, leaves out 4e-12 of all samples."""
    m, q, V = 0.887271410659, 0.558991438191, 0.335511043348
    ours = averages(PAIR, (arb(m), arb(q), arb(V)), Trapezoid(0.22, 0.5, 8.6))
    lines = average(m, q, V, PAIR.rounded.rho, 1.0, 1.0, Resolution(24, 48, 7, 16, 1e-4))
    assert [float(value) for value in ours] == pytest.approx(list(lines), rel=2e-11)
    mh, qh, Vh = float64.conjugates(1.0, *(float(value) for value in ours[1:4]))
    assert (mh, qh, Vh) == pytest.approx((0.583692548543, 0.0888236458543, 0.835141992197), rel=3e-12)


@pytest.mark.parametrize(("nodes", "accuracy"), [(30, 2e-6), pytest.param(60, 2e-11, marks=pytest.mark.slow)])
def test_two_tokens_with_cross_entropy_by_a_rule_over_fields_with_minimisers(nodes, accuracy):
    m, q, V = 1.26707103953, 1.12406006968, 0.505111993402
    ours = averages(PAIR_ENTROPY, (arb(m), arb(q), arb(V)), Trapezoid(0.25, 0.6, 8.0))
    rho, sample = (
        PAIR_ENTROPY.rounded.rho,
        BlockSample("tied_attention_cross_entropy", 1, (("beta", 1.0), ("beta0", 1.0))),
    )
    means = block_means(sample, Fields.of(m, q, rho), V, Nodes(nodes))
    expected = PAIR_ENTROPY.rounded.generated.channel_derivatives(
        m, q, V, rho, means.train, means.R, means.F1, means.F2
    )
    assert [float(value) for value in ours] == pytest.approx([*expected, means.train, means.test], rel=accuracy)


def test_the_adapter_of_softmax_pairs_has_the_slopes_of_its_loss():
    sample, rng, step = SoftmaxPair(PAIR.rounded), np.random.default_rng(0), 1e-5
    u, y = rng.normal(size=(2, 20)), sample.label(rng.normal(size=(2, 20)))
    for k in range(2):
        shift = step * np.eye(2)[k][:, None]
        by_loss = (sample.loss(u + shift, y) - sample.loss(u - shift, y)) / (2 * step)
        by_slope = (sample.gradient(u + shift, y) - sample.gradient(u - shift, y)) / (2 * step)
        assert sample.gradient(u, y)[k] == pytest.approx(by_loss, abs=1e-9)
        assert sample.hessian(u, y)[k] == pytest.approx(by_slope, abs=1e-9)


def test_where_the_minimiser_jumps_there_are_no_digits():
    """Square loss at V = 2.4, above the convexity bound."""
    with pytest.raises(NoAnswer, match="may jump"):
        estimated_point(exact("cross_attention", Fraction(1), HALF, WEAK, HALF), 10)


def test_every_problem_goes_the_way_that_it_can():
    limit = exact("cross_attention_cross_entropy", Fraction(1, 10), HALF, Fraction(0), HALF)
    assert solver_of(ENTROPY, 30) is estimated_point
    assert solver_of(limit, 100) is proven_point
    assert solver_of(exact("quadratic_network", Fraction(1), HALF, WEAK, HALF), 100) is proven_point
    with pytest.raises(InvalidParameter, match="estimated"):
        solver_of(ENTROPY, 41)
    assert solver_of(PAIR, 12) is estimated_point
    with pytest.raises(InvalidParameter, match="must not exceed 12"):
        solver_of(PAIR, 13)
