"""The target of a generated model, a law with rational inverse Stieltjes transform: jumps of either sign, any number of them.

Theory note, section 4; every formula is generated (step `spectral`). The Marchenko-Pastur law has compiled kernels of its own.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from types import ModuleType
from typing import Self

import numpy as np
from flint import arb

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
    largest_error,
    limited_energy,
    quantile,
    whole_law,
)
from numeric.laws.marchenko_pastur import polynomial_roots
from numeric.maths.domain import InvalidParameter, OutsideDomain
from numeric.model import functions, structure
from numeric.proven_laws.rational import RationalLaw

_NOISELESS = 1e-12  # of q0: a variance that changes no digit asked for
_CLEAR = 10.0  # standard deviations of that noise beyond which none of its eigenvalues lie, but at most 1e-2 of a percent of others
_ROUNDED = 2.0**-49  # relative, of what all of a law has: a sum of four terms
_APART = 1e-14  # relative distance of two roots, the square of that of the sizes of two parts of a target
_REAL = 1e-9  # relative imaginary part of a root that is rounding


@dataclass(frozen=True)
class RationalTarget:
    """Law of the target of a model at its settings, given in the order of the generated function `law_parameters`.

    Raises:
        InvalidParameter: two parts of one size, where closed forms divide by the difference.
    """

    model: str
    settings: tuple[float, ...]
    reflected: bool = False

    def __post_init__(self) -> None:
        variance = self.q0
        rows = [self.generated.resolvent_polynomial(variance, x, *self.law) for x in (0.0, variance**0.5)]
        here, there = polynomial_roots(np.array([[float(value) for value in row] for row in rows]))
        gaps = np.abs(here[:, None] - there) / np.abs(here[:, None])
        if np.any(gaps < _APART):  # a root that does not depend on x is none: numerator and denominator share it
            rule = "has two parts of one size (of equal sqrt(kappa)/scale), which are one"
            raise InvalidParameter("settings", self.settings, rule, "give one part with the sum of their rank ratios")

    @classmethod
    def of(cls, model: str, **settings: float) -> Self:
        """The target of a model with these settings by name; those that it does not have are passed over."""
        return cls(model, tuple(settings[name] for name in structure(model).target_settings))

    @property
    def generated(self) -> ModuleType:
        """The functions of the model; not kept, as a module cannot be sent to another process."""
        return functions("float64", self.model)

    @cached_property
    def law(self) -> tuple[float, ...]:
        """Parameters of z(g)."""
        return tuple(map(float, self.generated.law_parameters(*self.settings)))

    @property
    def t0(self) -> float:
        """Mean eigenvalue."""
        return self._sign * float(self.generated.target_moments(*self.law)[0])

    @property
    def q0(self) -> float:
        """Second moment, eigenvalue^2."""
        return float(self.generated.target_moments(*self.law)[1])

    @property
    def zero_mass(self) -> float:
        """Share of zero eigenvalues."""
        return max(0.0, float(self.generated.zero_mass(*self.settings)))

    @property
    def _sign(self) -> int:
        return -1 if self.reflected else 1

    def scaled(self, factor: float) -> Self:
        """Law of `factor` times the target: settings whose names begin with "scale" are factors on its parts.

        Raises:
            InvalidParameter: with these multiplied the target is not.
        """
        factors = [factor if name.startswith("scale") else 1.0 for name in structure(self.model).target_settings]
        found = replace(self, settings=tuple(a * b for a, b in zip(factors, self.settings, strict=True)))
        if abs(found.q0 - factor**2 * self.q0) > _ROUNDED * factor**2 * self.q0 * 2**10:
            rule = f"has no settings scale... that multiply the whole target of the model {self.model}"
            raise InvalidParameter("target", self, rule, "give each part of it one, as tied_attention_two_bulks does")
        return found

    def exact(self) -> RationalLaw:
        """The same law in ball arithmetic, its parameters taken as their binary values."""
        return RationalLaw(self.model, lambda: [arb(value) for value in self.law], Fraction(self.zero_mass))

    def top_energy(self, share: float) -> float:
        """Part of q0 that the largest `share` of the eigenvalues has, eigenvalue^2; of the law with a noise below rounding."""
        v = _NOISELESS * self.q0
        support = self.support(v)
        cut = quantile(self, v, share, support[0][0], support[-1][1])
        above = self.values(v, cut)
        return float(self.generated.rank_limited(above.J, above.J_v, above.J_b, above.J_bv, cut, 0.0, above.mass)[0])

    def features(self, v: float) -> float:
        """Rank of the target, its positive eigenvalues alone where there are others."""
        if not structure(self.model).has_negative_eigenvalues:
            return 1 - self.zero_mass
        noise = _NOISELESS * self.q0
        return self.mass_above(noise, _CLEAR * noise**0.5)

    def hidden_overlap(self, v: float, b: float, cut: float) -> float:
        """Zero: the law has no eigenvalue of its own."""
        return 0.0

    def mirrored(self) -> Self:
        """Law of minus the target, the same object each time: what it knows of itself is found once."""
        return self._mirror

    @cached_property
    def _mirror(self) -> Self:
        return replace(self, reflected=not self.reflected)

    def support(self, v: float) -> list[tuple[float, float]]:
        """Intervals on which mu_v has a density, from the real critical points of z(g), lowest first.

        Raises:
            OutsideDomain: none is found, which needs parameters beyond double precision.
        """
        return list(_support(self, float(v)))

    def upper_edge(self, v: float) -> float:
        """Upper end of the support."""
        return self.support(v)[-1][1]

    def single_intervals(self, v: float) -> Array:
        """None: the law has no eigenvalue of its own."""
        return np.empty((0, 3))

    def outliers(self, v: float) -> list[Outlier]:
        """None: the law has no eigenvalue of its own."""
        return []

    def density(self, v: float, x: Array) -> Array:
        """Density of mu_v (1/eigenvalue) at positions x, shape of `x`."""
        return np.array(
            [float(self.generated.density(self._root(v, self._sign * one))) for one in np.ravel(x)]
        ).reshape(np.shape(x))

    def mass_above(self, v: float, x: float) -> float:
        """Mass of mu_v above x, to double precision of the whole mass."""
        return self.values(v, x).mass

    def energy(self, v: float, b: float, width: float) -> Energy:
        """J(v, b) with derivatives, of at most the share `width` of eigenvalues; zero beyond the upper edge."""
        return limited_energy(self, v, b, width)

    def values(self, v: float, x: float) -> Values:
        """The closed forms at x in float64, or in ball arithmetic where they cancel.

        Raises:
            Unresolved: x is too close to an edge of the support for it.
        """
        found, error = self._in_double(v, x)
        return found if error <= TRUSTED else exact_values(self.exact(), v, x, self.reflected)

    def accuracy(self, v: float, x: float) -> float:
        """Largest relative error of `values` there."""
        _, error = self._in_double(v, x)
        return error if error <= TRUSTED else EXACT

    def _in_double(self, v: float, x: float) -> tuple[Values, float]:
        """The closed forms in float64, and their largest relative error."""
        at = self._sign * x
        g, parameters = self._root(v, at), (v, at, *self.law)
        found, errors = (
            Values(
                *(float(getattr(self.generated, f"spectral_{name}{kind}")(g, *parameters)) for name in Values._fields)
            )
            for kind in ("", "_error")
        )
        if self.reflected:  # what lies above x is all of the law less what lies below
            t0, q0 = self.t0, self.q0
            found = Values(*map(float, self.generated.complement(*found, v, x, t0, q0)))
            whole = whole_law(v, x, t0, q0)
            errors = Values(*(error + _ROUNDED * size for error, size in zip(errors, whole, strict=True)))
        return found, largest_error(errors, found)

    def denoising_error(self, v: float, b: float, energy: Energy) -> Bounded:
        """||S/c - S0||^2/d where the threshold b leaves `energy`."""
        return denoising_error_of(energy, self.q0, v, b)

    def _root(self, v: float, x: float) -> complex:
        """Physical root of z(g) = x: below the axis, else the real one on which z falls."""
        coefficients = self.generated.resolvent_polynomial(v, x, *self.law)
        roots = polynomial_roots(np.array([[float(value) for value in coefficients]]))[0]
        lowest = complex(roots[np.argmin(roots.imag)])
        if lowest.imag < -_REAL * abs(lowest):
            return lowest
        real = roots.real[np.abs(roots.imag) <= _REAL * np.abs(roots)]
        return complex(min(real, key=lambda g: float(self.generated.resolvent_slope(g, v, *self.law))))


@lru_cache(maxsize=256)  # along a threshold at one noise it is asked for at every step
def _support(target: RationalTarget, v: float) -> list[tuple[float, float]]:
    """`RationalTarget.support`."""
    critical = polynomial_roots(np.array([[float(c) for c in target.generated.edge_polynomial(v, *target.law)]]))[0]
    real = np.unique(critical.real[np.abs(critical.imag) < 1e-7 * np.abs(critical)])  # merging edges: a double root
    edges = np.unique(np.real(target.generated.inverse_stieltjes(real, v, *target.law)))
    filled = [target._root(v, x).imag < 0 for x in (edges[:-1] + edges[1:]) / 2]
    intervals = filled_intervals(edges, filled)
    if not intervals:
        raise OutsideDomain(f"no support found at v = {v:g}, {target}: parameters beyond double precision")
    return [(-high, -low) for low, high in reversed(intervals)] if target.reflected else intervals
