"""Marchenko-Pastur target S0 = W0 W0^T/sqrt(m0 d) and its noisy law mu_v: root, edges, density,
spectral function.

See the theory note, section 4. Every formula is generated (step `spectral`).
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import scipy
from flint import arb
from numpy.typing import NDArray

from numeric.laws import marchenko_pastur_root
from numeric.laws.exact_values import EXACT, exact_values
from numeric.laws.law import (
    TRUSTED,
    Array,
    BoundedDifference,
    Energy,
    Outlier,
    Values,
    denoising_error_of,
    filled_intervals,
    finite_edge,
    largest_error,
    limited_energy,
)
from numeric.maths.domain import OutsideDomain, positive
from numeric.maths.kernels import over_blocks
from numeric.model import float64 as generated
from numeric.proven_laws.rational import RationalLaw, rational_law

_POLISH = 1e-6  # relative error of simple roots from the companion matrix is below this
_LOWEST = 1e-12  # fraction of the upper edge; at most 1e-6 of the target's eigenvalues are below
Parameters = tuple[
    Array | float, Array | float
]  # rate kappa0 and inverse jump r (1/eigenvalue) of the free Poisson law


class Grid(NamedTuple):
    """J (eigenvalue^2), J_v, J_b (eigenvalue) and the mass above b, as arrays of one shape."""

    J: Array
    J_v: Array
    J_b: Array
    mass: Array


@dataclass(frozen=True)
class MarchenkoPastur:
    """Law of `scale` times S0 = W0 W0^T/sqrt(m0 d), a free Poisson law.

    W0 is Gaussian of shape (d, m0), and kappa0 = m0/d. If you pass a Fraction that is not a float,
    such as 1/20, then `kappa0` and `scale` are the nearest floats, and `exact_parameters` has the Fraction,
    from which digits of thresholds are computed.

    Raises:
        InvalidParameter: a parameter is not a positive number.

    >>> from attention_erm import MarchenkoPastur
    >>> target = MarchenkoPastur(0.25)
    >>> target.t0, target.q0, target.zero_mass
    (0.5, 1.25, 0.75)
    """

    kappa0: float
    scale: float = 1.0
    exact_parameters: tuple[Any, Any] = field(
        init=False
    )  #: kappa0 and scale: the given Fraction, or the float

    def __post_init__(self) -> None:
        exact_parameters = self.kappa0, self.scale
        for name, value in zip(("kappa0", "scale"), exact_parameters, strict=True):
            object.__setattr__(self, name, positive(name, value))
        object.__setattr__(
            self,
            "exact_parameters",
            (_exact(exact_parameters[0], self.kappa0), _exact(exact_parameters[1], self.scale)),
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}(kappa0={self.exact_parameters[0]!r}, scale={self.exact_parameters[1]!r})"

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
        """Return the intervals on which mu_v has a density, from the real critical points of z(g),
        ascending.

        Raises:
            OutsideDomain: no interval is found, because parameters are beyond double precision.
        """
        critical = polynomial_roots(
            np.array([[float(value) for value in generated.edge_polynomial(v, *self.law)]])
        )[0]
        # Merging edges are a double root, which is accurate to sqrt(eps) only.
        real = np.unique(critical.real[np.abs(critical.imag) < 1e-7 * np.abs(critical)])
        edges = np.unique(np.real(generated.inverse_stieltjes(real, v, *self.law)))
        middles = (edges[:-1] + edges[1:]) / 2
        filled = generated.density(physical_root(v, middles, self.law)) > 0
        intervals = filled_intervals(edges, filled)
        if not intervals:
            raise OutsideDomain(
                f"no support found at v = {v:g}, {self}: parameters beyond double precision"
            )
        return intervals

    def upper_edge(self, v: float) -> float:
        """Return the upper end of the support."""
        return finite_edge(v, float(marchenko_pastur_root.upper_edge(float(v), *self.law)))

    def single_intervals(self, v: float) -> Array:
        """Return an empty array, because no eigenvalue of the law has a weight of its own."""
        return np.empty((0, 3))

    def outliers(self, v: float) -> list[Outlier]:
        """Return an empty list, because no eigenvalue of the law has a weight of its own."""
        return []

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
        above = Values(
            *marchenko_pastur_root.at_point(0.0, cut, *self.law)[0]
        )  # valid at v = 0, too
        return float(
            generated.rank_limited(above.J, above.J_v, above.J_b, above.J_bv, cut, 0.0, above.mass)[
                0
            ]
        )

    def features(self, v: float) -> float:
        """Return the rank of the target over d.

        If the noisy law has split into two intervals, the upper one has exactly this mass.
        """
        return 1 - self.zero_mass

    def hidden_overlap(self, v: float, b: float, cut: float) -> float:
        """Return zero: noisy eigenvalues beyond the rank of the target contain no feature."""
        return 0.0

    def density(self, v: float, x: Array) -> Array:
        """Return the density of mu_v (1/eigenvalue) at positions x, with the shape of `x`."""
        return np.asarray(generated.density(physical_root(v, x, self.law)))

    def mass_above(self, v: float, x: float) -> float:
        """Return the mass of mu_v above x, to double precision relative to the whole mass."""
        values, errors = (
            Values(*one) for one in marchenko_pastur_root.at_point(float(v), float(x), *self.law)
        )
        return float(values.mass if errors.mass <= TRUSTED else self.exact_values(v, x).mass)

    def energy(self, v: float, b: float, width: float) -> Energy:
        """Return J(v, b) and derivatives for at most the fraction `width` of eigenvalues; zero
        beyond the upper edge.
        """
        return limited_energy(self, v, b, width)

    def values(self, v: float, x: float) -> Values:
        """Return the closed forms at x in float64, or in ball arithmetic if they cancel.

        Raises:
            Unresolved: x is too close to an edge of the support for ball arithmetic.
        """
        values, error = self._in_double(v, x)
        return values if error <= TRUSTED else self.exact_values(v, x)

    def accuracy(self, v: float, x: float) -> float:
        """Return the largest relative error of `values(v, x)`."""
        _, error = self._in_double(v, x)
        return error if error <= TRUSTED else EXACT

    def _in_double(self, v: float, x: float) -> tuple[Values, float]:
        """Return the closed forms in float64, and their largest relative error."""
        values, errors = marchenko_pastur_root.at_point(float(v), float(x), *self.law)
        return Values(*values), largest_error(errors, values)

    def denoising_error(self, v: float, b: float, energy: Energy) -> BoundedDifference:
        """Return ||S/c - S0||^2/d for the spectral function `energy` at threshold b."""
        return denoising_error_of(energy, self.q0, v, b)

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
        over_blocks(
            lambda first, last: marchenko_pastur_root.fill_points(
                first, last, flat_v, flat_b, *self.law, found, errors
            ),
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
        return exact_values(
            RationalLaw("tied_attention", lambda: [arb(value) for value in self.law], Fraction(0)),
            v,
            x,
        )


def _exact(given: Fraction | float, number: float) -> Fraction | float:
    """Return the given Fraction if it differs from the float, and the float otherwise.

    Targets with equal parameters then compare as equal.
    """
    return given if isinstance(given, Fraction) and given != number else number


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
    """
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
        # At a double root (an edge of the support) value and slope are rounding errors; skip the step.
        polishes = np.abs(value) < _POLISH * np.abs(slope * roots)
        roots = roots - np.divide(value, slope, out=np.zeros_like(value), where=polishes)
    return roots
