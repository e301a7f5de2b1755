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
from numpy.typing import NDArray

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.exact_values import exact_values
from numeric.laws.law import Array, Target, Values, energy_above, largest_error, quantile, whole_law
from numeric.laws.marchenko_pastur import polynomial_roots, support_of
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
class RationalTarget(Target):
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
        here, there = (self._roots(variance, x) for x in (0.0, variance**0.5))
        gaps = np.abs(here[:, None] - there) / np.abs(here[:, None])
        if np.any(gaps < _APART):  # a root independent of x cancels in numerator and denominator
            rule = "has two parts of one size (of equal sqrt(kappa)/scale), which are one"
            way_out = "give one part with the sum of their rank ratios"
            raise InvalidParameter("settings", self.settings, rule, way_out)

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
        named = zip(structure(self.model).target_settings, self.settings, strict=True)
        found = replace(
            self,
            settings=tuple(
                factor * value if name.startswith("scale") else value for name, value in named
            ),
        )
        if abs(found.q0 - factor**2 * self.q0) > _ROUNDED * factor**2 * self.q0 * 2**10:
            rule = (
                f"has no settings scale... that multiply the whole target of the model {self.model}"
            )
            way_out = "give each part of it one, as tied_attention_two_bulks does"
            raise InvalidParameter("target", self, rule, way_out)
        return found

    def exact(self) -> RationalLaw:
        """Return the same law in ball arithmetic, with the binary values of its parameters."""
        return RationalLaw(
            self.model, lambda: list(map(arb, self.law)), Fraction(self.zero_mass), repr(self)
        )

    def top_energy(self, share: float) -> float:
        """Return the part of q0 (eigenvalue^2) in the largest eigenvalues, whose fraction is
        `share`.

        It is computed for the law with a noise below rounding.
        """
        v = _NOISELESS * self.q0
        support = self.support(v)
        cut = quantile(self, v, share, support[0][0], support[-1][1])
        return energy_above(self, v, 0.0, cut).J

    def features(self, v: float) -> float:
        """Return the rank of the target over d, or, if there are negative eigenvalues, the fraction
        of positive ones.
        """
        if not structure(self.model).has_negative_eigenvalues:
            return 1 - self.zero_mass
        noise = _NOISELESS * self.q0
        return self.mass_above(noise, _CLEAR * noise**0.5)

    @cached_property
    def mirrored(self) -> Self:
        """Law of minus the target."""
        return replace(self, reflected=not self.reflected)

    def support(self, v: float) -> list[tuple[float, float]]:
        """Return the intervals on which mu_v has a density, from the real critical points of z(g),
        ascending.

        Raises:
            OutsideDomain: no interval is found, because parameters are beyond double precision.
        """
        return list(_support(self, float(v)))

    def density(self, v: float, x: Array) -> Array:
        """Return the density of mu_v (1/eigenvalue) at positions x, with the shape of `x`."""
        return np.array(
            [float(self.generated.density(self._root(v, self._sign * one))) for one in np.ravel(x)]
        ).reshape(np.shape(x))

    def exact_values(self, v: float, x: float) -> Values:
        """Return `values(v, x)` in ball arithmetic.

        Raises:
            Unresolved: x is too close to an edge of the support.
        """
        return exact_values(self.exact(), v, x, self.reflected)

    def _float_values(self, v: float, x: float) -> tuple[Values, float]:
        """Return the closed forms in float64, and their largest relative error."""
        at = self._sign * x
        arguments = (self._root(v, at), v, at, *self.law)

        def evaluated(kind: str) -> Values:
            functions = (f"spectral_{name}{kind}" for name in Values._fields)
            return Values(*(float(getattr(self.generated, one)(*arguments)) for one in functions))

        found, errors = evaluated(""), evaluated("_error")
        if self.reflected:  # the part above x is the whole law minus the part below
            t0, q0 = self.t0, self.q0
            found = Values(*map(float, self.generated.complement(*found, v, x, t0, q0)))
            pairs = zip(errors, whole_law(v, x, t0, q0), strict=True)
            errors = Values(*(error + _ROUNDED * size for error, size in pairs))
        return found, largest_error(errors, found)

    def _roots(self, v: float, x: float) -> NDArray[np.complex128]:
        """Return all roots of z(g) = x."""
        coefficients = self.generated.resolvent_polynomial(v, x, *self.law)
        return polynomial_roots(np.array([[float(value) for value in coefficients]]))[0]

    def _root(self, v: float, x: float) -> complex:
        """Return the physical root of z(g) = x: the one below the real axis, or the real one at
        which z decreases.
        """
        roots = self._roots(v, x)
        lowest = complex(roots[np.argmin(roots.imag)])
        if lowest.imag < -_REAL * abs(lowest):
            return lowest
        real = roots.real[np.abs(roots.imag) <= _REAL * np.abs(roots)]
        slope = self.generated.resolvent_slope
        return complex(min(real, key=lambda g: float(slope(g, v, *self.law))))


@lru_cache(maxsize=256)  # a search along b at one v uses it at every step
def _support(target: RationalTarget, v: float) -> list[tuple[float, float]]:
    """Compute `RationalTarget.support`."""
    intervals = support_of(
        target,
        target.generated,
        v,
        lambda middles: [target._root(v, x).imag < 0 for x in middles],
    )
    return [(-high, -low) for low, high in reversed(intervals)] if target.reflected else intervals
