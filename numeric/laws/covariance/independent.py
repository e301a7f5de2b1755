"""Target with eigenvectors that are independent of the covariance of the tokens, in the limit
d -> infinity (case c of the theory note, section 13).
"""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.covariance import resolvent
from numeric.laws.covariance.target import (
    CovarianceTarget,
    Entries,
    a_float,
    diagonal_entries,
    inverse_square,
    normalised,
    numbers,
)
from numeric.laws.law import (
    Array,
    Energy,
    Target,
    Values,
    edge_grid,
    finite_edge,
    largest_error,
    quantile,
    whole_law,
)
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.subordination import path_rule
from numeric.maths.balls import Unresolved
from numeric.maths.domain import OutsideDomain
from numeric.model import float64 as generated
from numeric.proven_laws.covariance import CovarianceLaw, free_product, null_block
from numeric.proven_laws.law import Law
from numeric.proven_laws.subordinated import NullSpace

#: Largest relative error of a value of J or its derivatives. Next to an edge of the law, where J
#: vanishes, no value is returned.
RESOLVED = 1e-4
#: Relative distance from the upper edge below which nothing is learned in double precision: the
#: learned mass is its power 3/2, about 1e-15.
AT_EDGE = 1e-10
_GRID = 1024  # positions in the search for gaps of the support
_HALVINGS = 50  # of an interval around an edge of a gap
_EMPTY = 1e-9  # largest density, relative to that of a semicircle, that is rounding
_EDGE_TOLERANCE = 1e-14  # relative tolerance of the transform at an edge
_LEAST = 1e-9  # least transform in the search for an edge, relative to the largest
_NOISELESS = 1e-9  # variance of a noise that moves the edge of the target little, relative to q0


@dataclass(frozen=True)
class _Weighted:
    """Values at one position, with J_b and mass of the densities weighted by 1/c and by c.

    Attributes:
        values: values without weights.
        inverse: J_b and mass of the density weighted by 1/c.
        own: J_b and mass of the density weighted by c.
        error: largest relative error.
    """

    values: Values
    inverse: tuple[float, float]
    own: tuple[float, float]
    error: float


@dataclass(frozen=True)
class IndependentLaw(Target):
    """Law of C^{1/2} S0 C^{1/2} + shift C + b (1 - C^{-1}) for a Marchenko-Pastur target S0.

    Attributes:
        target: law of S0.
        covariance: eigenvalues of C, of mean 1.
        weights: one for each.
        b: threshold, eigenvalue.
        shift: coefficient of C, eigenvalue: the target is S0 + shift.
    """

    target: MarchenkoPastur
    covariance: tuple[float, ...]
    weights: tuple[float, ...]
    b: float
    shift: float = 0.0

    @cached_property
    def arrays(self) -> tuple[Array, Array]:
        """Eigenvalues of the covariance and weights, each of shape (K,)."""
        return np.array(self.covariance), np.array(self.weights)

    @property
    def _moments(self) -> tuple[float, float]:
        """Mean and second moment of S0 + shift."""
        mean, square = self.target.t0, self.target.q0
        return mean + self.shift, square + self.shift * (2 * mean + self.shift)

    @property
    def _parameters(self) -> tuple[float, float, float]:
        """Parameters of the target law, and the shift."""
        return (*self.target.law, self.shift)

    @property
    def t0(self) -> float:
        """Mean eigenvalue."""
        c, w = self.arrays
        return self._moments[0] + self.b * float(1 - w @ (1 / c))

    @property
    def q0(self) -> float:
        """Second moment, eigenvalue^2, from the free independence of S0 and C."""
        c, w = self.arrays
        mean, square = self._moments
        shift = self.b * (1 - 1 / c)
        return (
            square + mean**2 * float(w @ (c - 1) ** 2) + float(w @ (shift * (shift + 2 * mean * c)))
        )

    @property
    def zero_mass(self) -> float:
        """Fraction of zero eigenvalues."""
        return self.target.zero_mass if self.b == self.shift == 0 else 0.0

    def scaled(self, factor: float) -> Self:
        """Return the law of `factor` times the matrix."""
        b, shift = factor * self.b, factor * self.shift
        return replace(self, target=self.target.scaled(factor), b=b, shift=shift)

    def exact(self) -> Law:
        """Raise InvalidParameter: the law is not proven."""
        rule = "has a covariance that is independent of the target, whose law is not proven"
        raise InvalidParameter("target", self, rule, "use float64")

    def upper_edge(self, v: float) -> float:
        """Return the upper end of the support."""
        return self._edge(v, 1)

    def support(self, v: float) -> list[tuple[float, float]]:
        """Return the intervals on which the noisy law has a density, in ascending order.

        Gaps between them that are narrower than the grid are not found.
        """
        low, high = self._edge(v, -1), self._edge(v, 1)
        x, _ = edge_grid(low, high, _GRID)
        filled = self._is_filled(v, x)
        filled[[0, -1]] = True  # next to the edges, where the density vanishes
        edges = [low, high]
        for k in np.flatnonzero(filled[1:] != filled[:-1]):
            inside, outside = (x[k], x[k + 1]) if filled[k] else (x[k + 1], x[k])
            for _ in range(_HALVINGS):
                middle = (inside + outside) / 2
                if self._is_filled(v, np.array([middle]))[0]:
                    inside = middle
                else:
                    outside = middle
            edges.append(float(inside))
        ordered = sorted(edges)
        return list(zip(ordered[::2], ordered[1::2], strict=True))

    def _is_filled(self, v: float, x: Array) -> NDArray[np.bool_]:
        return np.asarray(self.density(v, x) > _EMPTY / math.sqrt(v))

    @lru_cache(maxsize=16)  # noqa: B019 - targets are few, and a solution needs it four times
    def _edge(self, v: float, side: int) -> float:
        """Return the upper end (side 1) or the lower end (side -1) of the support.

        Outside of the support on this side, the position x is a monotone function of the real
        transform h, up to the edge.
        """
        c, w = self.arrays

        def rise(log_h: float) -> float:
            """Return the slope of the position in log |h|, times -1 at a lower end."""
            h = side * math.exp(log_h)
            _, inverse, slope = self._real(h)
            sums = [float(w @ (c**n * inverse**2)) for n in range(3)]
            du = (slope * sums[2] - 1) / sums[1]
            return abs(h) * (du * (1 - v * sums[0]) + v * slope * sums[1])

        _, largest = self.target.law  # where the R-transform diverges
        low, high = math.log(largest * _LEAST), math.log(largest) - _EDGE_TOLERANCE
        while side < 0 and not rise(high) > 0 and high < -low:
            high += 1.0
        if not rise(low) < 0 < rise(high):
            raise OutsideDomain(f"no edge found at v = {v:g}: parameters beyond double precision")
        tolerance = {"xtol": _EDGE_TOLERANCE, "rtol": _EDGE_TOLERANCE}
        h = side * math.exp(scipy.optimize.brentq(rise, low, high, **tolerance))
        u, inverse, _ = self._real(h)
        return finite_edge(v, u + v * float(w @ inverse))

    def _real(self, h: float) -> tuple[float, Array, float]:
        """Return u, the inverse denominators and the slope of R at a real transform h.

        u is the largest root of E_c[c/D] = h if h is positive, and the smallest one otherwise.
        """
        c, w = self.arrays
        strength, slope = map(float, generated.r_transform(h, *self.target.law))
        strength += self.shift
        side, size = math.copysign(1.0, h), abs(h)
        poles = -side * generated.covariance_denominator(0.0, strength, self.b, c)
        # One term alone exceeds |h| below `low`, and all terms are below |h| from `high` on.
        low = float(np.max(poles + w * c / size))
        high = float(np.max(poles)) + 1 / size

        def excess(u: float) -> float:
            return float(w @ (c / (u - poles))) - size

        u = low if excess(low) <= 0 else high  # both are the root of a single eigenvalue
        if excess(low) > 0 > excess(high):
            u = float(scipy.optimize.brentq(excess, low, high, xtol=1e-300, rtol=1e-15))
        for _ in range(2):  # the bracket leaves rounding errors of u, which Newton steps remove
            inverse = 1 / (u - poles)
            u += (float(w @ (c * inverse)) - size) / float(w @ (c * inverse**2))
        return side * u, side / (u - poles), slope

    def _size(self, v: float) -> float:
        """Return a bound of the absolute values of the support."""
        c, _ = self.arrays
        most = float(c.max()) * self.target.upper_edge(_NOISELESS * self.target.q0)
        most += abs(self.shift) * float(c.max())
        return most + self.b * (1 + 1 / float(c.min())) + 2 * math.sqrt(v)

    @lru_cache(maxsize=16)  # noqa: B019 - as above
    def weighted(self, v: float, x: float) -> _Weighted:
        """Return the spectral function at x with the parts weighted by the inverse covariance.

        Args:
            v: variance of the semicircle, eigenvalue^2.
            x: position below the upper edge, eigenvalue.
        """
        above, errors = self._on_side(v, x, 1)
        below, less = self._on_side(v, x, -1)
        c, w = self.arrays
        (J, J_v, J_b, J_bv, mass), t0, q0 = below[:5], self.t0, self.q0
        rest = [*map(float, generated.complement(J, J_v, -J_b, -J_bv, mass, v, x, t0, q0))]
        # Means of the law weighted by 1/c and by c, and the means of these weights.
        by_inverse = self._moments[0] + self.b * float(w @ (1 / c - 1 / c**2))
        by_own = self._moments[0] * float(w @ c**2) + self.b * float(w @ (c - 1))
        sizes = [*whole_law(v, x, t0, q0)]
        for place, moment, total in (
            (5, by_inverse, float(w @ (1 / c))),
            (7, by_own, float(w @ c)),
        ):
            rest += [-2 * (moment - x * total) - below[place], total - below[place + 1]]
            sizes += [2 * (abs(moment) + abs(x * total)), total]
        unit = (4 + math.sqrt(len(c))) * resolvent.EPS
        others = [error + unit * size for error, size in zip(less, sizes, strict=True)]
        here, there = zip(errors, above, strict=True), zip(others, rest, strict=True)
        chosen = [min(pair) for pair in zip(here, there, strict=True)]
        values = Values(*(value for _, value in chosen[:5]))
        found = [value for _, value in chosen]
        found[3] = max(abs(values.J_bv), values.J_v / (abs(x) + math.sqrt(v)))
        error = largest_error([error for error, _ in chosen], found)
        _, _, _, _, _, *weighted = (value for _, value in chosen)
        return _Weighted(values, (weighted[0], weighted[1]), (weighted[2], weighted[3]), error)

    def _on_side(self, v: float, x: float, side: int) -> tuple[list[float], list[float]]:
        """Return J, J_v, J_b, J_bv, mass, and J_b and mass of the densities weighted by 1/c and by
        c, of the law on one side of x, and estimates of their errors.
        """
        edge = self._edge(v, side)
        radius = resolvent.FAR * abs(edge - x)
        if (edge - x) * side <= 0:
            return [0.0] * 9, [0.0] * 9
        reach = radius, max(self._size(v), radius)
        ends, errors = resolvent.energies(
            float(v), float(x), self.b, side, reach, self.arrays, self._parameters, path_rule()
        )
        found = [float(generated.finite_value(end)) for end in ends]
        return [*found[:3], *found[4:]], [*errors[:3].tolist(), *errors[4:].tolist()]

    def _float_values(self, v: float, x: float) -> tuple[Values, float]:
        found = self.weighted(float(v), float(x))
        return found.values, found.error

    def exact_values(self, v: float, x: float) -> Values:
        """Raise Unresolved: float64 is not accurate there, and the law at b > 0 is not proven."""
        raise Unresolved(f"the law with a covariance is not resolved at v = {v:g}, x = {x:g}")

    @property
    def _max_error(self) -> float:
        return RESOLVED

    def top_energy(self, share: float) -> float:
        """Raise InvalidParameter: the decomposition of errors is not derived."""
        raise InvalidParameter("target", self, "has no decomposition of errors", "use lists")

    def features(self, v: float) -> float:
        """Raise InvalidParameter: the decomposition of errors is not derived."""
        raise InvalidParameter("target", self, "has no decomposition of errors", "use lists")

    def density(self, v: float, x: Array) -> Array:
        """Return the density of the noisy law (1/eigenvalue), shape of `x`."""
        positions = np.asarray(x, dtype=float)
        size = max(self._size(v), float(np.max(np.abs(positions), initial=0.0)))
        found = resolvent.transforms(
            positions.ravel(), float(v), self.b, size, self.arrays, self._parameters
        )
        return np.asarray(generated.density(found)).reshape(positions.shape)


@dataclass(frozen=True)
class IndependentCovariance(CovarianceTarget):
    """Marchenko-Pastur target of tokens whose covariance has other, independent eigenvectors.

    Args:
        target: law of S0 = W0 W0^T/sqrt(m0 d), with isotropic W0.
        covariance: eigenvalues of C, positive; scaled to mean 1, so that tr C = d.
        weights: one for each, positive, with sum one; by default all are equal.

    Raises:
        InvalidParameter: an argument is outside its domain.

    Source: theory note, section 13.

    >>> from numeric import IndependentCovariance, MarchenkoPastur, Problem, solve
    >>> target = IndependentCovariance(MarchenkoPastur(0.5), covariance=[0.4, 1.6])
    >>> solution = solve(Problem(0.6, target, 0.08, 0.5, model="quadratic_network"))
    >>> solution.status.name, round(solution.m, 3), round(solution.q, 3)
    ('CONVERGED', 1.647, 1.857)
    """

    target: MarchenkoPastur
    covariance: tuple[Any, ...]
    weights: tuple[Any, ...] = ()
    #: eigenvalues of C of mean 1 and weights as exact numbers; a float is its binary value
    exact_parameters: tuple[tuple[Fraction, ...], ...] = field(init=False, compare=False)
    #: arguments by name, with a float among their numbers or None
    stated_floats: tuple[tuple[str, float | None], ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.target, MarchenkoPastur):
            rule = "must be a MarchenkoPastur law if its eigenvectors are independent of C"
            way_out = "use AlignedCovariance or MatrixCovariance"
            raise InvalidParameter("target", self.target, rule, way_out)
        names = ("covariance", "weights")
        floats = tuple((name, a_float(getattr(self, name))) for name in names)
        stated = (("kappa0", self.target.exact_parameters[0]), *floats)
        object.__setattr__(self, "stated_floats", stated)
        given = numbers("covariance", self.covariance), numbers("weights", self.weights)
        exact = normalised(*given)
        object.__setattr__(self, "exact_parameters", exact)
        for name, values in zip(("covariance", "weights"), exact, strict=True):
            object.__setattr__(self, name, tuple(map(float, values)))

    @property
    def covariance_range(self) -> tuple[float, float]:
        """Least and largest eigenvalue of C."""
        return min(self.covariance), max(self.covariance)

    @cached_property
    def square(self) -> float:
        """Mean square of the eigenvalues of C, tr C^2/d."""
        c, w = np.array(self.covariance), np.array(self.weights)
        return float(w @ c**2)

    @property
    def norm_overlap(self) -> float:
        """Overlap tr(C S0)/tr(C^2) of the whitened target with C, the mean eigenvalue of S0."""
        return self.target.t0

    @property
    def whitened(self) -> IndependentLaw:
        """Law of the whitened target C^{1/2} S0 C^{1/2}."""
        return self._law(0.0, 0.0)

    def exact(self) -> CovarianceLaw:
        """Return the law of the whitened target in ball arithmetic."""
        kappa0, scale = map(Fraction, self.target.exact_parameters)
        covariance, weights = self.exact_parameters
        return free_product(covariance, weights, kappa0, scale)

    def null_space(self) -> NullSpace:
        """Return the inverse covariance on the null space of the whitened target."""
        covariance, weights = self.exact_parameters
        zero_mass = max(Fraction(0), 1 - Fraction(self.target.exact_parameters[0]))
        block = null_block(covariance, weights, zero_mass)
        return NullSpace(block, inverse_square(covariance, weights))

    def scaled(self, factor: float) -> Self:
        """Return the law of `factor` times the target."""
        return type(self)(self.target.scaled(factor), *self.exact_parameters)

    @cached_property
    def entries(self) -> Entries:
        """Entries of the whitened target, whose mean is that of S0 on the diagonal."""
        c, w = np.array(self.covariance), np.array(self.weights)
        mean, square = self.target.t0, self.target.q0
        return diagonal_entries(c, w, square - mean**2, w * (c * mean) ** 2)

    def at_threshold(self, b: float, shift: float = 0.0) -> tuple[IndependentLaw, float]:
        """Return the law of the whitened target plus b (1 - C^{-1}) + shift C, whose threshold is
        b.
        """
        return self._law(float(b), float(shift)), b

    @lru_cache(maxsize=8)  # noqa: B019 - targets are few, and a law keeps its own values
    def _law(self, b: float, shift: float) -> IndependentLaw:
        return IndependentLaw(self.target, self.covariance, self.weights, b, shift)

    def energy(self, v: float, b: float, width: float, shift: float = 0.0) -> Energy:
        """Return J and its derivatives, with a rank limit; see `CovarianceTarget.energy`.

        Raises:
            Unresolved: b is too close to the threshold at which nothing is learned.
        """
        law, v, b = self._law(float(b), float(shift)), float(v), float(b)
        top = law.upper_edge(v)
        if b >= top * (1 - AT_EDGE):
            return Energy(0.0, 0.0, 0.0, 0.0, None, 0.0)
        J, J_v, _, _, mass = law.values(v, b)  # raises if they are not resolved
        here = law.weighted(v, b)
        if width >= 1 or mass <= width:
            return Energy(J, J_v, here.inverse[0], mass, None, -here.own[0])
        cut = quantile(law, v, width, b, top)
        J, J_v, J_b, J_bv, _ = law.values(v, cut)
        at_cut = law.weighted(v, cut)
        J, J_v, _ = map(float, generated.rank_limited(J, J_v, J_b, J_bv, cut, b, width))
        # Penalty and shift move eigenvalues at fixed mass above the quantile.
        (_, _, J_b), (_, _, J_c) = (
            generated.rank_limited(0.0, 0.0, slope, 0.0, cut, b, mass)
            for slope, mass in (at_cut.inverse, at_cut.own)
        )
        return Energy(J, J_v, float(J_b), width, cut, -float(J_c))

    def __repr__(self) -> str:
        """Return the target, and the number and range of the eigenvalues of the covariance."""
        low, high = self.covariance_range
        number = len(self.covariance)
        return (
            f"IndependentCovariance({self.target!r}, {number} eigenvalues of the covariance, "
            f"{low:.4g} to {high:.4g})"
        )
