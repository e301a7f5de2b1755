"""Points of two visible indices: the bound against finer rules and across singularities, and digits
by an independent rule.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from exact_problems import exact
from flint import arb

from attention_erm.runtime.errors import NoAnswer
from numeric.exact.quantities import quantities
from numeric.maths.ball_systems import Linearised, approximate_inverse, product
from numeric.problem.fields import Fields
from numeric.proven_saddle import contour_bound
from numeric.proven_saddle.bounded_point import PART, _significant_digits, bounded_point
from numeric.proven_saddle.contour_bound import ContourBound, strip
from numeric.proven_saddle.digits import solver_of
from numeric.proven_saddle.estimated_point import differences, residual
from numeric.proven_saddle.smooth_channel import averages_from_sums
from numeric.proven_saddle.smooth_pairs import Lattice, PairChannel, SoftmaxPair
from numeric.saddle.solve import solve
from tests.oracles.averages_over_fields import five_sums

HALF = Fraction(1, 2)
PAIR = exact("tied_attention", Fraction(1), HALF, Fraction(1, 5), HALF)
ENTROPY = exact("tied_attention_cross_entropy", Fraction(1), HALF, Fraction(1, 20), HALF)


def overlaps(problem):
    found = solve(problem.rounded).unwrap()
    return arb(found.m), arb(found.q), arb(found.V)


@pytest.fixture(
    scope="module",
    params=[PAIR, pytest.param(ENTROPY, marks=pytest.mark.slow)],
    ids=lambda one: one.rounded.model,
)
def bounded(request):
    """A channel and its bound."""
    channel = PairChannel.of(request.param.rounded, overlaps(request.param))
    return channel, ContourBound.of(channel)


def test_the_bound_holds_and_is_not_lavish(bounded):
    """Against the rule of a bound 100 times smaller, at four pairs of steps and reach."""
    channel, bound = bounded
    sums = {share: channel.sums(bound.lattice(share)) for share in (1e-3, 1e-5, 1e-7, 1e-9)}
    for (share, rough), fine in zip(sums.items(), list(sums.values())[1:], strict=False):
        error, limit = (
            np.abs(rough.averages - fine.averages),
            bound.errors(bound.lattice(share), rough),
        )
        assert np.all(error < limit)
        assert np.max(error / limit) > 1e-5


def test_a_lattice_errs_by_the_share_that_was_asked_for(bounded):
    """And is not finer than that by much, whose points are what a sum costs."""
    channel, bound = bounded
    for share in (1e-3, 1e-7):
        sums = channel.sums(bound.lattice(share))
        errors = bound.errors(bound.lattice(share), sums) / sums.norms
        assert np.all(errors < 2 * share) and np.max(errors) > share / 10


def test_averages_are_those_over_fields_with_minimisers(bounded):
    """The lattice stands at indices of the student, with the Jacobian of the map to its fields."""
    channel, bound = bounded
    # A rule of 24 nodes errs by 1.4e-3 at most, as 40 and the lattice say.
    assert channel.sums(bound.lattice(1e-7)).averages == pytest.approx(
        five_sums(channel, 24), rel=5e-3
    )


def test_each_direction_of_the_lattice_has_its_own_error(bounded):
    """One step twice as long as asked: the error of that direction stands alone, and is below its
    bound.
    """
    channel, bound = bounded
    lattice = bound.lattice(1e-7)
    fine = channel.sums(lattice)
    for k in range(4):
        rough = lattice._replace(
            steps=tuple(step * (1.8 if j == k else 1) for j, step in enumerate(lattice.steps))
        )
        sums = channel.sums(rough)
        error, limit = np.abs(sums.averages - fine.averages), bound.errors(rough, sums)
        assert np.all(error < limit)
        assert np.max(error / limit) > 1e-5


def test_lattices_lie_along_the_sum_and_the_difference_of_the_indices():
    """Which are independent, and of one standard deviation each."""
    channel = PairChannel(SoftmaxPair(PAIR.rounded), 1, Fields.of(0.5, 1.0, 1.5), 1.0)
    for directions in (channel._directions, channel._across):
        assert directions[0] == pytest.approx([directions[1, 0], -directions[1, 1]], rel=1e-14)
    covariance = channel._directions @ channel._directions.T
    assert covariance == pytest.approx(channel.sample.covariance, rel=1e-13)


def test_digits_are_as_many_as_the_error_leaves():
    """Of 3.14159 with an error of a fifth of the fifth decimal five decimals, of zero as many as
    were asked for.
    """
    assert _significant_digits(arb("3.14159"), PART * 1e-5, 12) == 6
    assert (
        _significant_digits(arb("3.14159"), PART * 1.01e-5, 12) == 5
        and _significant_digits(arb("314.159"), PART * 1e-5, 12) == 8
    )
    assert (
        _significant_digits(arb("3.14159"), 1e-30, 12)
        == _significant_digits(arb(0), 1e-5, 12)
        == 12
    )


class Bent:
    """Independent indices that label themselves, with a quadratic loss of these curvatures along
    the two.
    """

    covariance = np.eye(2)

    def __init__(self, *curvatures):
        self.curvatures = np.array(curvatures, dtype=float)

    def label(self, z):
        """The indices."""
        return z

    def loss(self, u, y):
        """Around zero."""
        return np.tensordot(self.curvatures, u**2, 1) / 2

    def gradient(self, u, y):
        """Its slope."""
        return self.curvatures.reshape(2, *[1] * (np.ndim(u) - 1)) * u

    def hessian(self, u, y):
        """The curvatures."""
        return np.diag(self.curvatures)[:, :, None] * np.ones(u.shape[1])


@pytest.mark.parametrize("curvatures", [(-3, 1), (1, -3), (-3, -3)])
def test_a_minimum_that_is_none_along_one_index_is_refused(curvatures):
    """Of u^2/2 + V loss at V = 1: one curvature below -1 is a saddle, two are a maximum, whose
    determinant is positive again.
    """
    lattice, fields = Lattice((1.0,) * 4, 3.0), Fields.of(0.5, 1.0, 1.5)
    assert np.isfinite(PairChannel(Bent(-0.5, 1), 1, fields, 1.0).sums(lattice).averages).all()
    with pytest.raises(NoAnswer, match="may jump"):
        PairChannel(Bent(*curvatures), 1, fields, 1.0).sums(lattice)


@pytest.mark.parametrize(
    "direction",
    [0, pytest.param(1, marks=pytest.mark.slow), 2, pytest.param(3, marks=pytest.mark.slow)],
)
def test_strips_across_a_singularity_are_refused(direction, monkeypatch):
    """Softmax rows of the label have poles at 1.68 and 2.37 standard deviations, those of the
    student nearer than 7.
    """
    channel = PairChannel.of(PAIR.rounded, overlaps(PAIR))
    beyond = ((1.75, 2.0, 2.5), (7.0, 8.0, 10.0))
    monkeypatch.setattr(
        contour_bound, "WIDTHS", beyond if direction != 1 else ((2.5, 3.0, 3.5), beyond[1])
    )
    with pytest.raises(NoAnswer, match="singularities"):
        strip(channel, direction)


@pytest.mark.slow
def test_a_sharper_label_has_a_narrower_strip_in_which_the_bound_holds():
    """Three times as sharp: its poles are at .56 standard deviations."""
    channel = PairChannel.of(replace(PAIR.rounded, beta0=3.0), overlaps(PAIR))
    bound = ContourBound.of(channel)
    assert bound.strips[0].width < 0.56
    rough, fine = channel.sums(bound.lattice(1e-3)), channel.sums(bound.lattice(1e-5))
    assert np.all(np.abs(rough.averages - fine.averages) < bound.errors(bound.lattice(1e-3), rough))


@pytest.mark.parametrize(
    ("problem", "digits", "nodes", "accuracy"),
    [
        pytest.param(PAIR, 4, 40, 2e-4, marks=pytest.mark.slow),
        pytest.param(ENTROPY, 4, 40, 2e-4, marks=pytest.mark.slow),
        pytest.param(PAIR, 12, 240, 1e-12, marks=pytest.mark.slow),
        pytest.param(ENTROPY, 12, 240, 1e-12, marks=pytest.mark.slow),
    ],
)
def test_digits_are_a_root_by_an_independent_rule(problem, digits, nodes, accuracy):
    """Averages over fields with minimisers at the printed point, conjugates, and the saddle point's
    Newton step from there.

    At its end all quantities, by slopes of a coarse rule of the same kind, are within the rounding
    of what is printed: the step is of the size of the last digit, so that four digits of the slopes
    are enough.
    """
    point = bounded_point(problem, digits)
    assert (point.digits, point.status) == (digits, "bounded")
    at = tuple(arb(float(point.values[name])) for name in ("m", "q", "V"))

    def sums(x, count):
        return five_sums(PairChannel.of(problem.rounded, x), count)

    def outcome(x, five):
        found = averages_from_sums(problem, x, tuple(map(arb, five.tolist())))
        return (*residual(problem, x, found), *quantities(problem, x, found).values())

    independent, channel = sums(at, nodes), PairChannel.of(problem.rounded, at)
    ours = channel.sums(ContourBound.of(channel).lattice(accuracy / 100)).averages
    assert ours == pytest.approx(independent, rel=accuracy)
    here, slopes = outcome(at, independent), differences(lambda x: outcome(x, sums(x, 20)), at)
    for value, other in zip(here, outcome(at, ours), strict=True):
        assert float(value) == pytest.approx(float(other), rel=accuracy, abs=accuracy)
    step = product(approximate_inverse(Linearised(at, slopes[:3])), here[:3])
    for text, value, slope in zip(point.values.values(), here[3:], slopes[3:], strict=True):
        root = float(value) - sum(
            float(one) * float(change) for one, change in zip(slope, step, strict=True)
        )
        last = 10.0 ** -len(text.partition(".")[2])
        assert abs(root - float(text)) < 0.7 * last + accuracy * abs(root)


@pytest.mark.slow
def test_digits_are_those_of_more_digits_and_of_the_solver():
    more, few, found = bounded_point(PAIR, 6), bounded_point(PAIR, 4), solve(PAIR.rounded).unwrap()
    for name, text in few.values.items():
        last = Fraction(1, 10 ** len(text.partition(".")[2]))
        assert abs(Fraction(text) - Fraction(more.values[name])) <= last * Fraction(7, 10), name
        assert float(text) == pytest.approx(getattr(found, name), rel=6e-4), name
    assert "0.7 units" in more.basis


def test_matrices_without_a_threshold():
    problem = exact("direct_general", Fraction(1), HALF, Fraction(2), HALF)
    solver, found = solver_of(problem, 6), solve(problem.rounded).unwrap()
    for name, text in solver(problem, 6).values.items():
        assert float(text) == pytest.approx(getattr(found, name), rel=6e-6), name


def test_the_adapter_of_softmax_pairs_has_the_slopes_of_its_loss():
    sample, rng, step = SoftmaxPair(PAIR.rounded), np.random.default_rng(0), 1e-5
    u, y = rng.normal(size=(2, 20)), sample.label(rng.normal(size=(2, 20)))
    for k in range(2):
        shift = step * np.eye(2)[k][:, None]
        by_loss = (sample.loss(u + shift, y) - sample.loss(u - shift, y)) / (2 * step)
        by_slope = (sample.gradient(u + shift, y) - sample.gradient(u - shift, y)) / (2 * step)
        assert sample.gradient(u, y)[k] == pytest.approx(by_loss, abs=1e-9)
        assert sample.hessian(u, y)[k] == pytest.approx(by_slope, abs=1e-9)
