"""Outliers against random matrices, the double integral of the response, the learned spectrum of
listed targets.
"""

import json
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.integrate import quad
from strategies import examples, kappa0s, log_uniform

from numeric.__main__ import main
from numeric.laws import divided_difference, subordination
from numeric.laws.divided_difference import either_sign_second_difference, second_difference
from numeric.laws.eigenvalue_list import Eigenvalues, finite_rank
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import power_law
from numeric.model import float64 as generated
from numeric.problem.problem import Problem
from numeric.saddle.solve import solve
from numeric.studies.spectrum import learned_spectrum

targets = st.one_of(
    st.builds(MarchenkoPastur, kappa0s),
    st.builds(power_law, st.floats(0.3, 2.0), st.integers(2, 60)),
    st.builds(finite_rank, st.tuples(st.floats(0.5, 6), st.floats(0.5, 6)), st.integers(2, 60)),
)


def noisy(values: np.ndarray, v: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors of diag(values) + sqrt(v) G, entry variance (1 + delta_ij)/(2d)
    of G doubled by symmetry.
    """
    d = len(values)
    a = rng.standard_normal((d, d))
    return np.linalg.eigh(np.diag(values) + np.sqrt(v) * (a + a.T) / np.sqrt(2 * d))


# Response of the shrinkage.


@pytest.mark.identity
@examples(60)
@given(target=targets, v=log_uniform(1e-3, 10.0), place=st.floats(-0.3, 0.95))
def test_second_difference_is_that_of_a_dense_grid(target, v, place):
    """Midpoint sums in the angle of each bulk: coarse, but nothing is shared with the panels."""
    b = place * target.upper_edge(v)
    found = second_difference(target, v, b)
    x, masses = [], []
    for low, high in target.support(v):
        angles = (np.arange(300) + 0.5) * np.pi / 300
        points = (low + high) / 2 - (high - low) / 2 * np.cos(angles)
        x.append(points)
        masses.append(target.density(v, points) * (high - low) / 2 * np.sin(angles) * np.pi / 300)
    x, masses = np.concatenate(x), np.concatenate(masses)
    gaps = x[:, None] - x
    np.fill_diagonal(gaps, 1.0)
    D = (np.clip(x[:, None] - b, 0, None) - np.clip(x - b, 0, None)) / gaps
    np.fill_diagonal(D, x > b)
    # The grid cuts the bulk that b lies in at a node: an error of one mass in 300.
    assert found.value == pytest.approx(masses @ D**2 @ masses, abs=0.02)
    assert 0 <= found.value <= 1 + found.error
    assert found.error < 1e-9


def test_second_difference_is_resolved_where_two_intervals_have_just_merged():
    """The density is a cusp there; panels were halved twelve times, and 5e-9 of the mass was
    lost.
    """
    target, v = power_law(0.3, 48), math.exp(-4.5078125)
    assert second_difference(target, v, 0.375 * target.upper_edge(v)).error < 1e-11


def cut_semicircle(cut):
    """Iint D^2 over the semicircle on [-1, 1] cut at cos(cut), D = (x - b)/(x - y) where x > b > y,
    1 above and 0 below.

    The integral over y is elementary: of sqrt(1 - y^2)/(x - y)^2, with a logarithm, in angles x =
    cos t.
    """

    def mixed(t):
        x, b = np.cos(t), np.cos(cut)
        logarithm = np.log(np.sin((cut + t) / 2) / np.sin((cut - t) / 2))
        below = 2 / np.pi * (np.sin(cut) / (x - b) - (np.pi - cut) + logarithm / np.tan(t))
        return 2 / np.pi * np.sin(t) ** 2 * (x - b) ** 2 * below

    mass = (cut - np.sin(cut) * np.cos(cut)) / np.pi
    return mass**2 + 2 * quad(mixed, 0, cut, epsabs=1e-14, epsrel=1e-13, limit=200)[0]


@pytest.mark.identity
@examples(60)
@given(middle=st.floats(0.1, 5.0), v=log_uniform(1e-3, 10.0), cut=st.floats(0.02, np.pi - 0.02))
def test_second_difference_of_a_semicircle_is_exact(middle, v, cut):
    """One eigenvalue: the noisy law is a semicircle around it, and D has no scale."""
    found = second_difference(
        Eigenvalues((middle,), (1.0,)), v, middle + 2 * np.sqrt(v) * np.cos(cut)
    )
    assert found.value == pytest.approx(cut_semicircle(cut), abs=1e-9)
    assert abs(found.value - cut_semicircle(cut)) <= found.error < 1e-9


@pytest.mark.identity
@examples(20)
@given(place=st.floats(0.05, 0.9), v=log_uniform(1e-2, 10.0))
def test_second_difference_of_either_sign_on_a_semicircle(place, v):
    """Around 0, where D^2 of both ends is that of each and of what x > b and y < -b have together;
    by midpoints in angles.

    Its corners are claimed to 1e-4.
    """
    b = place * 2 * np.sqrt(v)
    angles = (np.arange(2000) + 0.5) * np.pi / 2000
    x, masses = 2 * np.sqrt(v) * np.cos(angles), 2 / np.pi * np.sin(angles) ** 2 * np.pi / 2000
    kept = np.sign(x) * np.maximum(np.abs(x) - b, 0.0)
    gaps = x[:, None] - x
    np.fill_diagonal(gaps, 1.0)
    D = (kept[:, None] - kept) / gaps
    np.fill_diagonal(D, np.abs(x) > b)
    zero = Eigenvalues((-1e-12, 1e-12), (0.5, 0.5))
    energy = zero.energy(v, b, 1.0)
    found = either_sign_second_difference(zero, v, b, 2 * energy.J_v)
    assert found.value == pytest.approx(
        masses @ D**2 @ masses, abs=3e-3
    )  # a node on either side of each corner
    assert found.error < 1e-3


def test_a_density_that_is_rounding_is_not_halved_without_end(monkeypatch):
    """A bulk 1e-7 of its distance from 0 wide, of a target scaled down: panels were halved twelve
    times (5 s a solution).
    """
    panels = []
    evaluated = divided_difference._evaluated
    monkeypatch.setattr(
        divided_difference, "_evaluated", lambda *a: panels.append(len(a[3].start)) or evaluated(*a)
    )
    found = second_difference(
        MarchenkoPastur(0.08771151907238502), 1.576660499174209e-08**2, 4.146887596099467e-05
    )
    assert 0 < found.value < 1
    assert max(panels) <= divided_difference._GROWTH * panels[0]


def test_second_difference_at_its_ends():
    target, v = MarchenkoPastur(0.5), 0.3
    assert second_difference(target, v, target.support(v)[0][0] - 1.0).value == pytest.approx(
        1.0, abs=1e-12
    )
    assert second_difference(target, v, target.upper_edge(v) + 1e-9) == (0.0, 0.0)
    assert second_difference(target, v, 0.1, quantile=0.5).value == np.inf


# Outliers.


def test_outliers_are_those_of_random_matrices():
    """Position and overlap of each isolated eigenvalue, in units of the scatter over draws and of
    its own size at finite d.
    """
    d, v, draws, rng = 400, 0.2, 12, np.random.default_rng(5)
    target = finite_rank((4.0, 2.5, 1.2), d)
    values = np.zeros(d)
    values[-3:] = (1.2, 2.5, 4.0)
    outliers = target.outliers(v)
    assert [outlier.target for outlier in outliers] == [1.2, 2.5, 4.0]
    positions, overlaps = np.empty((draws, 3)), np.empty((draws, 3))
    for k in range(draws):
        eigenvalues, vectors = noisy(values, v, rng)
        positions[k], overlaps[k] = eigenvalues[-3:], np.diag(vectors[-3:, -3:]) ** 2
    for j, outlier in enumerate(outliers):
        for found, theory in (
            (positions[:, j], outlier.position),
            (overlaps[:, j], outlier.overlap),
        ):
            # 4 standard errors; 3/d for the effect of a finite weight, which is of order 1/d.
            assert abs(found.mean() - theory) < 4 * found.std(ddof=1) / np.sqrt(draws) + 3 / d
        # Theory's interval at weight 1/d is that of a free, not of a random, eigenvalue: its width
        # is the scale of the scatter.
        assert outlier.low < outlier.position < outlier.high


def test_power_law_bulks_and_outliers_hold_all_eigenvalues():
    target, v = power_law(0.75, 100), 0.05
    outliers, bulks = target.outliers(v), target.bulks(v)
    assert len(outliers) == sum(bulk.first == bulk.last for bulk in bulks) > 3
    for outlier in outliers:
        s, w = target.arrays
        others = s != outlier.target
        assert v * np.sum(w[others] / (s[others] - outlier.target) ** 2) < 1
        assert outlier.overlap == pytest.approx(
            1 - v * np.sum(w[others] / (s[others] - outlier.target) ** 2)
        )


@pytest.mark.identity
@examples(30)
@given(v=log_uniform(1e-3, 10.0), exponent=st.floats(0.3, 1.5), place=st.floats(0.05, 0.95))
def test_eigenvectors_of_the_target_are_complete(v, exponent, place):
    """What eigenvectors of Y at x have of all of the target's is what there is of them: the
    density.
    """
    target = power_law(exponent, 30)
    low, high = target.support(v)[0]
    x = np.array([low + place * (high - low)])
    u = generated.subordinate(x, subordination.transforms(x, v, *target.arrays), v)
    s, w = target.arrays
    # u is known to 1e-16 over its height above the axis, which is small in nearly closed gaps.
    assert generated.feature_density(u[:, None], s) @ w == pytest.approx(
        target.density(v, x), rel=1e-6
    )


@pytest.mark.identity
@examples(30)
@given(v=log_uniform(1e-3, 10.0), exponent=st.floats(0.3, 1.5))
@example(
    v=0.0306, exponent=0.75
)  # grid points on the very edge of a narrow interval, where the density is 0/0 of shares
def test_all_of_each_eigenvector_is_in_the_eigenvectors_of_the_noisy_target(v, exponent):
    target = power_law(exponent, 30)
    s, _ = target.arrays
    shares, moments = target.feature_parts(v, 0.0, -np.inf, np.inf)
    # A gap nearly closed has its square roots on either side of a narrow neck: at worst 3e-4 are
    # left of 300 laws drawn.
    assert shares == pytest.approx(np.ones(30), abs=1e-3)
    assert moments == pytest.approx(s, abs=1e-3 * (s.max() + np.sqrt(v)))  # the noise has no mean


@pytest.mark.identity
@examples(40)
@given(
    v=log_uniform(1e-3, 30.0),
    exponent=st.floats(0.3, 1.5),
    place=st.floats(0.0, 0.98),
    width=st.sampled_from([0.3, 1.0]),
)
def test_slopes_of_the_energy_by_the_strengths_of_features(v, exponent, place, width):
    """J depends on s - b alone, and is of degree two in s, b and the root of v: two sum rules; and
    each slope by its density.
    """
    target = power_law(exponent, 60)
    s, w = target.arrays
    b = place * target.upper_edge(v)
    energy = target.energy(v, b, width)
    slopes = target.strength_slopes(v, b, energy.quantile, s)
    assert w @ slopes == pytest.approx(-energy.J_b, rel=1e-7)
    assert w * s @ slopes == pytest.approx(
        2 * energy.J - 2 * v * energy.J_v - b * energy.J_b, rel=1e-7
    )
    _, moments = target.feature_parts(v, b, energy.quantile or b, np.inf)
    # Of the greatest: narrow necks between bulks cost the quadrature of the density up to 3e-4, the
    # path nothing.
    assert slopes == pytest.approx(2 * moments, abs=1e-3 * slopes.max())


def test_the_overlap_of_an_outlier_is_what_its_interval_holds_of_it():
    """At weight 1/d the interval's share of the target eigenvector is the overlap, up to 1/d."""
    d, v = 2000, 0.2
    target = finite_rank((4.0, 2.0), d)
    for outlier, index in zip(target.outliers(v), (1, 2), strict=True):
        shares, moments = target.feature_parts(v, 0.0, outlier.low, outlier.high)
        assert shares[index] == pytest.approx(outlier.overlap, abs=3 / d)
        assert moments[index] / shares[index] == pytest.approx(outlier.position, abs=3 / d)


# Learned spectrum.


@pytest.mark.parametrize(
    "target",
    [power_law(0.75, 60), finite_rank((4.0, 3.0, 2.0), 50), MarchenkoPastur(0.3)],
    ids=["power", "rank", "mp"],
)
def test_learned_spectrum_has_mass_one_and_second_moment_q(target):
    solution = solve(Problem(alpha=1.0, target=target, lambda_=0.1, noise=0.5)).unwrap()
    spectrum = learned_spectrum(solution, 2000)
    mass = spectrum.zero_mass + sum(outlier.weight for outlier in spectrum.outliers)
    start = 0
    for low, high in spectrum.bulks:
        part = slice(start, start + 2000)
        mass += np.trapezoid(spectrum.density[part], spectrum.x[part])
        start += 2000
        first, *_, last = spectrum.x[part]
        assert low <= first and last <= high and first - low + high - last < 1e-5 * high
        assert (
            low == 0 or low > 1e-5
        )  # the threshold cuts at zero, which was the first point of the grid
    # Trapezes on Chebyshev nodes; the bulk is cut at the threshold, where the density does not
    # vanish.
    assert mass == pytest.approx(1, abs=1e-3)
    assert spectrum.second_moment == pytest.approx(
        solution.q, abs=spectrum.moment_error + 1e-7 * solution.q
    )
    assert spectrum.moment_error < 1e-5 * solution.q
    assert bool(spectrum.outliers) == (not isinstance(target, MarchenkoPastur))


def test_command_line_lists_outliers(capsys, monkeypatch):
    arguments = [
        "numeric",
        "spectrum",
        "--alpha",
        "1",
        "--eigenvalues",
        "4,3",
        "--dim",
        "40",
        "--lambda",
        ".1",
        "--noise",
        "1/2",
    ]
    monkeypatch.setattr("sys.argv", [*arguments, "--json"])
    assert main() == 0
    document = json.loads(capsys.readouterr().out)
    assert document["parameters"]["eigenvalues"] == "4,3"
    assert [outlier["target"] for outlier in document["outliers"]] == [3.0, 4.0]
    assert set(document["outliers"][0]) == {"target", "position", "value", "overlap", "weight"}
