"""Target law of a generated model with a rational inverse Stieltjes transform: any number of jumps
of either sign.

See the theory note, section 4. Every formula is generated (step `spectral`). The Marchenko-Pastur
law has compiled kernels in another module.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from types import ModuleType
from typing import Self

import numpy as np
from flint import arb

from attention_erm.runtime.errors import InvalidParameter
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
    largest_error,
    limited_energy,
    quantile,
    whole_law,
)
from numeric.laws.marchenko_pastur import polynomial_roots
from numeric.maths.domain import OutsideDomain
from numeric.model import functions, structure
from numeric.proven_laws.rational import RationalLaw

_NOISELESS = 1e-12  # fraction of q0; a variance this small changes no requested digit
# Standard deviations of this noise that separate its eigenvalues from those of features; at most
# 1e-2 % of the features are missed.
_CLEAR = 10.0
_ROUNDED = (
    2.0**-49
)  # relative rounding error of an integral over the whole law, a sum of four terms
_APART = 1e-14  # relative distance of two roots; square of the distance of the sizes of two parts
_REAL = 1e-9  # relative imaginary part of a root that counts as rounding


@dataclass(frozen=True)
class RationalTarget:
    """Law of the target of a model, for given settings.

    Args:
        model: name of a generated model.
        settings: values in the order of the arguments of the generated function `law_parameters`.
        reflected: law of minus the eigenvalues.

    Raises:
        InvalidParameter: two parts of the target have the same size, where the closed forms divide
            by zero.
    """

    model: str
    settings: tuple[float, ...]
    reflected: bool = False

    def __post_init__(self) -> None:
        variance = self.q0
        rows = [
            self.generated.resolvent_polynomial(variance, x, *self.law)
            for x in (0.0, variance**0.5)
        ]
        here, there = polynomial_roots(np.array([[float(value) for value in row] for row in rows]))
        gaps = np.abs(here[:, None] - there) / np.abs(here[:, None])
        if np.any(gaps < _APART):  # a root independent of x cancels in numerator and denominator
            rule = "has two parts of one size (of equal sqrt(kappa)/scale), which are one"
            raise InvalidParameter(
                "settings", self.settings, rule, "give one part with the sum of their rank ratios"
            )

    @classmethod
    def of(cls, model: str, **settings: float) -> Self:
        """Return the target of a model with these settings; settings that the model does not have
        are ignored.
        """
        return cls(model, tuple(settings[name] for name in structure(model).target_settings))

    @property
    def generated(self) -> ModuleType:
        """Functions of the model. They are not stored, because a module cannot be sent to another
        process.
        """
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
        """Fraction of zero eigenvalues."""
        return max(0.0, float(self.generated.zero_mass(*self.settings)))

    @property
    def _sign(self) -> int:
        return -1 if self.reflected else 1

    def scaled(self, factor: float) -> Self:
        """Return the law of `factor` times the target: settings whose names begin with "scale" are
        multiplied.

        Raises:
            InvalidParameter: the model has no such settings for the whole target.
        """
        factors = [
            factor if name.startswith("scale") else 1.0
            for name in structure(self.model).target_settings
        ]
        found = replace(
            self, settings=tuple(a * b for a, b in zip(factors, self.settings, strict=True))
        )
        if abs(found.q0 - factor**2 * self.q0) > _ROUNDED * factor**2 * self.q0 * 2**10:
            rule = (
                f"has no settings scale... that multiply the whole target of the model {self.model}"
            )
            raise InvalidParameter(
                "target", self, rule, "give each part of it one, as tied_attention_two_bulks does"
            )
        return found

    def exact(self) -> RationalLaw:
        """Return the same law in ball arithmetic, with the binary values of its parameters."""
        return RationalLaw(
            self.model, lambda: [arb(value) for value in self.law], Fraction(self.zero_mass)
        )

    def top_energy(self, share: float) -> float:
        """Return the part of q0 (eigenvalue^2) in the largest eigenvalues, whose fraction is
        `share`.

        It is computed for the law with a noise below rounding.
        """
        v = _NOISELESS * self.q0
        support = self.support(v)
        cut = quantile(self, v, share, support[0][0], support[-1][1])
        above = self.values(v, cut)
        return float(
            self.generated.rank_limited(
                above.J, above.J_v, above.J_b, above.J_bv, cut, 0.0, above.mass
            )[0]
        )

    def features(self, v: float) -> float:
        """Return the rank of the target over d, or, if there are negative eigenvalues, the fraction
        of positive ones.
        """
        if not structure(self.model).has_negative_eigenvalues:
            return 1 - self.zero_mass
        noise = _NOISELESS * self.q0
        return self.mass_above(noise, _CLEAR * noise**0.5)

    def hidden_overlap(self, v: float, b: float, cut: float) -> float:
        """Return zero, because no eigenvalue of the law has a weight of its own."""
        return 0.0

    def mirrored(self) -> Self:
        """Return the law of minus the target. The same object is returned each time, so that its
        caches are used.
        """
        return self._mirror

    @cached_property
    def _mirror(self) -> Self:
        return replace(self, reflected=not self.reflected)

    def support(self, v: float) -> list[tuple[float, float]]:
        """Return the intervals on which mu_v has a density, from the real critical points of z(g),
        ascending.

        Raises:
            OutsideDomain: no interval is found, because parameters are beyond double precision.
        """
        return list(_support(self, float(v)))

    def upper_edge(self, v: float) -> float:
        """Return the upper end of the support."""
        return self.support(v)[-1][1]

    def single_intervals(self, v: float) -> Array:
        """Return an empty array, because no eigenvalue of the law has a weight of its own."""
        return np.empty((0, 3))

    def outliers(self, v: float) -> list[Outlier]:
        """Return an empty list, because no eigenvalue of the law has a weight of its own."""
        return []

    def density(self, v: float, x: Array) -> Array:
        """Return the density of mu_v (1/eigenvalue) at positions x, with the shape of `x`."""
        return np.array(
            [float(self.generated.density(self._root(v, self._sign * one))) for one in np.ravel(x)]
        ).reshape(np.shape(x))

    def mass_above(self, v: float, x: float) -> float:
        """Return the mass of mu_v above x, to double precision relative to the whole mass."""
        return self.values(v, x).mass

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
        found, error = self._in_double(v, x)
        return found if error <= TRUSTED else exact_values(self.exact(), v, x, self.reflected)

    def accuracy(self, v: float, x: float) -> float:
        """Return the largest relative error of `values(v, x)`."""
        _, error = self._in_double(v, x)
        return error if error <= TRUSTED else EXACT

    def _in_double(self, v: float, x: float) -> tuple[Values, float]:
        """Return the closed forms in float64, and their largest relative error."""
        at = self._sign * x
        g, parameters = self._root(v, at), (v, at, *self.law)
        found, errors = (
            Values(
                *(
                    float(getattr(self.generated, f"spectral_{name}{kind}")(g, *parameters))
                    for name in Values._fields
                )
            )
            for kind in ("", "_error")
        )
        if self.reflected:  # the part above x is the whole law minus the part below
            t0, q0 = self.t0, self.q0
            found = Values(*map(float, self.generated.complement(*found, v, x, t0, q0)))
            whole = whole_law(v, x, t0, q0)
            errors = Values(
                *(error + _ROUNDED * size for error, size in zip(errors, whole, strict=True))
            )
        return found, largest_error(errors, found)

    def denoising_error(self, v: float, b: float, energy: Energy) -> BoundedDifference:
        """Return ||S/c - S0||^2/d for the spectral function `energy` at threshold b."""
        return denoising_error_of(energy, self.q0, v, b)

    def _root(self, v: float, x: float) -> complex:
        """Return the physical root of z(g) = x: the one below the real axis, or the real one at
        which z decreases.
        """
        coefficients = self.generated.resolvent_polynomial(v, x, *self.law)
        roots = polynomial_roots(np.array([[float(value) for value in coefficients]]))[0]
        lowest = complex(roots[np.argmin(roots.imag)])
        if lowest.imag < -_REAL * abs(lowest):
            return lowest
        real = roots.real[np.abs(roots.imag) <= _REAL * np.abs(roots)]
        return complex(
            min(real, key=lambda g: float(self.generated.resolvent_slope(g, v, *self.law)))
        )


@lru_cache(maxsize=256)  # a search along b at one v uses it at every step
def _support(target: RationalTarget, v: float) -> list[tuple[float, float]]:
    """Compute `RationalTarget.support`."""
    critical = polynomial_roots(
        np.array([[float(c) for c in target.generated.edge_polynomial(v, *target.law)]])
    )[0]
    real = np.unique(critical.real[np.abs(critical.imag) < 1e-7 * np.abs(critical)])  # double roots
    edges = np.unique(np.real(target.generated.inverse_stieltjes(real, v, *target.law)))
    filled = [target._root(v, x).imag < 0 for x in (edges[:-1] + edges[1:]) / 2]
    intervals = filled_intervals(edges, filled)
    if not intervals:
        raise OutsideDomain(
            f"no support found at v = {v:g}, {target}: parameters beyond double precision"
        )
    return [(-high, -low) for low, high in reversed(intervals)] if target.reflected else intervals
