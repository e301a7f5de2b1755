"""Laws by two routes: one law in two classes, its mirror image, grids, quantiles, blocks of a power
law.
"""

import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws import power_law as powers
from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.exact_values import exact_values
from numeric.laws.law import (
    ROUNDING,
    Energy,
    denoising_error_of,
    edge_grid,
    energy_above,
    filled_intervals,
    quantile,
)
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import power_law, truncation
from numeric.laws.rational_target import RationalTarget
from numeric.laws.target_spectrum import target_density, target_edges, target_quantile_means

LAWS = [
    MarchenkoPastur(0.5, 1.3),
    RationalTarget.of("tied_attention", kappa0=0.5, scale=1.3),
    RationalTarget.of("signed_quadratic_network", kappa0=0.5, positive=0.25, scale=1.0),
    RationalTarget.of("signed_quadratic_network", kappa0=0.5, positive=0.25, scale=1.0).mirrored,
    Eigenvalues((0.0, 1.0, 3.0), (0.5, 0.3, 0.2)),
]


@pytest.mark.parametrize("v", [0.03, 0.3, 3.0])
def test_one_law_in_two_classes(v):
    one, other = LAWS[:2]
    assert (
        other.t0 == pytest.approx(one.t0)
        and other.q0 == pytest.approx(one.q0)
        and other.zero_mass == one.zero_mass
    )
    assert np.ravel(other.support(v)) == pytest.approx(np.ravel(one.support(v)))
    x = np.linspace(-1, 4, 11)
    assert other.density(v, x) == pytest.approx(one.density(v, x), abs=1e-9) and other.density(
        v, x.reshape(11, 1)
    ).shape == (11, 1)
    for b in (-1.0, 0.1, 1.0, 0.999 * one.upper_edge(v)):
        assert tuple(other.values(v, b)) == pytest.approx(
            tuple(one.values(v, b)), rel=1e-8, abs=1e-12
        )
        assert other.mass_above(v, b) == pytest.approx(one.mass_above(v, b), abs=1e-12)
        for width in (0.1, 1.0):
            mine, theirs = one.energy(v, b, width), other.energy(v, b, width)
            assert (mine.quantile is None) is (theirs.quantile is None)
            assert tuple(theirs)[:4] == pytest.approx(tuple(mine)[:4], rel=1e-7, abs=1e-12)
    for share in (0.01, 0.3, 0.499):
        assert other.top_energy(share) == pytest.approx(one.top_energy(share), rel=1e-5)
    assert one.features(v) == other.features(v) == 0.5 and one.scaled(2.0).q0 == pytest.approx(
        4 * one.q0
    )
    assert one.top_energy(0.5) == one.q0 and one.top_energy(0.0) == 0.0


@pytest.mark.parametrize("target", LAWS, ids=["mp", "rational", "signed", "mirrored", "list"])
@pytest.mark.parametrize("v", [0.1, 1.0])
def test_a_law_has_its_moments_and_its_density_its_mass(target, v):
    """Of the noisy law: mean t0, second moment q0 + v; J is an integral over its density."""
    grids = [edge_grid(low, high, 800) for low, high in target.support(v)]
    x, weights = (np.concatenate(part) for part in zip(*grids, strict=True))
    weights = weights * target.density(v, x)
    for power, moment in ((0, 1.0), (1, target.t0), (2, target.q0 + v)):
        assert weights @ x**power == pytest.approx(moment, abs=1e-5)
    for b in (-0.3, 0.4):
        values = target.values(v, b)
        above = np.maximum(x - b, 0)
        assert pytest.approx(weights @ above**2, rel=1e-4) == values.J
        assert values.J_b == pytest.approx(-2 * (weights @ above), rel=1e-4)
        assert values.mass == pytest.approx(weights @ (x > b), abs=1e-2)
    assert target.upper_edge(v) == pytest.approx(x.max(), abs=1e-5)
    assert 0 <= target.accuracy(v, 0.4) < 1e-6


@pytest.mark.parametrize("v", [0.1, 1.0])
def test_the_mirror_image_has_what_lies_below(v):
    _, _, target, mirrored, _ = LAWS
    assert mirrored.t0 == -target.t0 and mirrored.q0 == target.q0 and mirrored.mirrored == target
    assert mirrored.support(v) == [(-high, -low) for low, high in reversed(target.support(v))]
    x = np.array([-0.4, 0.2, 1.0])
    assert mirrored.density(v, x).tolist() == target.density(v, -x).tolist()
    for b in x:
        above, below = target.values(v, -b), mirrored.values(v, b)
        assert below.mass == pytest.approx(1 - above.mass) and below.J_v == pytest.approx(
            1 - above.J_v
        )
        assert below.J_b == pytest.approx(above.J_b + 2 * (b + target.t0))
        assert pytest.approx(target.q0 + v + 2 * b * target.t0 + b**2 - above.J) == below.J
        exact = exact_values(target.exact(), v, float(b), mirrored=True)
        assert tuple(exact) == pytest.approx(tuple(below), rel=1e-8, abs=1e-12)


def test_shares_of_positive_eigenvalues_are_their_features():
    """A quarter of half of all are positive."""
    _, _, target, mirrored, _ = LAWS
    assert target.features(0.3) == pytest.approx(0.5 * 0.25, rel=1e-4)
    assert mirrored.features(0.3) == pytest.approx(0.5 * 0.75, rel=1e-4)
    assert target.hidden_overlap(0.3, 0.1, 0.1) == 0.0 and target.single_intervals(0.3).shape == (
        0,
        3,
    )


def test_a_law_without_atoms_has_no_interval_of_one_eigenvalue():
    assert (
        MarchenkoPastur(0.5).single_intervals(0.3).shape == (0, 3)
        and MarchenkoPastur(0.5).outliers(0.3) == []
    )


def test_parts_of_one_size_are_refused_and_parts_are_scaled_together():
    two = RationalTarget.of(
        "tied_attention_two_bulks", kappa1=0.2, kappa2=0.3, scale1=1.0, scale2=2.0
    )
    scaled = two.scaled(3.0)
    assert scaled.q0 == pytest.approx(9 * two.q0) and scaled.t0 == pytest.approx(3 * two.t0)
    assert sorted(scaled.settings) == pytest.approx(sorted((0.2, 0.3, 3.0, 6.0)))
    with pytest.raises(InvalidParameter, match="two parts of one size"):
        RationalTarget.of(
            "tied_attention_two_bulks", kappa1=0.2, kappa2=0.2, scale1=1.0, scale2=1.0
        )


def test_a_chebyshev_rule_is_exact_under_square_root_edges():
    """Int_0^2 sqrt(x (2 - x)) (1, x, x^2) dx = pi/2, pi/2, 5 pi/8."""
    x, weights = edge_grid(0.0, 2.0, 12)
    root = np.sqrt(x * (2 - x))
    assert np.all(np.diff(x) > 0) and 0 < x[0] < 0.01 and len(x) == 12
    for power, integral in ((0, math.pi / 2), (1, math.pi / 2), (2, 5 * math.pi / 8)):
        assert weights @ (root * x**power) == pytest.approx(integral, rel=1e-12)


def test_neighbouring_intervals_are_joined():
    edges = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    assert filled_intervals(edges, [True, True, False, True]) == [(0.0, 2.0), (3.0, 4.0)]
    assert filled_intervals(edges, [False] * 4) == []


@pytest.mark.parametrize("target", LAWS, ids=["mp", "rational", "signed", "mirrored", "list"])
def test_a_rank_limit_cuts_at_the_quantile_of_its_share(target):
    v, b = 0.3, 0.05
    whole = target.energy(v, b, 1.0)
    assert whole.quantile is None and target.energy(v, b, whole.mass * 1.0001) == whole
    width = 0.6 * whole.mass
    cut = target.energy(v, b, width)
    assert cut.mass == width and target.mass_above(v, cut.quantile) == pytest.approx(
        width, abs=1e-10
    )
    assert cut.quantile == pytest.approx(quantile(target, v, width, b, target.upper_edge(v)))
    assert energy_above(target, v, b, cut.quantile)[:3] == pytest.approx(cut[:3])
    top = target.upper_edge(v)
    assert target.energy(v, top, 1.0) == Energy(0.0, 0.0, 0.0, 0.0, None)
    narrow = [target.energy(v, b, share * whole.mass).J for share in (0.2, 0.5, 0.9)]
    assert narrow == sorted(narrow) and narrow[-1] < whole.J


def test_a_denoising_error_is_bounded_by_the_rounding_of_its_terms():
    """Below all of the law the noise is left, and the square of the threshold."""
    law, v, b = MarchenkoPastur(0.5), 0.3, -5.0
    found, energy = denoising_error_of(law.energy(v, b, 1.0), law.q0, v, b), law.energy(v, b, 1.0)
    assert found.value == pytest.approx(v + b**2)  # S/c is Y shifted by the threshold
    terms = law.q0, energy.J, b * energy.J_b, 2 * v * energy.J_v
    assert found.rounding == pytest.approx(ROUNDING * sum(map(abs, terms)))


@pytest.mark.parametrize("gamma", [0.3, 0.5, 0.75, 2.0])
def test_blocks_stand_for_the_eigenvalues_that_they_replace(gamma, monkeypatch):
    """Beyond the first 64 of 1000: their number is kept, each square within a block's width, the
    second moment whole.
    """
    whole = np.array(power_law(gamma, 1000, 2.0).eigenvalues)
    assert whole[::-1] == pytest.approx(whole[-1] * np.arange(1, 1001) ** -gamma)
    assert np.mean(whole**2) == pytest.approx(2.0)
    monkeypatch.setattr(powers, "EXACT", 64)
    law = powers.PowerLaw(gamma, 1000, 2.0, 16)
    counts = np.round(np.array(law.weights) * 1000)
    assert (
        counts.sum() == 1000 and len(counts) < 200 and (counts[-64:] == 1).all() and counts[0] > 10
    )
    standing = np.repeat(law.eigenvalues, counts.astype(int))
    off = np.abs(np.log(standing / whole))
    assert off.max() < 1.05 * truncation(gamma, 1000, 16) and law.q0 == pytest.approx(2.0)
    assert truncation(gamma, 64) == 0.0 and truncation(gamma, 65, 16) == pytest.approx(
        2 ** (gamma / 16) - 1
    )


def test_a_target_of_a_fraction_differs_from_that_of_the_float_only_where_the_numbers_do():
    exact, rounded = MarchenkoPastur(Fraction(1, 20)), MarchenkoPastur(0.05)
    assert exact != rounded and (exact.kappa0, exact.law, exact.q0) == (
        rounded.kappa0,
        rounded.law,
        rounded.q0,
    )
    assert repr(exact) == "MarchenkoPastur(kappa0=Fraction(1, 20), scale=1.0)"
    assert repr(rounded) == "MarchenkoPastur(kappa0=0.05, scale=1.0)"
    half = MarchenkoPastur(Fraction(1, 2), Fraction(2))
    assert half == MarchenkoPastur(0.5, 2.0) and hash(half) == hash(MarchenkoPastur(0.5, 2.0))
    for again in (pickle.loads(pickle.dumps(exact)), eval(repr(exact)), exact.scaled(1)):
        assert (
            again == exact
            and hash(again) == hash(exact)
            and again.exact().zero_mass == Fraction(19, 20)
        )


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan, "half"])
@pytest.mark.parametrize("name", ["kappa0", "scale"])
def test_what_is_no_parameter_of_a_target_is_refused_by_name(name, value):
    with pytest.raises(InvalidParameter, match=f"^{name} = "):
        MarchenkoPastur(**{"kappa0": 0.5, name: value})


def test_singular_values_stand_with_either_sign():
    law = power_law(1.0, 3, singular=True)
    positive = power_law(1.0, 3)
    assert law.eigenvalues == (
        *(-value for value in positive.eigenvalues[::-1]),
        *positive.eigenvalues,
    )
    assert law.weights == pytest.approx([1 / 6] * 6) and (law.t0, law.q0) == pytest.approx(
        (0.0, 1.0)
    )
    assert (
        law.scaled(3.0).second_moment == 9.0
        and "eigenvalues" not in repr(law)
        and replace(law, dim=4).weights == pytest.approx([1 / 8] * 8)
    )


@pytest.mark.parametrize("kappa0", [0.3, 1.0, 2.0])
def test_the_target_itself_lives_between_its_edges(kappa0):
    """(1 -+ sqrt kappa0)^2/sqrt kappa0, of a Wishart matrix in these units."""
    target = MarchenkoPastur(kappa0)
    root = math.sqrt(kappa0)
    assert target_edges(target) == pytest.approx(
        ((1 - root) ** 2 / root, (1 + root) ** 2 / root), abs=1e-7
    )
    x = np.array([0.9, 1.5])
    low, high = target_edges(target)
    assert target_density(x, target) == pytest.approx(
        root * np.sqrt((x - low) * (high - x)) / (2 * math.pi * x), rel=1e-6
    )


@pytest.mark.parametrize("kappa0", [0.3, 1.5])
def test_a_deterministic_spectrum_has_the_mean_of_the_law(kappa0):
    target, dim = MarchenkoPastur(kappa0), 50
    found = target_quantile_means(kappa0, dim)
    assert (
        len(found) == dim
        and np.all(np.diff(found) <= 1e-12)
        and found.mean() == pytest.approx(target.t0, rel=1e-4)
    )
    assert target.q0 - 30 / dim**2 < np.mean(found**2) < target.q0
    assert np.sum(found < 1e-6) == pytest.approx(dim * target.zero_mass, abs=1)
    middle = target.mass_above(1e-12, found[9])
    assert 9 / dim < middle < 10 / dim and not found.flags.writeable


SPIKES = Eigenvalues((0.0, 2.0, 3.0), (0.98, 0.01, 0.01))


def test_single_eigenvalues_stand_apart_where_perturbation_theory_puts_them():
    """At s + v G(s) of the others, with the overlap 1 - v sum w/(s - s_j)^2; each fills an interval
    of its weight around it.
    """
    v = 0.04
    found = SPIKES.outliers(v)
    for one, others in zip(
        found, (((0.0, 0.98), (3.0, 0.01)), ((0.0, 0.98), (2.0, 0.01))), strict=True
    ):
        s = one.target
        assert one.position == pytest.approx(s + v * sum(w / (s - other) for other, w in others))
        assert one.overlap == pytest.approx(
            1 - v * sum(w / (s - other) ** 2 for other, w in others)
        )
        assert one.low < one.position < one.high and one.weight == 0.01
        # nearly a semicircle of its share of the noise, sharpened by its overlap
        assert one.high - one.low == pytest.approx(4 * math.sqrt(v * 0.01 * one.overlap), rel=0.01)
    assert SPIKES.single_intervals(v).tolist() == [[one.low, one.high, 0.01] for one in found]
    bulk = SPIKES.noise_bulk(v)
    assert (bulk.first, bulk.last) == (0, 0) and (bulk.low, bulk.high) == SPIKES.support(v)[0]
    assert SPIKES.features(v) == pytest.approx(0.02) and SPIKES.features(40.0) == 0.0
    assert not SPIKES.outliers(40.0) and SPIKES.single_intervals(40.0).shape == (0, 3)


@pytest.mark.parametrize(("weight", "alone"), [(0.05, 1), (0.06, 0)])
def test_an_eigenvalue_of_some_weight_is_a_bulk(weight, alone):
    target = Eigenvalues((0.0, 3.0), (1 - weight, weight))
    assert len(target.outliers(0.01)) == alone and target.features(0.01) == pytest.approx(weight)
    assert not Eigenvalues((0.0, 3.0), (0.04, 0.96)).outliers(0.01)  # zeros stand for nothing


def test_the_largest_share_has_its_part_of_the_second_moment():
    for share, energy in (
        (0.01, 0.09),
        (0.015, 0.09 + 0.005 * 4),
        (0.02, 0.13),
        (0.5, 0.13),
        (0.0, 0.0),
        (0.004, 0.036),
    ):
        assert SPIKES.top_energy(share) == pytest.approx(energy)


def test_eigenvectors_of_the_noisy_target_hold_all_of_each_of_the_target():
    """Squared overlaps add up to one, v^T Y v to the eigenvalue; what a cut leaves is what lies
    above it.
    """
    v, b = 0.3, -0.2
    shares, moments = SPIKES.feature_parts(v, b, -np.inf, np.inf)
    assert shares == pytest.approx([1, 1, 1], abs=1e-6) and moments == pytest.approx(
        [0.2, 2.2, 3.2], abs=1e-5
    )
    middle = 0.1
    below, above = (
        SPIKES.feature_parts(v, b, -np.inf, middle),
        SPIKES.feature_parts(v, b, middle, np.inf),
    )
    assert below[0] + above[0] == pytest.approx(shares, abs=1e-4) and below[1] + above[
        1
    ] == pytest.approx(moments, abs=1e-4)
    wide = Eigenvalues((0.0, 1.0, 3.0), (0.5, 0.49, 0.01))
    held = wide.hidden_overlap(20.0, b, -100.0)  # of all in the bulk, which is all
    assert held == pytest.approx(wide.q0 - b * wide.t0, rel=1e-4) and wide.features(20.0) == 0.0


@pytest.mark.parametrize(
    ("weights", "said"),
    [((0.5, 0.5 + 2e-9), "sum to one"), ((1.0, 0.0), "positive"), ((1.0,), "as many")],
)
def test_weights_that_are_none_are_refused(weights, said):
    with pytest.raises(ValueError, match=said):
        Eigenvalues((1.0, 2.0), weights)
    assert sum(Eigenvalues((1.0, 2.0), (0.5, 0.5 + 5e-10)).weights) == 1.0


@pytest.mark.parametrize(
    ("v", "x"), [(6.666630340819525e-17, x) for x in (1e-9, 1e-8, 4.032426786312738e-08)]
)
def test_noise_near_the_rounding_of_the_target_gives_the_values_of_ball_arithmetic(v, x):
    """The root of beyond the edge was taken, which says zero with no error: a solve ended in a
    division by zero.
    """
    law = MarchenkoPastur(0.04643724704357343)
    found, exact = law.values(v, x), law.exact_values(v, x)
    assert found == pytest.approx(exact, rel=1e-12) and found.J > 1
    assert law.mass_above(v, x) == exact.mass
