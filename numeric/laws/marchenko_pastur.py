"""Marchenko-Pastur target S0 = W0 W0^T/sqrt(m0 d) and its noisy law mu_v: root, edges, density,
spectral function.

See the theory note, section 4. Every formula is generated (step `spectral`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import scipy
from flint import arb
from numpy.typing import NDArray

from numeric.laws import marchenko_pastur_root
from numeric.laws.exact_values import exact_values
from numeric.laws.law import (
    TRUSTED,
    Array,
    Target,
    Values,
    filled_intervals,
    finite_edge,
    largest_error,
)
from numeric.maths.domain import OutsideDomain, exact_or_float, positive
from numeric.maths.kernels import over_blocks
from numeric.model import float64 as generated
from numeric.proven_laws.rational import RationalLaw, rational_law

_POLISH = 1e-6  # relative error of simple roots from the companion matrix is below this
_LOWEST = 1e-12  # fraction of the upper edge; at most 1e-6 of the target's eigenvalues are below
# Rate kappa0 and inverse jump r (1/eigenvalue) of the free Poisson law.
Parameters = tuple[Array | float, Array | float]


class Grid(NamedTuple):
    """J (eigenvalue^2), J_v, J_b (eigenvalue) and the mass above b, as arrays of one shape."""

    J: Array
    J_v: Array
    J_b: Array
    mass: Array


@dataclass(frozen=True)
class MarchenkoPastur(Target):
    """Law of `scale` times S0 = W0 W0^T/sqrt(m0 d), a free Poisson law.

    W0 is Gaussian of shape (d, m0), and kappa0 = m0/d. If you pass an exact number that is not a
    float, such as Fraction(1, 20), Decimal("0.05") or "1/20", then `kappa0` and `scale` are the
    nearest floats, and `exact_parameters` has the Fraction, from which digits of thresholds are
    computed.

    Raises:
        InvalidParameter: a parameter is not a positive number.

    >>> from attention_erm import MarchenkoPastur
    >>> target = MarchenkoPastur(0.25)
    >>> target.t0, target.q0, target.zero_mass
    (0.5, 1.25, 0.75)
    """

    kappa0: float
    scale: float = 1.0
    #: kappa0 and scale: the given Fraction, or the float
    exact_parameters: tuple[Any, Any] = field(init=False)

    def __post_init__(self) -> None:
        given = {name: exact_or_float(name, getattr(self, name)) for name in ("kappa0", "scale")}
        for name, value in given.items():
            object.__setattr__(self, name, positive(name, value))
        exact = tuple(_exact(value, getattr(self, name)) for name, value in given.items())
        object.__setattr__(self, "exact_parameters", exact)

    def __repr__(self) -> str:
        kappa0, scale = self.exact_parameters
        return f"{type(self).__name__}(kappa0={kappa0!r}, scale={scale!r})"

    @cached_property
    def law(self) -> tuple[float, float]:
        """Rate kappa0 and inverse jump r (1/eigenvalue)."""
        kappa0, r = generated.law_parameters(self.kappa0, self.scale)
        return float(kappa0), float(r)

    @property
    def t0(self) -> float:
        """Mean eigenvalue."""
        return float(generated.target_moments(*self.law)[0])

    @property
    def q0(self) -> float:
        """Second moment, eigenvalue^2."""
        return float(generated.target_moments(*self.law)[1])

    @property
    def zero_mass(self) -> float:
        """Fraction of zero eigenvalues."""
        return max(0.0, float(generated.zero_mass(self.kappa0, self.scale)))

    def scaled(self, factor: float) -> Self:
        """Return the law of `factor` times the target."""
        kappa0, scale = self.exact_parameters
        return type(self)(kappa0, scale * factor)

    def exact(self) -> RationalLaw:
        """Return the same law in ball arithmetic, with the given Fractions or the binary values of
        floats.
        """
        kappa0, scale = map(Fraction, self.exact_parameters)
        return rational_law("tied_attention", kappa0=kappa0, scale=scale)

    def support(self, v: float) -> list[tuple[float, float]]:
        """Return the intervals on which mu_v has a density, in ascending order.

        Raises:
            OutsideDomain: v is beyond double precision.
        """
        return support_of(
            self,
            generated,
            v,
            lambda middles: generated.density(physical_root(v, middles, self.law)) > 0,
        )

    def upper_edge(self, v: float) -> float:
        """Return the upper end of the support."""
        return finite_edge(v, float(marchenko_pastur_root.upper_edge(float(v), *self.law)))

    def top_energy(self, share: float) -> float:
        """Return the part of q0 (eigenvalue^2) in the largest eigenvalues, whose fraction is
        `share`.
        """
        if share >= 1 - self.zero_mass:
            return self.q0
        if share <= 0:
            return 0.0
        top = self.upper_edge(0.0)

        def excess(x: float) -> float:
            return self.mass_above(0.0, x) - share

        cut = float(scipy.optimize.brentq(excess, _LOWEST * top, top, xtol=1e-15 * top, rtol=1e-14))
        values, _ = marchenko_pastur_root.at_point(0.0, cut, *self.law)  # valid at v = 0, too
        J, J_v, J_b, J_bv, mass = values
        return float(generated.rank_limited(J, J_v, J_b, J_bv, cut, 0.0, mass)[0])

    def features(self, v: float) -> float:
        """Return the rank of the target over d.

        If the noisy law has split into two intervals, the upper one has exactly this mass.
        """
        return 1 - self.zero_mass

    def density(self, v: float, x: Array) -> Array:
        """Return the density of mu_v (1/eigenvalue) at positions x, with the shape of `x`."""
        return np.asarray(generated.density(physical_root(v, x, self.law)))

    def mass_above(self, v: float, x: float) -> float:
        """Return the mass of mu_v above x, to double precision relative to the whole mass."""
        values, errors = marchenko_pastur_root.at_point(float(v), float(x), *self.law)
        mass, error = values[-1], errors[-1]
        return float(mass if error <= TRUSTED else self.exact_values(v, x).mass)

    def _float_values(self, v: float, x: float) -> tuple[Values, float]:
        """Return the closed forms in float64, and their largest relative error."""
        values, errors = marchenko_pastur_root.at_point(float(v), float(x), *self.law)
        return Values(*values), largest_error(errors, values)

    def grid(self, v: Array, b: Array) -> Grid:
        """Return J, J_v, J_b and mass at many pairs (v, b), compiled and on all cores.

        Points at which float64 cancels are recomputed in ball arithmetic.

        Args:
            v: variances of the semicircle, eigenvalue^2; broadcast with `b`.
            b: thresholds, eigenvalue.

        Raises:
            Unresolved: a threshold b is too close to an edge of the support for ball arithmetic.
        """
        shape = np.broadcast_shapes(np.shape(v), np.shape(b))
        flat_v, flat_b = (np.full(shape, value, dtype=float).ravel() for value in (v, b))
        found, errors = np.empty((4, len(flat_v))), np.empty((4, len(flat_v)))
        arguments = flat_v, flat_b, *self.law, found, errors
        over_blocks(
            lambda first, last: marchenko_pastur_root.fill_points(first, last, *arguments),
            len(flat_v),
        )
        for k in np.flatnonzero(np.any(errors > TRUSTED * np.abs(found), axis=0)):
            exact = self.exact_values(flat_v[k], flat_b[k])
            found[:, k] = exact.J, exact.J_v, exact.J_b, exact.mass
        return Grid(*(row.reshape(shape) for row in found))

    def exact_values(self, v: float, x: float) -> Values:
        """Return `values(v, x)` in ball arithmetic.

        Raises:
            Unresolved: x is too close to an edge of the support for it.
        """
        law = RationalLaw(
            "tied_attention", lambda: list(map(arb, self.law)), Fraction(0), repr(self)
        )
        return exact_values(law, v, x)


def _exact(given: Fraction | float, number: float) -> Fraction | float:
    """Return the given Fraction if it differs from the float, and the float otherwise.

    Targets with equal parameters then compare as equal.
    """
    return given if isinstance(given, Fraction) and given != number else number


def support_of(
    target: Any, generated: Any, v: float, is_filled: Callable[[Array], Sequence[bool]]
) -> list[tuple[float, float]]:
    """Return the intervals on which mu_v has a density, from the real critical points of z(g).

    Args:
        target: law of the target, with the parameters `law` of z(g).
        generated: generated functions of its model.
        v: variance of the semicircle, eigenvalue^2.
        is_filled: returns whether the density is positive at positions between the edges.

    Returns:
        Pairs of edges, ascending.

    Raises:
        OutsideDomain: no interval is found, because parameters are beyond double precision.
    """
    coefficients = [float(value) for value in generated.edge_polynomial(v, *target.law)]
    critical = polynomial_roots(np.array([coefficients]))[0]
    # Merging edges are a double root, which is accurate to sqrt(eps) only.
    real = np.unique(critical.real[np.abs(critical.imag) < 1e-7 * np.abs(critical)])
    edges = np.unique(np.real(generated.inverse_stieltjes(real, v, *target.law)))
    intervals = filled_intervals(edges, is_filled((edges[:-1] + edges[1:]) / 2))
    if not intervals:
        raise OutsideDomain(
            f"no support found at v = {v:g}, {target}: parameters beyond double precision"
        )
    return intervals


def physical_root(v: Array | float, b: Array, law: Parameters) -> NDArray[np.complex128]:
    """Return the Stieltjes transform g of mu_v at each b, approached from above.

    The physical root has Im g < 0, or z'(g) < 0 if it is real.

    Args:
        v: variances of the semicircle, eigenvalue^2.
        b: positions, eigenvalue.
        law: rate kappa0 and inverse jump r (1/eigenvalue).

    Returns:
        Complex array with the broadcast shape of all arguments.
    """
    arguments = (v, b, *law)
    shape = np.broadcast_shapes(*(np.shape(value) for value in arguments))
    found = np.empty(shape, dtype=np.complex128)
    flat_v, flat_b, kappa0, r = (np.full(shape, value, dtype=float).ravel() for value in arguments)
    marchenko_pastur_root.fill_roots(flat_v, flat_b, kappa0, r, found.ravel())
    return found


def polynomial_roots(coefficients: Array) -> NDArray[np.complex128]:
    """Return all roots of polynomials: eigenvalues of companion matrices, improved by two Newton
    steps.

    Args:
        coefficients: coefficients along the last axis, highest power first.

    Raises:
        OutsideDomain: a coefficient, over the first, is beyond double precision.
    """
    with np.errstate(all="ignore"):
        monic = coefficients[..., 1:] / coefficients[..., :1]
    if not np.all(np.isfinite(monic)):
        raise OutsideDomain("the law of the noisy target is beyond double precision")
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
        # At a double root (an edge of the support) value and slope are rounding errors; skip the
        # step.
        polishes = np.abs(value) < _POLISH * np.abs(slope * roots)
        roots = roots - np.divide(value, slope, out=np.zeros_like(value), where=polishes)
    return roots
