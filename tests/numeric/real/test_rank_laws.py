"""Laws of singular values of matrices of low rank: quantiles beside drawn matrices, and fits that
find what was drawn.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from numeric.real.rank_laws import (
    DRAWN_MATRICES,
    INITIALISATION,
    LOW_RANK_TARGET,
    MARCHENKO_PASTUR,
    POWER_LAW_TARGET,
    Size,
    rank_law,
)

SIZE = Size(160, 24)
#: Shapes at points of the grids, so that nothing is interpolated.
SHAPES = {
    INITIALISATION: (),
    MARCHENKO_PASTUR: (rank_law(MARCHENKO_PASTUR, SIZE).grids["ratio"][9],),
    LOW_RANK_TARGET: tuple(grid[6] for grid in rank_law(LOW_RANK_TARGET, SIZE).grids.values()),
    POWER_LAW_TARGET: tuple(grid[5] for grid in rank_law(POWER_LAW_TARGET, SIZE).grids.values()),
}


def drawn(name, count, size=SIZE, seed=3):
    law, rng = rank_law(name, size), np.random.default_rng(seed)
    return np.array([law.draw(rng, *SHAPES[name]) for _ in range(count)])


@pytest.mark.parametrize("name", SHAPES)
def test_quantiles_are_the_mean_singular_values_of_drawn_matrices(name):
    """Up to the bend of the law within one rank and its ends, in units of the distance of ranks."""
    ranks = rank_law(name, SIZE).half_ranks(*SHAPES[name])
    spacing = np.maximum(ranks[:-1:2] - ranks[2::2], 1e-3 * ranks[0])
    gaps = (drawn(name, 200).mean(axis=0) - ranks[1::2]) / spacing
    assert np.abs(gaps[2:-2]).max() < 0.35, gaps
    assert np.all(np.diff(ranks) <= 1e-12)


def test_weights_drawn_in_full_have_the_singular_values_of_the_triangles():
    rng = np.random.default_rng(0)
    query, key = rng.standard_normal((2, 300, SIZE.rank, SIZE.dim))
    whole = np.linalg.svd(np.swapaxes(query, 1, 2) @ key, compute_uv=False)[:, : SIZE.rank]
    ours = drawn(INITIALISATION, 300)
    error = np.hypot(*(np.std(one, axis=0, ddof=1) / 300**0.5 for one in (whole, ours)))
    assert np.all(np.abs(whole.mean(axis=0) - ours.mean(axis=0)) < 4.5 * error)


@pytest.mark.parametrize("name", SHAPES)
def test_a_law_accepts_its_own_matrices(name):
    """19 of 20 at the level .05; fewer than 31 of 40 have the probability 1e-5."""
    fits = rank_law(name, SIZE).fits(drawn(name, 40))
    assert sum(fit.p_value >= 0.05 for fit in fits) >= 31
    assert np.median([fit.p_value for fit in fits]) > 0.1


@pytest.mark.parametrize(
    ("name", "other"),
    [
        (INITIALISATION, LOW_RANK_TARGET),
        (MARCHENKO_PASTUR, POWER_LAW_TARGET),
        (INITIALISATION, POWER_LAW_TARGET),
    ],
)
def test_a_law_rejects_matrices_of_another(name, other):
    fits = rank_law(name, SIZE).fits(drawn(other, 10))
    assert all(fit.p_value < 0.05 for fit in fits)
    assert min(fit.distance for fit in fits) > 1


@pytest.mark.parametrize("name", [LOW_RANK_TARGET, POWER_LAW_TARGET])
def test_a_fit_finds_the_shapes_that_were_drawn(name):
    """At the median of 40 matrices, within a cell of the table; scale and threshold as stated."""
    scale, b = 3.0, 0.2
    law = rank_law(name, SIZE)
    lowest = law.half_ranks(*SHAPES[name])[-2]
    fits = law.fits(scale * (drawn(name, 40) - b * lowest))
    for shape, (key, grid) in zip(SHAPES[name], law.grids.items(), strict=True):
        median = np.median([fit.numbers[key] for fit in fits])
        assert abs(np.log(median / shape)) < np.log(grid[1] / grid[0]), key
    assert np.median([fit.numbers["scale"] for fit in fits]) == pytest.approx(scale, rel=0.15)


def test_intervals_hold_the_scale_in_two_cases_of_three():
    """68 %; fewer than 26 of 60 have the probability 1e-4."""
    fits = rank_law(MARCHENKO_PASTUR, SIZE).fits(drawn(MARCHENKO_PASTUR, 60))
    held = [low <= 1 <= high for low, high in (fit.intervals["scale"] for fit in fits)]
    assert sum(held) >= 26


@pytest.mark.identity
@given(seed=st.integers(0, 2**32 - 1), unit=st.floats(1e-3, 1e3))
@examples(10)
def test_the_unit_of_the_values_scales_the_fit(seed, unit):
    law = rank_law(MARCHENKO_PASTUR, SIZE)
    values = np.sort(np.random.default_rng(seed).uniform(0.5, 2, SIZE.rank))[::-1]
    one, other = law.fits(np.array([values, unit * values]))
    assert other.distance == pytest.approx(one.distance, rel=1e-6, abs=1e-9)
    assert other.numbers["ratio"] == one.numbers["ratio"]
    assert other.numbers["scale"] == pytest.approx(unit * one.numbers["scale"], rel=1e-9)
    assert np.allclose(other.expected, unit * one.expected)


@pytest.mark.identity
@given(seed=st.integers(0, 2**32 - 1))
@examples(10)
def test_the_distance_is_the_mean_square_displacement_of_the_expected_values(seed):
    """By its definition, from the values alone."""
    law = rank_law(INITIALISATION, SIZE)
    values = np.sort(np.random.default_rng(seed).uniform(0.5, 2, SIZE.rank))[::-1]
    (fit,) = law.fits(values[None])
    ranks = fit.numbers["scale"] * law.half_ranks()
    displacements = (values - ranks[1::2]) / (ranks[:-1:2] - ranks[2::2])
    assert fit.distance == pytest.approx(np.sqrt(np.mean(displacements**2)), rel=1e-9)
    assert 1 / (1 + DRAWN_MATRICES) <= fit.p_value <= 1


def test_large_matrices_are_compared_with_drawn_ones_of_the_same_ratio():
    large = Size(4096, 128)
    assert large.drawn.dim < large.dim
    assert large.drawn.rank / large.drawn.dim == pytest.approx(128 / 4096, rel=0.05)
    assert SIZE.drawn == SIZE
