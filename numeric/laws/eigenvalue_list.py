"""A target with finitely many eigenvalues, and its noisy law mu_v in float64.

Theory note, section 4 ("Atoms", Biane); formulas are generated (step `finite_spectrum`), kernels are in numeric.laws.subordination.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple, Self, cast

import numpy as np
from flint import arb
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from numeric.laws import residues, subordination
from numeric.laws.exact_values import EXACT, exact_values
from numeric.laws.law import (
    Array,
    Bounded,
    Energy,
    Outlier,
    Values,
    denoising_error_of,
    edge_grid,
    finite_edge,
    largest_error,
    limited_energy,
    whole_law,
)
from numeric.maths.balls import Unresolved
from numeric.maths.domain import InvalidParameter, OutsideDomain, count, real, require_list
from numeric.model import float64 as generated
from numeric.proven_laws.finite import FiniteLaw

SUMMED = 1e-7  #: relative error up to which sums over eigenvalues are used: balls take N times as long, and errors of m, q stay small
MOST_IN_BALLS = 5000  #: eigenvalues beyond which balls take minutes; there a sum may have the relative error COARSE
COARSE = 1e-4
SUMMED_APART = 500  #: eigenvalues above x that are summed one by one as fast as a path is followed around all
LIGHT = 0.05  #: weight above which an eigenvalue is a bulk: its interval is then no narrower than those of others
_EPS = 2.0**-52
_POINTS = 800  # of the lowest interval, for a split of errors that adds up whatever the quadrature
_SUM = 1e-9  # weights read from decimals sum to one within this; they are then normalised


class Bulk(NamedTuple):
    """One interval of the support of mu_v, and the range of distinct eigenvalues of the target whose weight it carries."""

    low: float
    high: float
    first: int
    last: int


@dataclass(frozen=True)
class Eigenvalues:
    """Law of the `eigenvalues` s_k with positive `weights` of sum one; kept distinct and ascending.

    Raises:
        InvalidParameter: an argument outside its domain.

    >>> from attention_erm import Eigenvalues
    >>> target = Eigenvalues([3, 0, 2], weights=[0.01, 0.98, 0.01])
    >>> target.eigenvalues, target.zero_mass, round(target.q0, 3)
    ((0.0, 2.0, 3.0), 0.98, 0.13)
    """

    eigenvalues: tuple[float, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("eigenvalues", "weights"):
            object.__setattr__(self, name, _numbers(name, getattr(self, name)))
        if len(self.eigenvalues) != len(self.weights) or not self.eigenvalues:
            rule = f"must be as many as the eigenvalues, {len(self.eigenvalues)}, and at least one"
            raise InvalidParameter("weights", self.weights, rule, "give one for each")
        if not all(abs(value) < math.inf for value in self.eigenvalues) or not any(self.eigenvalues):
            rule = "must be finite, and not all zero"
            raise InvalidParameter("eigenvalues", self.eigenvalues, rule, "a target needs a signal")
        total = math.fsum(self.weights)
        if not all(weight > 0 for weight in self.weights) or not abs(total - 1) <= _SUM:
            rule = f"must be positive and sum to one, not {total!r}"
            raise InvalidParameter("weights", self.weights, rule, "divide them by their sum")
        merged: dict[float, list[float]] = {}
        for value, weight in zip(self.eigenvalues, self.weights, strict=True):
            merged.setdefault(value, []).append(weight)
        distinct = sorted(merged)
        object.__setattr__(self, "eigenvalues", tuple(distinct))
        object.__setattr__(self, "weights", tuple(math.fsum(merged[value]) / total for value in distinct))

    @cached_property
    def arrays(self) -> tuple[Array, Array]:
        """Eigenvalues and weights, each of shape (N,)."""
        return np.array(self.eigenvalues), np.array(self.weights)

    @cached_property
    def sums_over_others(self) -> Array:
        """What a residue needs of all other eigenvalues, shape (3, N): numeric.laws.residues fills it in as it is needed."""
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
        """Share of zero eigenvalues."""
        return self.weights[self.eigenvalues.index(0)] if 0 in self.eigenvalues else 0.0

    @cached_property
    def _mirror(self) -> "Eigenvalues":
        found = Eigenvalues(tuple(-value for value in self.eigenvalues), self.weights)
        return self if (found.eigenvalues, found.weights) == (self.eigenvalues, self.weights) else found

    def mirrored(self) -> "Eigenvalues":
        """Law of minus the target, the target itself where they are the same."""
        return self._mirror

    def scaled(self, factor: float) -> Self:
        """Law of `factor` times the target."""
        return type(self)(tuple(factor * value for value in self.eigenvalues), self.weights)

    def with_largest(self, values: Array) -> "Eigenvalues":
        """The same list with its largest eigenvalues, as many as `values`, ascending, replaced by these."""
        kept = len(self.eigenvalues) - len(values)
        return Eigenvalues((*self.eigenvalues[:kept], *map(float, values)), self.weights)

    @lru_cache(maxsize=8)  # noqa: B019 - as of `exact`; a solution asks four times at its v
    def bulks(self, v: float) -> tuple[Bulk, ...]:
        """Intervals of the support, ascending, each with the eigenvalues of the target that it holds.

        Raises:
            OutsideDomain: v is beyond double precision.
        """
        rows = subordination.bulks(float(v), *self.arrays)
        finite_edge(v, float(rows[:, :2].sum()))
        return tuple(Bulk(float(low), float(high), int(first), int(last)) for low, high, first, last in rows)

    def support(self, v: float) -> list[tuple[float, float]]:
        """Intervals on which mu_v has a density, from the lowest to the highest."""
        return [(bulk.low, bulk.high) for bulk in self.bulks(v)]

    def upper_edge(self, v: float) -> float:
        """Upper end of the support."""
        return finite_edge(v, float(subordination.upper_edge(float(v), *self.arrays)))

    def noise_bulk(self, v: float) -> Bulk:
        """The interval that holds the eigenvalue closest to 0: what it holds is not told from noise."""
        closest = int(np.argmin(np.abs(self.arrays[0])))
        return next(bulk for bulk in self.bulks(v) if bulk.first <= closest <= bulk.last)

    def single_intervals(self, v: float) -> Array:
        """Intervals that an eigenvalue of weight up to LIGHT, not 0, fills alone: rows (low, high, weight), ascending."""
        return np.array([(bulk.low, bulk.high, self.weights[bulk.first]) for bulk in self._light(v)]).reshape(-1, 3)

    def _light(self, v: float) -> list[Bulk]:
        alone = (bulk for bulk in self.bulks(v) if bulk.first == bulk.last)
        return [bulk for bulk in alone if self.weights[bulk.first] <= LIGHT and self.eigenvalues[bulk.first] != 0]

    def outliers(self, v: float) -> list[Outlier]:
        """Eigenvalues of weight up to LIGHT, not 0, that fill an interval of the support alone, ascending.

        That they do implies v sum_j w_j/(s - s_j)^2 < 1 over the others, the condition at vanishing weight.
        """
        found = []
        for bulk in self._light(v):
            value = self.eigenvalues[bulk.first]
            position, overlap = generated.outlier(value, v, *self._others(bulk.first))
            weight = self.weights[bulk.first]
            found.append(Outlier(value, float(position), float(overlap), weight, bulk.low, bulk.high))
        return found

    def _others(self, index: int) -> tuple[float, float]:
        """Stieltjes transform of the other eigenvalues at this one, and minus its derivative."""
        s, w = (np.delete(array, index) for array in self.arrays)
        share = 1.0 / (self.eigenvalues[index] - s)
        return float(w @ share), float(w @ share**2)

    def top_energy(self, share: float) -> float:
        """Part of q0 that the largest `share` of the eigenvalues has, eigenvalue^2."""
        s, w = (array[::-1] for array in self.arrays)
        taken = np.minimum(w, np.maximum(share - (np.cumsum(w) - w), 0.0))
        return float(taken @ s**2)

    def features(self, v: float) -> float:
        """Weight of the eigenvalues that have left the bulk of the noise at its upper end."""
        return float(self.arrays[1][self.noise_bulk(v).last + 1 :].sum())

    def hidden_overlap(self, v: float, b: float, cut: float) -> float:
        """Integral over the bulk of the noise, x > cut, of (x - b) times the mean of the eigenvalues that it holds, eigenvalue^2."""
        bulk, (s, w) = self.noise_bulk(v), self.arrays
        held = slice(bulk.first, bulk.last + 1)
        _, moments = self.feature_parts(v, b, max(cut, bulk.low), bulk.high)
        return float(moments[held] @ (w * s)[held])

    def feature_parts(self, v: float, b: float, low: float, high: float) -> tuple[Array, Array]:
        """What eigenvectors of Y at low < x < high have of each eigenvector of the target, shapes (N,).

        First the sum of the squared overlaps, then that of x - b times these (eigenvalue): of S = c (Y - b)_+ the shares of a target
        eigenvector in eigenvectors of S, and 1/c times its v^T S v.
        """
        s, _ = self.arrays
        shares, moments = np.zeros_like(s), np.zeros_like(s)
        for bulk in self.bulks(v):
            first, last = max(low, bulk.low), min(high, bulk.high)
            if first < last:
                x, weights = edge_grid(first, last, _POINTS)
                g = subordination.transforms(x, float(v), *self.arrays)
                self._require_found(v, g)
                parts = generated.feature_density(generated.subordinate(x, g, v), s[:, None]) * weights
                shares, moments = shares + parts.sum(axis=1), moments + parts @ (x - b)
        return shares, moments

    def density(self, v: float, x: Array) -> Array:
        """Density of mu_v (1/eigenvalue) at positions x, shape of `x`.

        Raises:
            OutsideDomain: v is beyond double precision.
        """
        positions = np.asarray(x, dtype=float)
        g = subordination.transforms(positions.ravel(), float(v), *self.arrays)
        self._require_found(v, g)
        return np.asarray(generated.density(g)).reshape(positions.shape)

    def mass_above(self, v: float, x: float) -> float:
        """Mass of mu_v above x, to double precision of the whole mass."""
        return self._in_double(v, x)[0].mass

    def energy(self, v: float, b: float, width: float) -> Energy:
        """J(v, b) with derivatives, of at most the share `width` of eigenvalues; zero beyond the upper edge."""
        return limited_energy(self, v, b, width)

    def values(self, v: float, x: float) -> Values:
        """Spectral function and derivatives at x in float64, or in ball arithmetic where they cancel.

        Raises:
            Unresolved: x is too close to an edge of the support for it.
        """
        values, worst = self._summed(v, x)
        if worst <= self._allowed:
            return values
        if len(self.weights) > MOST_IN_BALLS:
            raise Unresolved(f"sums over {len(self.weights)} eigenvalues cancel to {worst:.0e} at v = {v:g}, x = {x:g}")
        return self.exact_values(v, x)

    def accuracy(self, v: float, x: float) -> float:
        """Largest relative error of `values` there."""
        _, worst = self._summed(v, x)
        return worst if worst <= self._allowed else EXACT

    @property
    def _allowed(self) -> float:
        """Relative error up to which sums are used."""
        return SUMMED if len(self.weights) <= MOST_IN_BALLS else COARSE

    def _summed(self, v: float, x: float) -> tuple[Values, float]:
        """Sums over eigenvalues in float64, the better of two where one is not good, and their largest relative error."""
        values, errors = self._in_double(v, x)
        worst = _worst(values, errors, v, x)
        affordable = len(self.weights) - np.searchsorted(self.arrays[0], x) < SUMMED_APART
        if worst > (SUMMED if affordable else self._allowed):
            apart, less = (
                Values(*map(float, row))
                for row in residues.from_gap(float(v), float(x), *self.arrays, self.sums_over_others, *_rule())
            )
            if _worst(apart, less, v, x) < worst:
                values, worst = apart, _worst(apart, less, v, x)
        return values, worst

    def strength_slopes(self, v: float, b: float, quantile: float | None, strengths: Array) -> Array:
        """Slopes dJ/ds of `energy`, per unit weight, by each of the `strengths`, eigenvalues of the list; shape of `strengths`."""
        top = b if quantile is None else quantile
        if top >= self.upper_edge(v):
            return np.zeros(len(strengths))
        found, _ = subordination.spectral(float(v), float(top), *self.arrays, *_rule(), strengths)
        self._require_found(v, found)
        J_s, J_bs = np.asarray(generated.finite_value(found[5:])).reshape(-1, 2).T
        # At fixed mass above the quantile: what enters through J_v or the mass itself is of J alone.
        slopes, _, _ = generated.rank_limited(J_s, 0.0, J_bs, 0.0, top, b, 0.0)
        return np.asarray(slopes)

    def exact_values(self, v: float, x: float) -> Values:
        """The same in ball arithmetic.

        Raises:
            Unresolved: x is too close to an edge of the support for it.
        """
        return exact_values(self.exact(), float(v), float(x))

    def denoising_error(self, v: float, b: float, energy: Energy) -> Bounded:
        """||S/c - S0||^2/d where the threshold b leaves `energy`: from what lies below b if that rounds less, where no rank limits.

        What lies below misses no part of q0, which a small error would not be seen beside.
        """
        above = denoising_error_of(energy, self.q0, v, b)
        if energy.quantile is not None or energy.J == 0:
            return above
        (J, J_v, J_b, _, _), errors = self._below(v, b)
        value = float(generated.denoising_error_below(J, J_v, J_b, v, b))
        sizes = zip((*errors[:3], 4 * _EPS), (1.0, 2 * v, abs(b), v + b**2), strict=True)
        return min(above, Bounded(value, sum(error * size for error, size in sizes)), key=lambda error: error.rounding)

    @lru_cache(maxsize=8)  # noqa: B019 - targets are few and small
    def exact(self) -> FiniteLaw:
        """The same list with its binary values taken as exact."""
        return FiniteLaw(
            lambda: [arb(value) for value in self.eigenvalues],
            [Fraction(weight) for weight in self.weights],
            Fraction(self.zero_mass),
        )

    def _require_found(self, v: float, found: NDArray[np.complex128]) -> None:
        if not np.all(np.isfinite(found)):
            raise OutsideDomain(f"no physical root found at v = {v:g}: parameters beyond double precision")

    def _in_double(self, v: float, x: float) -> tuple[Values, Values]:
        """Values in float64 and estimates of their rounding errors, each from the side of x where it is known better."""
        s, w = self.arrays
        above, errors = self._integrated(v, x, s, w)
        below, less = self._below(v, x)
        t0, q0 = self.t0, self.q0
        J, J_v, J_b, J_bv, mass = below
        rest = generated.complement(J, J_v, J_b, J_bv, mass, v, x, t0, q0)
        # What all of the law has is rounded too: four terms, of which the moments are sums of as many as there are eigenvalues.
        unit = (4 + math.sqrt(len(s))) * _EPS
        off = [error + unit * size for error, size in zip(less, whole_law(v, x, t0, q0), strict=True)]
        pairs = zip(zip(errors, above, strict=True), zip(off, map(float, rest), strict=True), strict=True)
        chosen = [min(pair) for pair in pairs]
        return Values(*(value for _, value in chosen)), Values(*(error for error, _ in chosen))

    def _below(self, v: float, x: float) -> tuple[list[float], list[float]]:
        """The same of the mirrored law at -x, which hold what lies below x."""
        s, w = self.arrays
        return self._integrated(v, -x, -s[::-1], w[::-1].copy())  # one layout of arrays is compiled once

    def _integrated(self, v: float, x: float, s: Array, w: Array) -> tuple[list[float], list[float]]:
        """J, J_v, J_b, J_bv and mass of eigenvalues s ascending, and estimates of their rounding errors."""
        ends, errors = subordination.spectral(float(v), float(x), s, w, *_rule())
        self._require_found(v, ends)
        return [float(generated.finite_value(end)) for end in ends], [float(error) for error in errors]


def _worst(values: Values, errors: Values, v: float, x: float) -> float:
    """Largest relative error; not a number where an error is none."""
    # Between bulks J_bv vanishes: it is judged beside J_v, to which the rank limit adds it times an eigenvalue.
    sizes = values._replace(J_bv=max(abs(values.J_bv), values.J_v / (abs(x) + math.sqrt(v))))
    return largest_error(errors, sizes)


@lru_cache(maxsize=1)
def _rule() -> tuple[Array, Array]:
    nodes, weights = leggauss(subordination.NODES)
    return nodes, weights


def _numbers(name: str, values: object) -> tuple[float, ...]:
    """Those of a list or an array, of any kind."""
    require_list(name, values)
    return tuple(real(name, value) for value in cast(Iterable[object], values))


def finite_rank(values: Sequence[float], dim: int) -> Eigenvalues:
    """The eigenvalues `values`, weight 1/dim each, and zero for the rest of the `dim`.

    Raises:
        InvalidParameter: more values than dimensions, or as `Eigenvalues`.
    """
    known, dim = _numbers("values", values), count("dim", dim)
    if len(known) > dim:
        raise InvalidParameter("values", values, f"{len(known)} eigenvalues do not fit into dim = {dim}", "raise dim")
    return Eigenvalues((*known, *[0.0] * (dim - len(known))), (1 / dim,) * dim)


def singular_values(values: Sequence[float], weights: Sequence[float]) -> Eigenvalues:
    """The law that stands for a general matrix: each of its singular `values` with either sign, half of its weight at each.

    Raises:
        InvalidParameter: as `Eigenvalues`.
    """
    return Eigenvalues(*with_either_sign(_numbers("values", values), _numbers("weights", weights)))


def with_either_sign(values: Sequence[float], weights: Sequence[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Each of the values with either sign, half of its weight at each."""
    return (*(-value for value in values), *values), tuple(weight / 2 for weight in (*weights, *weights))
