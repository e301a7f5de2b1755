"""Lists of eigenvalues in float64: against ball arithmetic, quadrature, differences, and the law
that a long list approaches.
"""

import math
from itertools import pairwise

import numpy as np
import pytest
from flint import arb
from hypothesis import assume, example, given
from hypothesis import strategies as st
from strategies import examples, log_uniform

from numeric.laws import subordination
from numeric.laws.eigenvalue_list import SUM_TOLERANCE, Eigenvalues, finite_rank
from numeric.laws.law import edge_grid
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import power_law
from numeric.laws.residues import from_gap
from numeric.laws.subordination import path_rule
from numeric.laws.target_spectrum import target_quantile_means
from numeric.maths.balls import Unresolved, working
from numeric.model import float64 as generated

UNLIMITED = 10.0  # a width that never limits the rank


def dirichlet(count: int, seed: int) -> Eigenvalues:
    """Random eigenvalues, some of them close, with random weights."""
    rng = np.random.default_rng(seed)
    return Eigenvalues(
        tuple(rng.exponential(1, count).tolist()), tuple(rng.dirichlet(np.ones(count)).tolist())
    )


def either_sign(count: int, seed: int) -> Eigenvalues:
    """The same with signs."""
    positive, signs = (
        dirichlet(count, seed),
        np.random.default_rng(seed + 1).choice([-1.0, 1.0], count),
    )
    return Eigenvalues(tuple((signs * positive.arrays[0]).tolist()), positive.weights)


lists = st.one_of(
    st.builds(power_law, st.floats(0.3, 2.0), st.integers(1, 200)),
    st.builds(dirichlet, st.integers(1, 40), st.integers(0, 1000)),
    st.builds(either_sign, st.integers(1, 40), st.integers(0, 1000)),
    st.builds(power_law, st.floats(0.3, 2.0), st.integers(1, 100), singular=st.just(True)),
    st.builds(
        lambda values, more: finite_rank(tuple(values), len(values) + more),
        st.lists(st.floats(0.1, 8.0), min_size=1, max_size=4),
        st.integers(0, 40),
    ),
)
variances = log_uniform(1e-8, 30.0)


def position(target: Eigenvalues, v: float, place: float, depth: float) -> float:
    """A point at the share `depth` of the width below the upper edge of a bulk."""
    bulks = target.bulks(v)
    bulk = bulks[min(int(place * len(bulks)), len(bulks) - 1)]
    return bulk.high - depth * (bulk.high - bulk.low)


points = st.builds(complex, st.floats(-3.0, 9.0), log_uniform(1e-3, 10.0))


@pytest.mark.identity
@given(target=lists, v=variances, one=points, other=points, below=st.booleans())
def test_positions_rise_at_the_slope_between_two_points(target, v, one, other, below):
    """Also between conjugates, where the slope is Im x/Im u, and at one point, where it is
    dx/du.
    """
    s, w = target.arrays
    other = other.conjugate() if below else other

    def position(u: complex) -> complex:
        return generated.noisy_position(u, np.sum(w / (u - s)), v)

    rise = generated.noisy_slope(np.sum(w / ((one - s) * (other - s))), v) * (one - other)
    reach = abs(one) + abs(other) + v * (1 / abs(one.imag) + 1 / abs(other.imag))
    assert abs(position(one) - position(other) - rise) < 1e-13 * (len(s) + 8) * reach
    assert generated.subordinate(position(one), np.sum(w / (one - s)), v) == pytest.approx(
        one, abs=1e-13 * reach
    )


@pytest.mark.identity
@given(target=lists, v=log_uniform(1e-4, 30.0), place=st.floats(0, 1), depth=st.floats(0.05, 0.95))
def test_the_position_moves_along_the_curve_at_its_speed(target, v, place, depth):
    """Differences of the real positions above p; the curve is singular where it leaves the axis,
    whose distance is of order y^2.
    """
    s, w = target.arrays
    p, y = subordination.locate(position(target, v, place, depth), v, s, w)
    step = 1e-3 * y * min(1.0, y / (1.0 + abs(p)))

    def along(p: float) -> float:
        height = subordination.height_above(p, v, s, w, 0.0)
        return generated.noisy_position(p, subordination.speed_along(p, height, v, s, w)[0], v)

    _, speed = subordination.speed_along(p, y**2, v, s, w)
    assert speed > 0
    rounding = 1e-13 * (abs(p) + math.sqrt(v)) / step
    assert (along(p + step) - along(p - step)) / (2 * step) == pytest.approx(
        speed, rel=1e-2, abs=rounding
    )


@pytest.mark.identity
@examples(10)
@given(target=lists, v=variances, place=st.floats(0, 1), depth=log_uniform(1e-7, 3.0))
@example(
    target=finite_rank((6.14,), 9), v=9.1e-7, place=1.0, depth=0.8
)  # u is rounded at 1e-12 of its bulk
@example(
    target=dirichlet(18, 1), v=math.exp(-15), place=0.0, depth=math.exp(-1.375)
)  # nearly all of the law is above
@example(
    target=Eigenvalues((5.0,), (1.0,)), v=1e-8, place=0.0, depth=0.9
)  # terms of all of it are 1e10 times as large
def test_values_are_those_of_ball_arithmetic(target, v, place, depth):
    x = position(target, v, place, depth)
    try:
        exact = target.exact_values(v, x)
    except Unresolved:
        assume(False)
    found, errors = target._in_double(v, x)
    for mine, theirs, error in zip(found, exact, errors, strict=True):
        assert abs(mine - theirs) <= error + 1e-300
    rank_limit = exact.J_v / (abs(x) + v**0.5)  # J_bv is judged beside J_v
    for name, mine, theirs in zip(exact._fields, target.values(v, x), exact, strict=True):
        size = max(abs(theirs), rank_limit if name == "J_bv" else 0.0)
        assert mine == pytest.approx(theirs, abs=SUM_TOLERANCE * size + 1e-300)


@pytest.mark.identity
@examples(10)
@given(target=lists, v=variances, place=st.floats(0, 1), depth=log_uniform(1e-7, 3.0))
def test_the_risk_is_that_of_ball_arithmetic(target, v, place, depth):
    """From whichever side of the threshold: small beside q0, it would be lost in a difference of
    overlaps.
    """
    x = position(target, v, place, depth)
    found = target.denoising_error(v, x, target.energy(v, x, UNLIMITED))
    law = target.exact()
    with working(400):
        try:
            point = law.at(arb(v), arb(x))
        except Unresolved:
            assume(False)
        q0, (J, J_v, J_b) = law.moments()[1], (point.value(name) for name in ("J", "J_v", "J_b"))
        exact = law.generated.denoising_error(q0, J, J_v, J_b, arb(v), arb(x))
    assert abs(found.value - float(exact)) <= found.rounding + 1e-300
    assert found.rounding < 1e-11 * (target.q0 + v + x**2)


@pytest.mark.identity
@pytest.mark.slow
@examples(40)
@given(target=lists, v=variances, place=st.floats(0, 1), depth=log_uniform(1e-7, 3.0))
@example(target=power_law(1.0, 2), v=1.0, place=0.0, depth=1.0)  # beyond the lower edge
@example(
    target=finite_rank((1.0, 5.0, 6.3125, 6.921875), 23), v=1.0, place=0.5, depth=1.0
)  # a neighbour nearly touches
def test_values_from_a_gap_are_those_of_ball_arithmetic(target, v, place, depth):
    x = position(target, v, place, depth)
    try:
        exact = target.exact_values(v, x)
    except Unresolved:
        assume(False)
    found, errors = from_gap(v, x, *target.arrays, target.sums_over_others, *path_rule())
    for mine, theirs, error in zip(found, exact, errors, strict=True):
        assert abs(mine - theirs) <= error + 1e-300


@pytest.mark.parametrize("depth", [1e-3, 0.05, 0.3, 0.7, 0.9, 0.9999])
@pytest.mark.parametrize(
    ("target", "v", "down_to"),
    [
        (Eigenvalues((0.0, 4.0, 9.0), (0.8, 0.15, 0.05)), 0.05, 1.0),
        (Eigenvalues((1.0, 2.0, 2.5), (0.3, 0.3, 0.4)), 0.085, 0.4),
        (Eigenvalues((-3.0, -2.5, 1.0, 4.0), (0.2, 0.3, 0.1, 0.4)), 0.13, 0.8),
    ],
    ids=["intervals far apart", "intervals that nearly touch", "two eigenvalues in an interval"],
)
def test_values_from_a_gap_at_every_depth_of_every_interval(target, v, down_to, depth):
    """Down to a share of the interval errors are small; below it they are infinite where they are
    not, and hold ball arithmetic's.
    """
    for bulk in target.bulks(v):
        x = bulk.high - depth * (bulk.high - bulk.low)
        found, errors = from_gap(v, x, *target.arrays, target.sums_over_others, *path_rule())
        for mine, theirs, error in zip(found, target.exact_values(v, x), errors, strict=True):
            assert abs(mine - theirs) <= error
            # Near an edge, J (or what is below) is a power 5/2 of the distance, and rounding is
            # seen beside it.
            assert error < 1e-8 * abs(theirs) or (depth > down_to and math.isinf(error))


@pytest.mark.parametrize("multiple", [0.98, 1.1, 3.0, 15.0])
def test_few_isolated_eigenvalues_of_a_huge_list_do_not_cancel(multiple):
    """A path around the whole list knows their J to 1e-3 or worse; the two derivatives by b must
    still agree with its differences.
    """
    target, v = power_law(0.75, 10**12), 2e8
    b, step = multiple * 2 * math.sqrt(v), 2e-5
    low, here, high = (target.values(v, b * (1 + k * step)) for k in (-1, 0, 1))
    assert max(abs(e / x) for x, e in zip(*target._in_double(v, b), strict=True)) > SUM_TOLERANCE
    assert (high.J - low.J) / (2 * step * b) == pytest.approx(here.J_b, rel=1e-5)
    assert (high.J_b - low.J_b) / (2 * step * b) == pytest.approx(2 * here.mass, rel=1e-2)


@pytest.mark.parametrize("depth", [1e-7, 1e-5, 1e-3])
def test_just_inside_a_bulk_below_isolated_eigenvalues_nothing_cancels(depth):
    """The bulk is a semicircle to 1e-4 and holds 5376 blocks; what lies above it weighs 1e-15."""
    target, v = power_law(0.75, 10**18, per_octave=64), 5.1e12
    x = target.bulks(v)[0].high * (1 - depth)
    found, errors = from_gap(v, x, *target.arrays, target.sums_over_others, *path_rule())
    assert all(error < 1e-6 * abs(value) for value, error in zip(found, errors, strict=True))
    step = 1e-2 * depth * x
    low, high = (
        from_gap(v, x + k * step, *target.arrays, target.sums_over_others, *path_rule())[0]
        for k in (-1, 1)
    )
    assert (high[0] - low[0]) / (2 * step) == pytest.approx(found[2], rel=1e-4)


def test_both_float64_and_balls_are_used():
    """Just below the upper edge float64 cancels; elsewhere balls would cost a thousand times as
    much.
    """
    target, v = power_law(0.75, 50), 0.1
    trusted = {
        all(
            error <= SUM_TOLERANCE * abs(value)
            for value, error in zip(*target._in_double(v, x), strict=True)
        )
        for x in (0.3, target.upper_edge(v) * (1 - 1e-5))
    }
    assert trusted == {True, False}


@pytest.mark.identity
@examples(30)
@given(target=lists, v=variances)
def test_every_bulk_holds_the_weight_of_its_eigenvalues(target, v):
    """Edges, density and mass of each interval; together they give the moments of the sum, mean t0,
    variance q0 - t0^2 + v.
    """
    s, w = target.arrays
    bulks, mean, second = target.bulks(v), 0.0, 0.0
    assert [bulk.first for bulk in bulks[1:]] == [bulk.last + 1 for bulk in bulks[:-1]]
    assert (bulks[0].first, bulks[-1].last) == (0, len(s) - 1)
    assert target.upper_edge(v) == pytest.approx(bulks[-1].high, rel=1e-12)
    for low, high, first, last in bulks:
        assert low < high
        x, weights = edge_grid(low, high, 2000)
        density = target.density(v, x)
        assert np.all(density >= 0)
        masses = weights * density
        # Chebyshev nodes under square-root edges; many nearly separate eigenvalues make the density
        # rough.
        assert masses.sum() == pytest.approx(w[first : last + 1].sum(), rel=2e-3)
        mean, second = mean + masses @ x, second + masses @ x**2
    assert mean == pytest.approx(target.t0, rel=2e-3)
    assert second == pytest.approx(target.q0 + v, rel=2e-3)


@pytest.mark.identity
@examples(60)
@given(target=lists, v=variances)
def test_mass_in_gaps_is_exact(target, v):
    _, w = target.arrays
    bulks = target.bulks(v)
    for lower, upper in pairwise(bulks):
        middle = 0.5 * (lower.high + upper.low)
        assert target.mass_above(v, middle) == pytest.approx(w[upper.first :].sum(), abs=1e-9)


@pytest.mark.identity
@examples(60)
@given(target=lists, v=log_uniform(1e-3, 10), b=st.floats(-1, 3), width=st.floats(0.05, 0.95))
def test_derivatives_of_the_energy_are_differences(target, v, b, width):
    h, scale = 1e-4, b**2 + v + target.q0
    for limit in (UNLIMITED, width):
        here = target.energy(v, b, limit)
        along_v = [target.energy(v + sign * h * v, b, limit).J for sign in (1, -1)]
        along_b = [target.energy(v, b + sign * h, limit).J for sign in (1, -1)]
        # As for the Marchenko-Pastur law: h^2 of a third derivative, and a square-root singularity
        # of J_vv at edges.
        assert here.J_v == pytest.approx(
            (along_v[0] - along_v[1]) / (2 * h * v), abs=2e-4 * scale / v
        )
        assert here.J_b == pytest.approx((along_b[0] - along_b[1]) / (2 * h), abs=2e-4 * scale)


@pytest.mark.parametrize("kappa0", [0.3, 1.0, 3.0])
def test_quantiles_of_a_law_approach_it(kappa0):
    """Means over d bins of equal mass lose the variance within bins: an error that falls faster
    than 1/d.
    """
    law, v, b = MarchenkoPastur(kappa0), 0.2, 0.1
    expected = np.array(law.values(v, b))
    worst = []
    for dim in (50, 200, 800):
        means = np.clip(target_quantile_means(kappa0, dim), 0, None)
        target = Eigenvalues(tuple(means.tolist()), (1 / dim,) * dim)
        worst.append(np.max(np.abs(np.array(target.values(v, b)) / expected - 1)))
    assert worst[1] < worst[0] / 4 and worst[2] < worst[1] / 4
    assert worst[2] < 2e-4


def test_equal_eigenvalues_are_merged_and_units_scale():
    one, other = (
        Eigenvalues((1.0, 2.0, 1.0, 0.0), (0.25,) * 4),
        Eigenvalues((0.0, 1.0, 2.0), (0.25, 0.5, 0.25)),
    )
    assert one == other and hash(one) == hash(other)
    assert one.zero_mass == 0.25
    assert one.scaled(2.0).q0 == pytest.approx(4 * one.q0, rel=1e-15)
    for left, right, power in zip(
        one.scaled(2.0).values(4.0, 2.0), one.values(1.0, 1.0), (2, 0, 1, -1, 0), strict=True
    ):
        assert left == pytest.approx(2.0**power * right, rel=1e-12)


@pytest.mark.parametrize(
    ("eigenvalues", "weights", "text"),
    [
        ((0.0,), (1.0,), "not all zero"),
        ((1.0, 2.0), (0.5, 0.4), "sum to one"),
        ((1.0,), (0.5, 0.5), "as many"),
        ((math.nan,), (1.0,), "finite"),
    ],
)
def test_invalid_lists_cannot_be_made(eigenvalues, weights, text):
    with pytest.raises(ValueError, match=text):
        Eigenvalues(eigenvalues, weights)


def test_a_rank_beyond_the_dimension_is_refused():
    with pytest.raises(ValueError, match="do not fit"):
        finite_rank((1.0, 2.0), 1)


@pytest.mark.parametrize("target", [power_law(1.0, 20), MarchenkoPastur(0.5)], ids=["list", "mp"])
@pytest.mark.parametrize("v", [math.inf, math.nan])
def test_variances_beyond_double_precision_are_refused(target, v):
    with pytest.raises(ArithmeticError, match="beyond double precision"):
        target.upper_edge(v)
    with pytest.raises(ArithmeticError):
        target.energy(v, 1.0, UNLIMITED)
