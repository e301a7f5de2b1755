"""The Marchenko-Pastur target S0 = W0 W0^T/sqrt(m0 d) and its noisy law mu_v: physical root, edges, density, spectral function.

Theory note, section 4; every formula is generated (step `spectral`).
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
    Bounded,
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

_POLISH = 1e-6  # eigenvalues of the companion matrix are closer than this to simple roots, relatively
_LOWEST = 1e-12  # of the upper edge: the target's eigenvalues below it have a share 1e-6 at most, and no energy
Parameters = tuple[
    Array | float, Array | float
]  # rate kappa0 and inverse jump r (1/eigenvalue) of the free Poisson law


class Grid(NamedTuple):
    """J (eigenvalue^2), J_v, J_b (eigenvalue) and the mass above b, arrays of one shape."""

    J: Array
    J_v: Array
    J_b: Array
    mass: Array


@dataclass(frozen=True)
class MarchenkoPastur:
    """Law of `scale` times S0 = W0 W0^T/sqrt(m0 d), W0 Gaussian of shape (d, m0), kappa0 = m0/d: a free Poisson law.

    Of a Fraction that no float is, such as 1/20, `kappa0` and `scale` are the nearest floats, and `stated` is the Fraction itself, of
    which thresholds have their digits.

    Raises:
        InvalidParameter: a parameter is no positive number.

    >>> from attention_erm import MarchenkoPastur
    >>> target = MarchenkoPastur(0.25)
    >>> target.t0, target.q0, target.zero_mass
    (0.5, 1.25, 0.75)
    """

    kappa0: float
    scale: float = 1.0
    stated: tuple[Any, Any] = field(init=False)  #: both as they were given, where that is a Fraction; else the floats

    def __post_init__(self) -> None:
        stated = self.kappa0, self.scale
        for name, value in zip(("kappa0", "scale"), stated, strict=True):
            object.__setattr__(self, name, positive(name, value))
        object.__setattr__(self, "stated", (_exact(stated[0], self.kappa0), _exact(stated[1], self.scale)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(kappa0={self.stated[0]!r}, scale={self.stated[1]!r})"

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
        """Share of zero eigenvalues."""
        return max(0.0, float(generated.zero_mass(self.kappa0, self.scale)))

    def scaled(self, factor: float) -> Self:
        """Law of `factor` times the target."""
        kappa0, scale = self.stated
        return type(self)(kappa0, scale * factor)

    def exact(self) -> RationalLaw:
        """The same law in ball arithmetic: of Fractions as they were given, of floats at their binary values."""
        kappa0, scale = map(Fraction, self.stated)
        return rational_law("tied_attention", kappa0=kappa0, scale=scale)

    def support(self, v: float) -> list[tuple[float, float]]:
        """Intervals on which mu_v has a density, from the real critical points of z(g), lowest first.

        Raises:
            OutsideDomain: none is found, which needs parameters beyond double precision.
        """
        critical = polynomial_roots(np.array([[float(value) for value in generated.edge_polynomial(v, *self.law)]]))[0]
        # Merging edges are a double root, known to sqrt(eps).
        real = np.unique(critical.real[np.abs(critical.imag) < 1e-7 * np.abs(critical)])
        edges = np.unique(np.real(generated.inverse_stieltjes(real, v, *self.law)))
        middles = (edges[:-1] + edges[1:]) / 2
        filled = generated.density(physical_root(v, middles, self.law)) > 0
        intervals = filled_intervals(edges, filled)
        if not intervals:
            raise OutsideDomain(f"no support found at v = {v:g}, {self}: parameters beyond double precision")
        return intervals

    def upper_edge(self, v: float) -> float:
        """Upper end of the support."""
        return finite_edge(v, float(marchenko_pastur_root.upper_edge(float(v), *self.law)))

    def single_intervals(self, v: float) -> Array:
        """None: the law has no eigenvalue of its own."""
        return np.empty((0, 3))

    def outliers(self, v: float) -> list[Outlier]:
        """None: the law has no eigenvalue of its own."""
        return []

    def top_energy(self, share: float) -> float:
        """Part of q0 that the largest `share` of the eigenvalues has, eigenvalue^2."""
        if share >= 1 - self.zero_mass:
            return self.q0
        if share <= 0:
            return 0.0
        top = self.upper_edge(0.0)

        def excess(x: float) -> float:
            return self.mass_above(0.0, x) - share

        cut = float(scipy.optimize.brentq(excess, _LOWEST * top, top, xtol=1e-15 * top, rtol=1e-14))
        above = Values(*marchenko_pastur_root.at_point(0.0, cut, *self.law)[0])  # the closed forms hold at v = 0 too
        return float(generated.rank_limited(above.J, above.J_v, above.J_b, above.J_bv, cut, 0.0, above.mass)[0])

    def features(self, v: float) -> float:
        """Rank of the target: where the noisy law has split, the upper of its two intervals has just this mass."""
        return 1 - self.zero_mass

    def hidden_overlap(self, v: float, b: float, cut: float) -> float:
        """Zero: noisy eigenvalues are those beyond the rank of the target, and hold no feature."""
        return 0.0

    def density(self, v: float, x: Array) -> Array:
        """Density of mu_v (1/eigenvalue) at positions x, shape of `x`."""
        return np.asarray(generated.density(physical_root(v, x, self.law)))

    def mass_above(self, v: float, x: float) -> float:
        """Mass of mu_v above x, to double precision of the whole mass."""
        values, errors = (Values(*one) for one in marchenko_pastur_root.at_point(float(v), float(x), *self.law))
        return float(values.mass if errors.mass <= TRUSTED else self.exact_values(v, x).mass)

    def energy(self, v: float, b: float, width: float) -> Energy:
        """J(v, b) with derivatives, of at most the share `width` of eigenvalues; zero beyond the upper edge."""
        return limited_energy(self, v, b, width)

    def values(self, v: float, x: float) -> Values:
        """The closed forms at x in float64, or in ball arithmetic where they cancel.

        Raises:
            Unresolved: x is too close to an edge of the support for it.
        """
        values, error = self._in_double(v, x)
        return values if error <= TRUSTED else self.exact_values(v, x)

    def accuracy(self, v: float, x: float) -> float:
        """Largest relative error of `values` there."""
        _, error = self._in_double(v, x)
        return error if error <= TRUSTED else EXACT

    def _in_double(self, v: float, x: float) -> tuple[Values, float]:
        """The closed forms in float64, and their largest relative error."""
        values, errors = marchenko_pastur_root.at_point(float(v), float(x), *self.law)
        return Values(*values), largest_error(errors, values)

    def denoising_error(self, v: float, b: float, energy: Energy) -> Bounded:
        """||S/c - S0||^2/d where the threshold b leaves `energy`."""
        return denoising_error_of(energy, self.q0, v, b)

    def grid(self, v: Array, b: Array) -> Grid:
        """J, J_v, J_b and mass at many pairs (v, b), compiled and on all cores; in ball arithmetic where float64 cancels.

        Raises:
            Unresolved: a threshold b is too close to an edge of the support for it.
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
        """The same in ball arithmetic.

        Raises:
            Unresolved: x is too close to an edge of the support for it.
        """
        return exact_values(
            RationalLaw("tied_attention", lambda: [arb(value) for value in self.law], Fraction(0)), v, x
        )


def _exact(given: Fraction | float, number: float) -> Fraction | float:
    """The Fraction that was given where the float is another number, so that equal targets are those of equal parameters."""
    return given if isinstance(given, Fraction) and given != number else number


def physical_root(v: Array | float, b: Array, law: Parameters) -> NDArray[np.complex128]:
    """Stieltjes transform g of mu_v at each b (eigenvalue), approached from above: Im g < 0, or z'(g) < 0 if g is real.

    Shape: that of `v`, `b` and the parameters together.
    """
    arguments = (v, b, *law)
    shape = np.broadcast_shapes(*(np.shape(value) for value in arguments))
    found = np.empty(shape, dtype=np.complex128)
    flat_v, flat_b, kappa0, r = (np.full(shape, value, dtype=float).ravel() for value in arguments)
    marchenko_pastur_root.fill_roots(flat_v, flat_b, kappa0, r, found.ravel())
    return found


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
