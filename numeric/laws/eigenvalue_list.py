"""Target with finitely many eigenvalues, and its noisy law mu_v in float64.

See the theory note, section 4 ("Atoms", Biane). Formulas are generated (step `finite_spectrum`).
Compiled kernels are in numeric.laws.subordination.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Self, cast

import numpy as np
from flint import arb
from numpy.typing import NDArray

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws import residues, subordination
from numeric.laws.exact_values import exact_values
from numeric.laws.law import (
    Array,
    BoundedDifference,
    Energy,
    Outlier,
    Target,
    Values,
    denoising_error_of,
    edge_grid,
    finite_edge,
    largest_error,
    whole_law,
)
from numeric.maths.balls import Unresolved
from numeric.maths.domain import OutsideDomain, count, exact_or_float, real, require_list
from numeric.model import float64 as generated
from numeric.proven_laws.finite import FiniteLaw, exact_list

#: Relative error up to which float64 sums over eigenvalues are used. Balls take N times as long,
#: and the errors of m and q stay small.
SUM_TOLERANCE = 1e-7
#: Maximum number of eigenvalues in ball arithmetic, which takes minutes beyond. Sums over more
#: eigenvalues may have the relative error LONG_SUM_TOLERANCE.
MAX_BALL_EIGENVALUES = 5000
LONG_SUM_TOLERANCE = 1e-4
MAX_RESIDUES = 500  #: up to this number of eigenvalues above x, residues are as fast as the path
MAX_SINGLE_WEIGHT = 0.05  #: an eigenvalue of a larger weight counts as a bulk, as wide as one
_EPS = 2.0**-52
_POINTS = 800  # nodes on an interval of the support, for the split of errors
_SUM = 1e-9  # tolerance of the sum of weights, which are then normalised


class Bulk(NamedTuple):
    """Interval [low, high] of the support of mu_v, with the eigenvalues `first` to `last` of the
    target that it contains.
    """

    low: float
    high: float
    first: int
    last: int


@dataclass(frozen=True)
class Eigenvalues(Target):
    """Law of finitely many eigenvalues with weights.

    Equal eigenvalues are merged, and the result is sorted in ascending order.

    Args:
        eigenvalues: any order; finite, and not all zero. Solvers use the nearest floats; digits of
            thresholds are computed from `exact_parameters`, which has Fractions where you pass
            Fractions, Decimals or texts such as "1/3".
        weights: one for each eigenvalue; positive, with sum one.

    Raises:
        InvalidParameter: an argument is outside its domain.

    >>> from attention_erm import Eigenvalues
    >>> target = Eigenvalues([3, 0, 2], weights=[0.01, 0.98, 0.01])
    >>> target.eigenvalues, target.zero_mass, round(target.q0, 3)
    ((0.0, 2.0, 3.0), 0.98, 0.13)
    """

    eigenvalues: tuple[float, ...]
    weights: tuple[float, ...]
    #: pairs of eigenvalue and weight as given, not merged; empty if all are floats
    exact_parameters: tuple[tuple[Any, Any], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        given = [_exact_numbers(name, getattr(self, name)) for name in ("eigenvalues", "weights")]
        for name, numbers in zip(("eigenvalues", "weights"), given, strict=True):
            object.__setattr__(self, name, tuple(real(name, number) for number in numbers))
        values, weights = self.eigenvalues, self.weights
        if len(values) != len(weights) or not values:
            rule = f"must be as many as the eigenvalues, {len(values)}, and at least one"
            raise InvalidParameter("weights", weights, rule, "give one for each")
        if not all(map(math.isfinite, values)) or not any(values):
            rule = "must be finite, and not all zero"
            raise InvalidParameter("eigenvalues", values, rule, "a target needs a signal")
        total = math.fsum(weights)
        if not all(weight > 0 for weight in weights) or not abs(total - 1) <= _SUM:
            rule = f"must be positive and sum to one, not {total!r}"
            raise InvalidParameter("weights", weights, rule, "divide them by their sum")
        merged: dict[float, list[float]] = {}
        for value, weight in zip(values, weights, strict=True):
            merged.setdefault(value, []).append(weight)
        distinct = sorted(merged)
        normalised = tuple(math.fsum(merged[value]) / total for value in distinct)
        object.__setattr__(self, "eigenvalues", tuple(distinct))
        object.__setattr__(self, "weights", normalised)
        rounded = any(one != number for one, number in zip(given[0], values, strict=True)) or any(
            one != number for one, number in zip(given[1], weights, strict=True)
        )
        exact = tuple(zip(*given, strict=True)) if rounded else ()
        object.__setattr__(self, "exact_parameters", exact)

    @cached_property
    def arrays(self) -> tuple[Array, Array]:
        """Eigenvalues and weights, each of shape (N,)."""
        return np.array(self.eigenvalues), np.array(self.weights)

    @cached_property
    def sums_over_others(self) -> Array:
        """Sums over all other eigenvalues that residues need, shape (3, N). They start as NaN;
        numeric.laws.residues computes them on first use.
        """
        return np.full((3, len(self.eigenvalues)), np.nan)

    @cached_property
    def t0(self) -> float:
        """Mean eigenvalue."""
        s, w = self.arrays
        return float(w @ s)

    @cached_property
    def q0(self) -> float:
        """Second moment, eigenvalue^2."""
        s, w = self.arrays
        return float(w @ s**2)

    @property
    def zero_mass(self) -> float:
        """Fraction of zero eigenvalues."""
        return self.weights[self.eigenvalues.index(0)] if 0 in self.eigenvalues else 0.0

    @cached_property
    def mirrored(self) -> "Eigenvalues":
        """Law of minus the target; the target itself if both are the same."""
        pairs = self.exact_parameters or tuple(zip(self.eigenvalues, self.weights, strict=True))
        found = Eigenvalues(tuple(-s for s, _ in pairs), tuple(weight for _, weight in pairs))
        same = (found.eigenvalues, found.weights) == (self.eigenvalues, self.weights)
        return self if same else found

    def scaled(self, factor: float) -> Self:
        """Return the law of `factor` times the target."""
        return type(self)(tuple(factor * value for value in self.eigenvalues), self.weights)

    def with_largest(self, values: Array) -> "Eigenvalues":
        """Return the same list with its largest eigenvalues replaced by `values`, which are
        ascending.
        """
        kept = len(self.eigenvalues) - len(values)
        return Eigenvalues((*self.eigenvalues[:kept], *map(float, values)), self.weights)

    @lru_cache(maxsize=8)  # noqa: B019 - as for `exact`; a solution needs it four times at its v
    def bulks(self, v: float) -> tuple[Bulk, ...]:
        """Return the intervals of the support, ascending, each with the eigenvalues of the target
        that it contains.

        Raises:
            OutsideDomain: v is beyond double precision.
        """
        rows = subordination.bulks(float(v), *self.arrays)
        finite_edge(v, float(rows[:, :2].sum()))
        return tuple(
            Bulk(low, high, int(first), int(last)) for low, high, first, last in rows.tolist()
        )

    def support(self, v: float) -> list[tuple[float, float]]:
        """Return the intervals on which mu_v has a density, in ascending order."""
        return [(bulk.low, bulk.high) for bulk in self.bulks(v)]

    def upper_edge(self, v: float) -> float:
        """Return the upper end of the support."""
        return finite_edge(v, float(subordination.upper_edge(float(v), *self.arrays)))

    def noise_bulk(self, v: float) -> Bulk:
        """Return the interval that contains the eigenvalue closest to 0; its eigenvalues cannot be
        distinguished from noise.
        """
        closest = int(np.argmin(np.abs(self.arrays[0])))
        return next(bulk for bulk in self.bulks(v) if bulk.first <= closest <= bulk.last)

    def single_intervals(self, v: float) -> Array:
        """Return the intervals that contain exactly one eigenvalue, nonzero and of weight up to
        MAX_SINGLE_WEIGHT: rows (low, high, weight), ascending.
        """
        rows = [(bulk.low, bulk.high, self.weights[bulk.first]) for bulk in self._single_bulks(v)]
        return np.array(rows).reshape(-1, 3)

    def _single_bulks(self, v: float) -> list[Bulk]:
        return [
            bulk
            for bulk in self.bulks(v)
            if bulk.first == bulk.last
            and self.weights[bulk.first] <= MAX_SINGLE_WEIGHT
            and self.eigenvalues[bulk.first] != 0
        ]

    def outliers(self, v: float) -> list[Outlier]:
        """Return the nonzero eigenvalues of weight up to MAX_SINGLE_WEIGHT that are alone in an
        interval of the support, ascending.

        Such an eigenvalue s satisfies v sum_j w_j/(s - s_j)^2 < 1 over the others, the condition at
        vanishing weight.
        """
        found, (s, w) = [], self.arrays
        for low, high, k, _ in self._single_bulks(v):
            value, weight = self.eigenvalues[k], self.weights[k]
            inverse, others = 1.0 / (value - np.delete(s, k)), np.delete(w, k)
            sums = float(others @ inverse), float(others @ inverse**2)
            position, overlap = map(float, generated.outlier(value, v, *sums))
            found.append(Outlier(value, position, overlap, weight, low, high))
        return found

    def top_energy(self, share: float) -> float:
        """Return the part of q0 (eigenvalue^2) in the largest eigenvalues, whose fraction is
        `share`.
        """
        s, w = (array[::-1] for array in self.arrays)
        taken = np.minimum(w, np.maximum(share - (np.cumsum(w) - w), 0.0))
        return float(taken @ s**2)

    def features(self, v: float) -> float:
        """Return the weight of the eigenvalues that have left the noise bulk at its upper end."""
        return float(self.arrays[1][self.noise_bulk(v).last + 1 :].sum())

    def hidden_overlap(self, v: float, b: float, cut: float) -> float:
        """Return the overlap of the learned map with features that noise hides, eigenvalue^2.

        It is the integral of (x - b) times the mean of the eigenvalues in the noise bulk, over x >
        cut in this bulk.

        Args:
            v: variance of the semicircle, eigenvalue^2.
            b: threshold, eigenvalue.
            cut: lower limit of the integral, eigenvalue.
        """
        bulk, (s, w) = self.noise_bulk(v), self.arrays
        inside = slice(bulk.first, bulk.last + 1)
        _, moments = self.feature_parts(v, b, max(cut, bulk.low), bulk.high)
        return float(moments[inside] @ (w * s)[inside])

    def feature_parts(self, v: float, b: float, low: float, high: float) -> tuple[Array, Array]:
        """Return how much the eigenvectors of Y at low < x < high contain of each eigenvector of
        the target.

        The first array is the sum of the squared overlaps. The second is the sum of x - b times the
        squared overlaps (eigenvalue). For S = c (Y - b)_+ they are the weight of an eigenvector v
        of the target in the eigenvectors of S, and v^T S v/c.

        Args:
            v: variance of the semicircle, eigenvalue^2.
            b: threshold, eigenvalue.
            low: lower limit, eigenvalue.
            high: upper limit, eigenvalue.

        Returns:
            Two arrays of shape (N,).
        """
        s, _ = self.arrays
        shares, moments = np.zeros_like(s), np.zeros_like(s)
        for bulk in self.bulks(v):
            first, last = max(low, bulk.low), min(high, bulk.high)
            if first < last:
                x, weights = edge_grid(first, last, _POINTS)
                u = generated.subordinate(x, self._transforms(v, x), v)
                parts = generated.feature_density(u, s[:, None]) * weights
                shares, moments = shares + parts.sum(axis=1), moments + parts @ (x - b)
        return shares, moments

    def density(self, v: float, x: Array) -> Array:
        """Return the density of mu_v (1/eigenvalue).

        Args:
            v: variance of the semicircle, eigenvalue^2.
            x: positions, eigenvalue.

        Returns:
            Array with the shape of `x`.

        Raises:
            OutsideDomain: v is beyond double precision.
        """
        positions = np.asarray(x, dtype=float)
        g = self._transforms(v, positions.ravel())
        return np.asarray(generated.density(g)).reshape(positions.shape)

    def _transforms(self, v: float, x: Array) -> NDArray[np.complex128]:
        """Return the Stieltjes transforms of mu_v at positions x, shape (n,)."""
        return _require_found(v, subordination.transforms(x, float(v), *self.arrays))

    def mass_above(self, v: float, x: float) -> float:
        """Return the mass of mu_v above x, to double precision relative to the whole mass."""
        return self._in_double(v, x)[0].mass

    @property
    def _max_error(self) -> float:
        """Relative error up to which float64 sums are used."""
        return SUM_TOLERANCE if len(self.weights) <= MAX_BALL_EIGENVALUES else LONG_SUM_TOLERANCE

    def _float_values(self, v: float, x: float) -> tuple[Values, float]:
        """Return sums over eigenvalues in float64, and their largest relative error.

        If the path integral is not accurate, residues are tried, and the more accurate result is
        returned.
        """
        values, errors = self._in_double(v, x)
        worst = _worst(values, errors, v, x)
        affordable = len(self.weights) - np.searchsorted(self.arrays[0], x) < MAX_RESIDUES
        if worst > (SUM_TOLERANCE if affordable else self._max_error):
            sums = self.sums_over_others
            rows = residues.from_gap(
                float(v), float(x), *self.arrays, sums, *subordination.path_rule()
            )
            apart, less = (Values(*map(float, row)) for row in rows)
            if _worst(apart, less, v, x) < worst:
                return apart, _worst(apart, less, v, x)
        return values, worst

    def strength_slopes(
        self, v: float, b: float, quantile: float | None, strengths: Array
    ) -> Array:
        """Return the slopes dJ/ds of `energy`, per unit weight, by eigenvalues s of the list.

        Args:
            v: variance of the semicircle, eigenvalue^2.
            b: threshold, eigenvalue.
            quantile: eigenvalue at which the rank limit cuts the law; None if it does not act.
            strengths: the eigenvalues s, shape (n,).

        Returns:
            Slopes, shape (n,).
        """
        top = b if quantile is None else quantile
        if top >= self.upper_edge(v):
            return np.zeros(len(strengths))
        found, _ = subordination.spectral(
            float(v), float(top), *self.arrays, *subordination.path_rule(), strengths
        )
        _require_found(v, found)
        J_s, J_bs = np.asarray(generated.finite_value(found[5:])).reshape(-1, 2).T
        # The mass above the quantile is fixed, so that J_v and the mass itself do not contribute.
        slopes, _, _ = generated.rank_limited(J_s, 0.0, J_bs, 0.0, top, b, 0.0)
        return np.asarray(slopes)

    def exact_values(self, v: float, x: float) -> Values:
        """Return `values(v, x)` in ball arithmetic.

        Raises:
            Unresolved: x is too close to an edge of the support, or the list is longer than
                MAX_BALL_EIGENVALUES.
        """
        number = len(self.weights)
        if number > MAX_BALL_EIGENVALUES:
            rule = "do not have the required accuracy in float64"
            raise Unresolved(f"sums over {number} eigenvalues at v = {v:g}, x = {x:g} {rule}")
        return exact_values(self.exact(), float(v), float(x))

    def denoising_error(self, v: float, b: float, energy: Energy) -> BoundedDifference:
        """Return ||S/c - S0||^2/d for the spectral function `energy` at threshold b.

        Without a rank limit it is also computed from the part of the law below b, where no large q0
        cancels. The result with the smaller rounding error is returned.

        Args:
            v: variance of the semicircle, eigenvalue^2.
            b: threshold, eigenvalue.
            energy: the value of `energy` at this threshold.
        """
        above = denoising_error_of(energy, self.q0, v, b)
        if energy.quantile is not None or energy.J == 0:
            return above
        (J, J_v, J_b, _, _), errors = self._below(v, b)
        value = float(generated.denoising_error_below(J, J_v, J_b, v, b))
        sizes = zip((*errors[:3], 4 * _EPS), (1.0, 2 * v, abs(b), v + b**2), strict=True)
        below = BoundedDifference(value, sum(error * size for error, size in sizes))
        return min(above, below, key=lambda error: error.rounding)

    @lru_cache(maxsize=8)  # noqa: B019 - targets are few and small
    def exact(self) -> FiniteLaw:
        """Return the same law in ball arithmetic, with the given exact numbers, or the binary
        values of floats.
        """
        if self.exact_parameters:
            pairs = [(Fraction(value), Fraction(weight)) for value, weight in self.exact_parameters]
            total = sum(weight for _, weight in pairs)
            return exact_list([s for s, _ in pairs], [weight / total for _, weight in pairs])
        weights = list(map(Fraction, self.weights))
        return FiniteLaw(
            lambda: list(map(arb, self.eigenvalues)), weights, Fraction(self.zero_mass)
        )

    def _in_double(self, v: float, x: float) -> tuple[Values, Values]:
        """Return values in float64 and estimates of their rounding errors.

        Each value is computed from above x and from below x; the one with the smaller error is
        returned.
        """
        s, w = self.arrays
        above, errors = self._integrated(v, x, s, w)
        below, less = self._below(v, x)
        t0, q0 = self.t0, self.q0
        rest = map(float, generated.complement(*below, v, x, t0, q0))
        # Integrals over the whole law have rounding errors, too: four terms, and moments are sums
        # over all eigenvalues.
        unit = (4 + math.sqrt(len(s))) * _EPS
        sizes = whole_law(v, x, t0, q0)
        off = (error + unit * size for error, size in zip(less, sizes, strict=True))
        pairs = zip(zip(errors, above, strict=True), zip(off, rest, strict=True), strict=True)
        chosen_errors, chosen = zip(*map(min, pairs), strict=True)
        return Values(*chosen), Values(*chosen_errors)

    def _below(self, v: float, x: float) -> tuple[list[float], list[float]]:
        """Return values and errors of the mirrored law at -x, which is the part of the law
        below x.
        """
        s, w = self.arrays
        return self._integrated(
            v, -x, -s[::-1], w[::-1].copy()
        )  # one array layout: one compilation

    def _integrated(
        self, v: float, x: float, s: Array, w: Array
    ) -> tuple[list[float], list[float]]:
        """Return J, J_v, J_b, J_bv and mass for ascending eigenvalues s, and estimates of their
        rounding errors.
        """
        ends, errors = subordination.spectral(float(v), float(x), s, w, *subordination.path_rule())
        return list(
            map(float, map(generated.finite_value, _require_found(v, ends)))
        ), errors.tolist()


def _require_found(v: float, found: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return `found` if all values are finite."""
    if not np.all(np.isfinite(found)):
        raise OutsideDomain(
            f"no physical root found at v = {v:g}: parameters beyond double precision"
        )
    return found


def _worst(values: Values, errors: Values, v: float, x: float) -> float:
    """Return the largest relative error; NaN if an error is NaN."""
    # J_bv vanishes between bulks. Its error is compared with J_v, to which the rank limit adds J_bv
    # times an eigenvalue.
    sizes = values._replace(J_bv=max(abs(values.J_bv), values.J_v / (abs(x) + math.sqrt(v))))
    return largest_error(errors, sizes)


def _exact_numbers(name: str, values: object) -> tuple[Fraction | float, ...]:
    """Return the elements of a list or an array, floats as they are and others as Fractions."""
    require_list(name, values)
    return tuple(exact_or_float(name, value) for value in cast(Iterable[object], values))


def finite_rank(values: Sequence[float], dim: int) -> Eigenvalues:
    """Return the law of the eigenvalues `values`, each of weight 1/dim, and zeros for the rest of
    the `dim` dimensions.

    Args:
        values: nonzero eigenvalues.
        dim: dimension d.

    Raises:
        InvalidParameter: there are more values than dimensions, or an argument is outside its
            domain (see `Eigenvalues`).
    """
    known: tuple[Any, ...] = _exact_numbers("values", values)
    dim = count("dim", dim)
    if len(known) > dim:
        rule = f"{len(known)} eigenvalues do not fit into dim = {dim}"
        raise InvalidParameter("values", values, rule, "raise dim")
    weights: Any = (Fraction(1, dim),) * dim
    return Eigenvalues((*known, *[0] * (dim - len(known))), weights)


def singular_values(values: Sequence[float], weights: Sequence[float]) -> Eigenvalues:
    """Return the law that represents a general matrix: each singular value with both signs, with
    half of its weight each.

    Args:
        values: singular values.
        weights: one for each singular value; positive, with sum one.

    Raises:
        InvalidParameter: an argument is outside its domain (see `Eigenvalues`).
    """
    given = _exact_numbers("values", values), _exact_numbers("weights", weights)
    return Eigenvalues(*with_either_sign(*given))


def with_either_sign(values: Sequence[Any], weights: Sequence[Any]) -> tuple[Any, Any]:
    """Return each value with both signs, with half of its weight each.

    Args:
        values: singular values.
        weights: one for each singular value.
    """
    halves = tuple(weight / 2 for weight in weights)
    return (*(-value for value in values), *values), (*halves, *halves)
