"""Channel averages against brute force, plain quadrature, finite differences, limits and
symmetries.
"""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numba import njit
from numpy.polynomial.hermite_e import hermegauss
from pair_channel import ChannelAverages, average, unlearned
from scipy.stats import norm, qmc
from strategies import examples

from numeric.channel.softmax import pair_minimiser
from numeric.channel.softmax.pair_average import COARSE, Resolution
from numeric.maths.domain import OutsideDomain
from numeric.model import float64 as physics

FINE = COARSE.refined()

# m, q, V, rho, beta, beta0
POINTS = {
    "convex": (1.2, 1.3, 0.5, 1.75, 1.0, 1.0),
    "jumps": (0.9, 1.1, 20.0, 1.75, 1.0, 1.0),
    "critical": (1.4, 1.69, 6.0, 2.0, 1.0, 1.0),
    "temperatures": (0.65, 0.30, 0.3, 1.8, 2.0, 1.0),
    "interpolating": (0.9, 1.1, 200.0, 1.75, 1.0, 1.0),
    "no overlap": (0.0, 1.2, 5.0, 1.75, 1.0, 1.0),
}
AXES = np.reshape(physics.principal_axes(), (2, 2)).astype(float)


def assert_close(
    value: ChannelAverages, expected: ChannelAverages, tolerance: float, why: str
) -> None:
    for name, a, b in zip(value._fields, value, expected, strict=True):
        assert abs(a - b) <= tolerance * abs(b), (
            f"{name}: {a!r} != {b!r} beyond {tolerance:.1e} ({why})"
        )


def fields(
    gaussian: np.ndarray, m: float, q: float, rho: float, beta0: float
) -> tuple[np.ndarray, ...]:
    """gamma1, gamma2, w and labels, each of shape (2, N), from standard normals of shape (N, 4)."""
    gamma1, gamma2 = AXES @ gaussian[:, :2].T, AXES @ gaussian[:, 2:].T
    teacher, independent, target = physics.field_coefficients(m, q, rho)
    return (
        gamma1,
        gamma2,
        teacher * gamma1 + independent * gamma2,
        physics.label(target * gamma1, beta0),
    )


def minimise(w: np.ndarray, p: np.ndarray, V: float, beta: float, starts: int) -> np.ndarray:
    """Global minimisers by search of a starts x starts grid, then damped Newton; none of the code
    under test.
    """
    reach = np.linspace(-1.0, 1.0, starts)
    low, high = np.minimum(w, -6.0 / beta), np.maximum(w, 6.0 / beta)
    u, best = w.copy(), np.full(w.shape[1], np.inf)
    for a in reach:
        for b in reach:
            trial = 0.5 * (low + high) + 0.5 * (high - low) * np.array([[a], [b]])
            energy = physics.sample_energy(*trial, *w, *p, V, beta)
            u, best = np.where(energy < best, trial, u), np.minimum(energy, best)
    step = 2.0 * np.max(high - low, axis=0) / starts
    for _ in range(60):
        g1, g2 = physics.sample_gradient(*u, *w, *p, V, beta)
        h11, h12, h22 = physics.sample_hessian(*u, *w, *p, V, beta)
        shift = np.maximum(0.0, 0.02 / V - 0.5 * (h11 + h22) + np.hypot(0.5 * (h11 - h22), h12))
        h11, h22 = h11 + shift, h22 + shift
        newton = np.array([h12 * g2 - h22 * g1, h12 * g1 - h11 * g2]) / (h11 * h22 - h12**2)
        u = u + newton * np.minimum(1.0, step / np.maximum(1e-300, np.abs(newton).max(axis=0)))
    return u


def direct(
    gaussian: np.ndarray, weights: np.ndarray, point: tuple[float, ...], starts: int
) -> ChannelAverages:
    """The averages as weighted sums over samples, in the coordinates of the theory note."""
    m, q, V, rho, beta, beta0 = point
    gamma1, gamma2, w, p = fields(gaussian, m, q, rho, beta0)
    u = minimise(w, p, V, beta, starts)
    f = np.array(physics.dual_field(*u, *w, V))
    samples = (
        physics.sample_loss(*u, *p, beta),
        physics.elastic_energy(*u, *w),
        (f * gamma1).sum(0),
        (f * gamma2).sum(0),
        physics.sample_loss(*w, *p, beta),
    )
    train, R, F1, F2, test = (float(weights @ sample) for sample in samples)
    return ChannelAverages(
        *physics.channel_derivatives(m, q, V, rho, train, R, F1, F2), train, test
    )


# What only kernels call is compiled in kernels alone.
global_minimiser = njit(
    lambda w1, w2, sample, setting: pair_minimiser.global_minimiser(w1, w2, sample, setting)
)
single_well = njit(lambda setting: pair_minimiser.single_well(setting))
descend = njit(
    lambda u1, u2, sample, setting: pair_minimiser.descend(u1, u2, sample, setting, np.inf)
)


@pytest.mark.parametrize(
    ("V", "beta", "beta0"), [(5.0, 1.0, 1.0), (200.0, 1.0, 1.0), (0.5, 5.0, 5.0), (10.0, 3.0, 1.0)]
)
def test_minimum_is_global(V: float, beta: float, beta0: float) -> None:
    """Uncorrelated fields are the hardest: m = 0.

    Starts that miss the edge of a saturated dip fail at beta = 5.
    """
    _, _, w, p = fields(np.random.default_rng(7).normal(size=(400, 4)), 0.0, 1.2, 1.75, beta0)
    z = np.log(p / (1.0 - p)) / beta0
    u = minimise(w, p, V, beta, 50)
    best = physics.sample_energy(*u, *w, *p, V, beta)
    setting = pair_minimiser.Setting(V, beta, beta0)
    for k in range(w.shape[1]):
        sample = pair_minimiser.Sample(*w[:, k], *z[:, k], *p[:, k])
        found = global_minimiser(w[0, k], w[1, k], sample, setting)
        energy = physics.sample_energy(*found, *w[:, k], *p[:, k], V, beta)
        # Newton leaves ~1e-15; the grid itself may miss a minimum, so only one side is tested.
        assert energy <= best[k] + 1e-10, (
            f"sample {k}: energy {energy} at {found}, but {best[k]} at {u[:, k]}"
        )


@given(beta=st.floats(0.1, 20.0), seed=st.integers(0, 10**6), below=st.floats(0.01, 0.999))
def test_no_sample_has_a_second_minimum_where_one_descent_is_enough(beta, seed, below):
    """At the bound of `single_well`, from starts far apart; for V somewhat above it there are
    samples with two minima.
    """
    setting = pair_minimiser.Setting(below * 1.0397 / beta**2, beta, 1.0)
    assert single_well(setting) and not single_well(setting._replace(V=1.04 / beta**2))
    rng = np.random.default_rng(seed)
    w, z, starts = (
        rng.normal(size=2) * 3 / beta,
        rng.normal(size=2) * 5,
        rng.normal(size=(4, 2)) * 4 / beta,
    )
    sample = pair_minimiser.Sample(*w, *z, *physics.label(z, 1.0))
    found = [descend(*start, sample, setting) for start in starts]
    assert np.ptp(found, axis=0).max() * beta < 1e-6


@pytest.mark.parametrize("name", ["jumps", "critical", "no overlap"])
def test_agrees_with_sampling(name: str) -> None:
    """Global minima by exhaustive search on 8 independent scrambled Sobol sets, in units of their
    standard error.
    """
    equal = np.full(1024, 2.0**-10)
    sets = (norm.ppf(qmc.Sobol(4, rng=seed).random(1024)) for seed in range(8))
    runs = np.array([direct(gaussian, equal, POINTS[name], 24) for gaussian in sets])
    error = runs.std(axis=0, ddof=1) / 8**0.5
    z = (np.array(average(*POINTS[name], FINE)) - runs.mean(axis=0)) / error
    assert np.abs(z).max() < 6.0, (
        f"z = {z}: Student's t with 7 degrees of freedom exceeds 6 with probability 5e-4"
    )
    assert (error < 0.05 * np.abs(runs.mean(axis=0))).all(), "else the comparison says nothing"


def test_agrees_with_plain_gauss_hermite_where_convex() -> None:
    """Without jumps the product rule in the unrotated coordinates converges too."""
    point = (0.25, 0.3, 0.5, 0.4, 1.0, 1.0)  # narrow fields, so that 14 nodes resolve the labels
    nodes, weights = hermegauss(14)
    gaussian = np.stack(np.meshgrid(*[nodes] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    product = np.einsum("i,j,k,l->ijkl", *[weights / weights.sum()] * 4).ravel()
    expected = direct(gaussian, product, point, starts=2)  # one minimum: any start
    assert_close(
        average(*point, FINE),
        expected,
        1e-6,
        "from 12 to 14 nodes the product rule still moves by 7e-7",
    )


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize(("index", "slope"), [(0, "dM_dm"), (1, "dM_dq"), (2, "dM_dV")])
def test_derivatives_are_those_of_M(name: str, index: int, slope: str) -> None:
    point = list(POINTS[name])
    step = 0.04 * (abs(point[index]) or 1.0)

    def M(shift: float) -> float:
        return average(*point[:index], point[index] + shift, *point[index + 1 :], FINE).M

    # Fourth order: truncation ~(0.04)^4.  What is left: without overlap, errors of M (2e-5) over
    # the step 0.04, and of the slope (7e-4); elsewhere a tenth of that.
    numerical = (8.0 * (M(step) - M(-step)) - (M(2.0 * step) - M(-2.0 * step))) / (12.0 * step)
    exact = getattr(average(*point, FINE), slope)
    assert abs(numerical - exact) < (3e-3 if name == "no overlap" else 3e-4) * abs(exact)


@pytest.mark.parametrize("name", POINTS)
def test_error_estimate_is_honest(name: str) -> None:
    """The estimate, which is the error of COARSE, covers FINE; the reference has 1.5 times the
    nodes.
    """
    value, coarse = average(*POINTS[name], FINE), average(*POINTS[name], COARSE)
    error = ChannelAverages(*(abs(a - b) for a, b in zip(value, coarse, strict=True)))
    reference = average(*POINTS[name], FINE.refined())
    for label, a, b, e in zip(value._fields, value, reference, error, strict=True):
        assert abs(a - b) <= e + 2e-5 * abs(b), (
            f"{label}: off by {abs(a - b):.1e}, estimate {e:.1e}"
        )


@pytest.mark.parametrize("name", [name for name in POINTS if name != "no overlap"])
def test_fine_has_five_digits(name: str) -> None:
    assert_close(
        average(*POINTS[name], FINE),
        average(*POINTS[name], FINE.refined()),
        1e-5,
        "the promise of FINE",
    )


def test_interpolating_limit() -> None:
    """V -> infinity fits every label: M V -> (D/2)(r^2 rho - 2 r m + q), r = beta0/beta, D = 2."""
    m, q, V, rho, beta, beta0 = 0.05, 0.06, 1e6, 0.07, 1.0, 1.5
    r, D = beta0 / beta, float(physics.label_numbers(2))
    value = average(m, q, V, rho, beta, beta0, FINE)
    limit = D / 2.0 * (r**2 * rho - 2.0 * r * m + q)
    # The correction is of relative order 1/(V beta^2 p^2 (1 - p)^2) ~ 1e-4 at the 3-sigma labels of
    # this small rho.
    assert abs(value.M * V - limit) < 1e-4 * limit
    assert abs(value.dM_dm * V + D * r) < 1e-4 * D * r
    assert abs(value.dM_dq * V - D / 2.0) < 1e-4 * D / 2.0


@pytest.mark.identity
@given(
    m=st.floats(-0.9, 0.9),
    V=st.floats(0.01, 100.0),
    beta=st.floats(0.3, 2.0),
    scale=st.floats(0.2, 5.0),
)
@example(m=0.9, V=20.0, beta=1.0, scale=3.0)
@examples(15)
def test_index_has_a_unit(m: float, V: float, beta: float, scale: float) -> None:
    """h -> scale h, beta -> beta/scale changes nothing but units: m, q, rho, V carry index^2 (loss
    is a number).
    """
    tiny = Resolution(outer=4, across=6, panels=4, nodes=8, tolerance=1e-2)
    square = scale**2
    value = average(m, 1.0, V, 1.5, beta, 1.0, tiny)
    scaled = average(m * square, square, V * square, 1.5 * square, beta / scale, 1.0 / scale, tiny)
    back = scaled._replace(
        dM_dm=scaled.dM_dm * square, dM_dq=scaled.dM_dq * square, dM_dV=scaled.dM_dV * square
    )
    for a, b, unit in zip(value, back, (1.0, 1.0, 1.0, 1.0 / V, 1.0, 1.0), strict=True):
        # The same sums up to rounding, unless a piece is split on one side only: then within
        # tolerance 1e-2 squared.
        assert abs(a - b) < 1e-4 * max(abs(a), 1e-3 * unit)


@pytest.mark.parametrize(("rho", "beta", "beta0"), [(1.75, 1.0, 1.0), (1.5, 2.0, 3.0)])
def test_unlearned_is_the_limit(rho: float, beta: float, beta0: float) -> None:
    """Along m = c t, q = t, V = t the averages differ from those at S = 0 by O(t): extrapolate from
    two t.
    """
    limit = unlearned(rho, beta, beta0, FINE)

    def near(t: float) -> np.ndarray:
        return np.array(average(0.9 * t, t, t, rho, beta, beta0, Resolution(40, 16, 5, 10, 1e-3)))

    step = 1e-3 / beta**2
    extrapolated = ChannelAverages(*(2.0 * near(step) - near(2.0 * step)))
    assert_close(
        extrapolated, limit, 1e-3, "remainder t^2, times the stiffness beta0^2 rho of the labels"
    )


def test_same_bits_every_time() -> None:
    first = average(*POINTS["jumps"], COARSE)
    average(*POINTS["critical"], FINE)
    assert average(*POINTS["jumps"], COARSE) == first


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (lambda: average(1.2, 1.3, 0.0, 1.75, 1.0, 1.0, COARSE), "use unlearned"),
        (lambda: average(1.2, 0.5, 1.0, 1.75, 1.0, 1.0, COARSE), "q > m"),
        (lambda: average(1.2, 1.3, 1.0, 1.75, 0.0, 1.0, COARSE), "beta"),
        (lambda: unlearned(-1.0, 1.0, 1.0, COARSE), "rho"),
        (lambda: Resolution(7, 16, 4, 10, 1e-2), "even"),
        (lambda: Resolution(8, 16, 4, 10, 0.0), "tolerance > 0"),
    ],
)
def test_invalid_arguments_are_named(call: Callable[[], object], rule: str) -> None:
    with pytest.raises((ValueError, OutsideDomain), match=rule):
        call()
