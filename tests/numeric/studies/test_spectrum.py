"""The spectrum of a learned map: of either sign, and on laws made up for it masses, ranks,
outlines, absolute values.
"""

from dataclasses import replace

import numpy as np
import pytest

from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from numeric.problem.solution import Status, failed_solution
from numeric.saddle.solve import solve
from numeric.studies.spectrum import (
    LearnedOutlier,
    LearnedSpectrum,
    SpectrumSplit,
    _merge_overlapping,
    learned_spectrum,
)

SIGNED = Problem(
    1.0, Eigenvalues((0.0, 3.0), (0.98, 0.02)), 0.05, 0.1, model="signed_quadratic_network"
)


def test_the_spectrum_of_minus_a_target_is_the_mirror_image():
    """Places of its outliers too, of which no moment tells."""
    mirrored = replace(SIGNED, target=Eigenvalues((-3.0, 0.0), (0.02, 0.98)))
    right, left = (learned_spectrum(solve(problem)) for problem in (SIGNED, mirrored))
    np.testing.assert_allclose(left.x, -right.x[::-1], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(left.density, right.density[::-1], rtol=1e-5)
    (of_right,), (of_left,) = right.outliers, left.outliers
    for name in ("target", "position", "value"):
        assert getattr(of_left, name) == pytest.approx(-getattr(of_right, name))
    assert (of_left.overlap, of_left.weight) == pytest.approx((of_right.overlap, of_right.weight))
    np.testing.assert_allclose(
        left.singular_values().x, right.singular_values().x, rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize(("width", "bulks"), [(0.1, 0), (0.25, 1)])
def test_a_bulk_without_mass_is_none(width, bulks):
    """Of a student as wide as two eigenvalues of weight 1/20 rounding left an interval of 1e-10,
    with a line in the figure.
    """
    target = Eigenvalues((0.0, 3.0, 4.0, 5.0, 6.0), (0.8, 0.05, 0.05, 0.05, 0.05))
    found = learned_spectrum(solve(Problem(0.5, target, 0.1, 0.5, width)))
    assert len(found.bulks) == bulks and bool(found.x.size) == bool(bulks)
    assert found.zero_mass == pytest.approx(1 - width)


OUTLIER = LearnedOutlier(5.0, 5.5, 6.0, 0.9, 0.1)
#: Half of the mass on [1, 3] at density 1/4, a tenth on [4, 4.5] at .2, a tenth at 6, the rest at
#: 0.
SPECTRUM = LearnedSpectrum(
    0.3,
    np.array([1.0, 2.0, 3.0, 4.0, 4.5]),
    np.array([0.25, 0.25, 0.25, 0.2, 0.2]),
    ((1.0, 3.0), (4.0, 4.5)),
    (OUTLIER,),
    5.0,
    0.0,
)


def test_the_mass_above_a_point_is_that_of_bulks_and_outliers_beyond_it():
    points = np.array([0.5, 1.0, 2.5, 3.0, 3.5, 4.25, 5.0, 5.999, 6.0, 7.0])
    expected = [0.7, 0.7, 0.325, 0.2, 0.2, 0.15, 0.1, 0.1, 0.0, 0.0]
    assert SPECTRUM.mass_above(points) == pytest.approx(expected)
    sloped = replace(SPECTRUM, density=np.array([0.0, 0.25, 0.5, 0.2, 0.2]))
    assert sloped.mass_above(np.array([1.0, 2.0])) == pytest.approx([0.7, 0.2 + 0.375])  # trapezes


def test_a_line_of_the_density_starts_and_ends_each_bulk_at_zero():
    x, density = SPECTRUM.outline()
    assert x.tolist() == [1, 1, 2, 3, 3, 4, 4, 4.5, 4.5] and density.tolist() == [
        0,
        0.25,
        0.25,
        0.25,
        0,
        0,
        0.2,
        0.2,
        0,
    ]
    assert all(
        part.size == 0
        for part in replace(SPECTRUM, bulks=(), x=np.zeros(0), density=np.zeros(0)).outline()
    )


def test_an_outlier_stands_in_the_middle_of_its_rank_and_a_bulk_begins_with_a_half():
    """Of ten eigenvalues one is the outlier, at rank one: nothing above it, and a half twice."""
    rank, value = SPECTRUM.ranks(10)
    assert value.tolist() == [6, 4.5, 4, 3, 2, 1] and rank == pytest.approx(
        [1, 1.5, 2.5, 2.5, 5, 7.5]
    )
    below = replace(SPECTRUM, x=SPECTRUM.x - 2.0, bulks=((-1.0, 1.0), (2.0, 2.5)))
    assert below.ranks(10)[1].tolist() == [6, 2.5, 2, 1]


def test_singular_values_are_those_of_either_sign_together():
    assert SPECTRUM.singular_values() is SPECTRUM
    x = np.array([-3.0, -1.0, 1.0, 2.0])
    apart = LearnedSpectrum(
        0.2,
        x,
        np.array([0.1, 0.1, 0.3, 0.3]),
        ((-3.0, -1.0), (1.0, 2.0)),
        (replace(OUTLIER, value=-7.0), OUTLIER),
        0.0,
        0.0,
    )
    found = apart.singular_values()
    assert (
        found.bulks == ((1.0, 3.0),)
        and found.x.tolist() == [1, 2, 3]
        and found.density.tolist() == [0.4, 0.4, 0.1]
    )
    assert [outlier.value for outlier in found.outliers] == [6.0, 7.0]
    through = LearnedSpectrum(
        0.0, np.array([-1.0, 0.5, 2.0]), np.array([0.2, 0.2, 0.2]), ((-1.0, 2.0),), (), 0.0, 0.0
    )
    folded = through.singular_values()
    assert folded.bulks == ((0.0, 2.0),) and folded.x.tolist() == [0, 0.5, 1, 2]
    assert folded.density == pytest.approx([0.4, 0.4, 0.4, 0.2])
    left = LearnedSpectrum(
        0.0, np.array([-5.0, -4.0]), np.array([0.5, 0.5]), ((-5.0, -4.0),), (), 0.0, 0.0
    )
    assert left.singular_values().bulks == ((4.0, 5.0),)
    alone = LearnedSpectrum(
        0.9, np.zeros(0), np.zeros(0), (), (replace(OUTLIER, value=-7.0),), 0.0, 0.0
    )
    assert alone.singular_values().outliers[0].value == 7.0


def test_intervals_that_overlap_or_touch_are_one():
    assert _merge_overlapping([(3.0, 4.0), (0.0, 1.0), (0.5, 0.7), (4.0, 5.0)]) == (
        (0.0, 1.0),
        (3.0, 5.0),
    )


def test_a_split_stands_in_the_middle_with_what_brackets_it_as_its_error():
    before, after = (
        replace(
            failed_solution(Problem(alpha, MarchenkoPastur(0.5), 0.1, 0.5), Status.CONVERGED),
            delta=2.0,
            errors={"delta": 0.01},
        )
        for alpha in (1.0, 4.0)
    )
    split = SpectrumSplit(before, after)
    assert split.alpha == 2.0 and split.error == pytest.approx(2 * (np.log(4) / 2 + 2 * 0.01 / 2))


def test_nothing_learned_is_all_at_zero():
    nothing = replace(
        failed_solution(Problem(1.0, MarchenkoPastur(0.5), 50.0, 0.5), Status.UNLEARNED),
        q=0.0,
        delta=1.0,
    )
    found = learned_spectrum(nothing)
    assert (
        found.zero_mass == 1.0
        and found.second_moment == 0.0
        and not found.bulks
        and not found.outliers
    )
