"""The noisy law mu_v (target boxplus semicircle): physical root, edges, density, spectral function, and the learned spectrum.

Theory note, section 4; every formula is generated (step `spectral`).
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from flint import arb
from numpy.typing import NDArray
from scipy.optimize import brentq

from generated.tied_attention import float64 as generated
from numeric.enclosure import working
from numeric.laws import RationalLaw
from numeric.problem import TargetLaw
from numeric.solution import Solution

Array = NDArray[np.float64]
# Where the proven bound on the rounding error of a closed form exceeds this share of its value, ball arithmetic takes over: the
# channel average beside it is not better than 1e-8.
_TRUSTED = 1e-9
_EXACT_BITS = 200  # J ~ x^(7/2) at a fraction x of the bulk below its edge: nine digits are left at x = 1e-12
_POLISH = 1e-6  # eigenvalues of the companion matrix are closer than this to simple roots, relatively
_REAL = 1e-9  # a double root is known to sqrt(eps) ~ 1e-8: smaller relative imaginary parts are rounding


def physical_root(v: Array | float, b: Array, law: TargetLaw) -> NDArray[np.complex128]:
    """Stieltjes transform g of mu_v at each b (eigenvalue), approached from above: Im g < 0, or z'(g) < 0 if g is real.

    Shape: that of `v` and `b` together.
    """
    variances, positions = np.broadcast_arrays(np.asarray(v, dtype=float), np.asarray(b, dtype=float))
    coefficients = np.stack(np.broadcast_arrays(*generated.resolvent_polynomial(variances, positions, *law)), axis=-1)
    roots = polynomial_roots(coefficients)
    with np.errstate(divide="ignore", invalid="ignore"):  # a root may fall on a pole of z: its slope is never the least
        columns = (np.asarray(value)[..., None] for value in (variances, *law))
        slopes = np.real(generated.resolvent_slope(np.real(roots).astype(complex), *columns))
    is_complex = roots.imag < -_REAL * np.abs(roots)
    # One rule per position: the root below the axis if there is one, else the real root on which z falls.
    chosen = np.where(is_complex.any(axis=-1), np.argmin(roots.imag, axis=-1), np.argmin(slopes, axis=-1))
    g = np.take_along_axis(roots, chosen[..., None], axis=-1)[..., 0]
    real = ~is_complex.any(axis=-1)
    return np.where(real, g.real + 0j, g)


def polynomial_roots(coefficients: Array) -> NDArray[np.complex128]:
    """All roots of polynomials given along the last axis, highest power first: companion eigenvalues, two Newton steps."""
    monic = coefficients[..., 1:] / coefficients[..., :1]
    degree = monic.shape[-1]
    companion = np.zeros((*monic.shape[:-1], degree, degree))
    companion[..., 0, :] = -monic
    companion[..., np.arange(1, degree), np.arange(degree - 1)] = 1
    roots = np.linalg.eigvals(companion).astype(complex)
    for _ in range(2):
        value, slope = np.zeros_like(roots), np.zeros_like(roots)
        for k in range(degree + 1):
            slope = slope * roots + value
            value = value * roots + coefficients[..., k, None]
        # At a double root (an edge of the support) value and slope are rounding errors and their ratio means nothing.
        polishes = np.abs(value) < _POLISH * np.abs(slope * roots)
        roots = roots - np.divide(value, slope, out=np.zeros_like(value), where=polishes)
    return roots


def support(v: float, law: TargetLaw) -> list[tuple[float, float]]:
    """Intervals on which mu_v has a density, from the real critical points of z(g).

    Raises:
        ArithmeticError: none is found, which needs parameters beyond double precision.
    """
    critical = polynomial_roots(np.array([[float(value) for value in generated.edge_polynomial(v, *law)]]))[0]
    real = np.unique(critical.real[np.abs(critical.imag) < 1e-7 * np.abs(critical)])  # merging edges: see _REAL
    edges = np.unique(np.real(generated.inverse_stieltjes(real, v, *law)))
    middles = (edges[:-1] + edges[1:]) / 2
    filled = generated.density(physical_root(v, middles, law)) > 0
    intervals: list[tuple[float, float]] = []
    for low, high, inside in zip(edges[:-1], edges[1:], filled, strict=True):
        if inside and intervals and intervals[-1][1] == low:
            intervals[-1] = (intervals[-1][0], float(high))
        elif inside:
            intervals.append((float(low), float(high)))
    if not intervals:
        raise ArithmeticError(f"no support found at v = {v:g}, {law}: parameters beyond double precision")
    return intervals


class Energy(NamedTuple):
    """Spectral function and derivatives above the threshold, of the largest kappa d eigenvalues only if that is fewer."""

    J: float
    J_v: float
    J_b: float
    mass: float
    quantile: float | None


class Values(NamedTuple):
    """Spectral function and derivatives at one position, and the mass above it."""

    J: float
    J_v: float
    J_b: float
    J_bv: float
    mass: float


def spectral_energy(v: float, b: float, width: float, law: TargetLaw) -> Energy:
    """J(v, b) with derivatives and the mass above the threshold, limited to rank `width`; zero beyond the upper edge."""
    top = support(v, law)[-1][1]
    if b >= top:
        return Energy(0.0, 0.0, 0.0, 0.0, None)
    here = spectral_values(v, b, law)
    if here.mass <= width:
        return Energy(here.J, here.J_v, here.J_b, here.mass, None)
    Q = quantile(v, width, law, b, top)
    above = spectral_values(v, Q, law)
    J, J_v, J_b = generated.rank_limited(above.J, above.J_v, above.J_b, above.J_bv, Q, b, width)
    return Energy(float(J), float(J_v), float(J_b), width, Q)


def spectral_values(v: float, x: float, law: TargetLaw) -> Values:
    """The closed forms at x in float64, or in ball arithmetic where they cancel."""
    g = complex(physical_root(v, np.array(x), law))
    values = Values(*(float(getattr(generated, f"spectral_{name}")(g, v, x, *law)) for name in Values._fields))
    errors = (float(getattr(generated, f"spectral_{name}_error")(g, v, x, *law)) for name in Values._fields)
    if all(error <= _TRUSTED * abs(value) for error, value in zip(errors, values, strict=True)):
        return values
    return exact_values(v, x, law)


def exact_values(v: float, x: float, law: TargetLaw) -> Values:
    """The same in ball arithmetic.

    Raises:
        Unresolved: x is too close to an edge of the support for it.
    """
    with working(_EXACT_BITS):
        exact = RationalLaw("tied_attention", lambda: [arb(value) for value in law], Fraction(0))
        point = exact.at(arb(v), arb(x))
        return Values(*(float(point.value(name)) for name in Values._fields))


def quantile(v: float, mass: float, law: TargetLaw, low: float, high: float) -> float:
    """Eigenvalue of mu_v in [low, high] above which the law has this mass."""

    def excess(x: float) -> float:
        return float(generated.spectral_mass(complex(physical_root(v, np.array(x), law)), v, x, *law)) - mass

    return float(brentq(excess, low, high, xtol=1e-14, rtol=1e-14))


@dataclass(frozen=True)
class LearnedSpectrum:
    """Law of the singular values of the learned S (it is positive, so these are its eigenvalues).

    `zero_mass` at 0 and a density on `x` (eigenvalue units), a grid that ends at the edges of each bulk;
    `second_moment` is the integral of x^2 over the law, equal to q.
    """

    zero_mass: float
    x: Array
    density: Array
    bulks: tuple[tuple[float, float], ...]
    second_moment: float


def learned_spectrum(solution: Solution, points: int = 400) -> LearnedSpectrum:
    """Spectrum of S at a solved point, `points` grid values per bulk (arXiv 2509.24914, Claim 4.1).

    Raises:
        NotConverged: the solution is none.
    """
    solution.unwrap()
    if solution.q == 0:
        return LearnedSpectrum(1.0, np.zeros(0), np.zeros(0), (), 0.0)
    v, law, b, c = solution.delta**2, solution.problem.target, solution.b, solution.c
    cut = b if solution.quantile is None else max(b, solution.quantile)
    grids, densities, bulks, moment = [], [], [], 0.0
    for low, high in support(v, law):
        if high <= cut:
            continue
        x, weights = edge_grid(max(low, cut), high, points)
        values = generated.shrinkage(x, b, c)
        density = generated.density(physical_root(v, x, law))
        moment += float(np.sum(weights * density * values**2))
        grids.append(values)
        densities.append(density / c)
        bulks.append((float(values[0]), float(values[-1])))
    energy = spectral_energy(v, b, solution.problem.width, law)
    return LearnedSpectrum(1 - energy.mass, np.concatenate(grids), np.concatenate(densities), tuple(bulks), moment)


def edge_grid(low: float, high: float, points: int) -> tuple[Array, Array]:
    """Grid on [low, high] with weights of a Chebyshev rule: dense at the edges, where densities have square roots."""
    angles = (np.arange(points) + 0.5) * np.pi / points
    x = (low + high) / 2 - (high - low) / 2 * np.cos(angles)
    return x, (high - low) / 2 * np.sin(angles) * np.pi / points
