"""What every law of the target's eigenvalues offers: moments, and the law with a semicircle of variance v added (mu_v).

Theory note, section 4. A target is a frozen, hashable value; eigenvalues carry the unit of S0.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from numeric.maths.domain import OutsideDomain
from numeric.model import float64 as generated
from numeric.proven_laws.law import Law

Array = NDArray[np.float64]
# Where the bound on the rounding error of float64 exceeds this share of a value, ball arithmetic takes over: the channel average
# beside it is not better than 1e-8.
TRUSTED = 1e-9
ROUNDING = 1e-12  # relative, of q0 and its parts, sums of thousands of terms
_GAP_STEPS = 1000  # of a root whose function is flat: 103 were seen


class Energy(NamedTuple):
    """Spectral function and derivatives above the threshold, of the largest kappa d eigenvalues only if that is fewer.

    J (eigenvalue^2), J_v, J_b (eigenvalue), `mass` of the eigenvalues that count, and the `quantile` (eigenvalue) at which the
    rank limit cuts, None where it does not.
    """

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


def largest_error(errors: Iterable[float], sizes: Iterable[float]) -> float:
    """Largest relative error; infinite, or not a number, where an error is."""
    return max(
        error / abs(size) if size else math.inf if error else 0.0 for error, size in zip(errors, sizes, strict=True)
    )


def whole_law(v: float, x: float, t0: float, q0: float) -> Values:
    """Sizes of what all of the law has, from which `complement` takes what lies below x: as much is rounded."""
    return Values(q0 + v + 2 * abs(x * t0) + x**2, 1.0, 2 * (abs(x) + abs(t0)), 0.0, 1.0)


class Bounded(NamedTuple):
    """A small difference of large terms (eigenvalue^2), and a bound on the rounding of the terms it is made of."""

    value: float
    rounding: float


class Outlier(NamedTuple):
    """An eigenvalue `target` of S0, of small `weight`, that stands apart from the others in the noisy law.

    `position` (eigenvalue of Y) and squared `overlap` of the eigenvectors are those of vanishing weight; at a finite weight the
    eigenvalue is an interval of the support, from `low` to `high`.
    """

    target: float
    position: float
    overlap: float
    weight: float
    low: float
    high: float


class Target(Protocol):
    """Law of the eigenvalues of S0: mean `t0`, second moment `q0`, share `zero_mass` of zero eigenvalues."""

    @property
    def t0(self) -> float:
        """Mean eigenvalue."""

    @property
    def q0(self) -> float:
        """Second moment, eigenvalue^2."""

    @property
    def zero_mass(self) -> float:
        """Share of zero eigenvalues."""

    def scaled(self, factor: float) -> Self:
        """Law of `factor` times the target."""

    def exact(self) -> Law:
        """The same law in ball arithmetic."""

    def support(self, v: float) -> list[tuple[float, float]]:
        """Intervals on which mu_v has a density, from the lowest to the highest."""

    def upper_edge(self, v: float) -> float:
        """Upper end of the support.

        Raises:
            OutsideDomain: v is beyond double precision.
        """

    def single_intervals(self, v: float) -> Array:
        """Intervals of the support that one eigenvalue of small weight fills alone: rows (low, high, weight), ascending."""

    def outliers(self, v: float) -> list[Outlier]:
        """Isolated eigenvalues of small weight, ascending; the intervals of the support that they fill are among `support`."""

    def top_energy(self, share: float) -> float:
        """Part of q0 that the largest `share` of the eigenvalues has, eigenvalue^2."""

    def features(self, v: float) -> float:
        """Share of the eigenvalues of Y that stand for features of the target, as opposed to noise (see numeric.studies.decompose)."""

    def hidden_overlap(self, v: float, b: float, cut: float) -> float:
        """Integral over the noisy eigenvalues x > cut of Y of (x - b) times the mean of the features among them, eigenvalue^2."""

    def density(self, v: float, x: Array) -> Array:
        """Density of mu_v (1/eigenvalue) at positions x, shape of `x`."""

    def mass_above(self, v: float, x: float) -> float:
        """Mass of mu_v above x, to double precision of the whole mass."""

    def energy(self, v: float, b: float, width: float) -> Energy:
        """J(v, b) with derivatives, of at most the share `width` of eigenvalues."""

    def values(self, v: float, x: float) -> Values:
        """Spectral function and derivatives at b = x without a rank limit."""

    def accuracy(self, v: float, x: float) -> float:
        """Largest relative error of `values` there, an estimate."""

    def denoising_error(self, v: float, b: float, energy: Energy) -> Bounded:
        """||S/c - S0||^2/d where the threshold b leaves `energy`."""


def finite_edge(v: float, edge: float) -> float:
    """The edge itself.

    Raises:
        OutsideDomain: it is no number, as v is beyond double precision.
    """
    if not np.isfinite(edge):
        raise OutsideDomain(f"no edge of the support found at v = {v:g}: parameters beyond double precision")
    return edge


def limited_energy(target: Target, v: float, b: float, width: float) -> Energy:
    """`Target.energy` from `Target.values`: zero beyond the upper edge, cut at the quantile where the rank limit acts."""
    top = target.upper_edge(v)
    if b >= top:
        return Energy(0.0, 0.0, 0.0, 0.0, None)
    here = target.values(v, b)
    if width >= 1 or here.mass <= width:  # rounding may leave a mass above one
        return Energy(here.J, here.J_v, here.J_b, here.mass, None)
    Q = quantile(target, v, width, b, top)
    return energy_above(target, v, b, Q)._replace(mass=width)


def denoising_error_of(energy: Energy, q0: float, v: float, b: float) -> Bounded:
    """Bounded from all of q0, to the rounding of that."""
    value = generated.denoising_error(q0, energy.J, energy.J_v, energy.J_b, v, b)
    return Bounded(float(value), ROUNDING * (q0 + energy.J + abs(b * energy.J_b) + 2 * v * energy.J_v))


def energy_above(target: Target, v: float, b: float, cut: float) -> Energy:
    """J(v, b) with derivatives, of the eigenvalues of mu_v above `cut` >= b only."""
    above = target.values(v, cut)
    J, J_v, J_b = generated.rank_limited(above.J, above.J_v, above.J_b, above.J_bv, cut, b, above.mass)
    return Energy(float(J), float(J_v), float(J_b), above.mass, cut)


def quantile(target: Target, v: float, mass: float, low: float, top: float) -> float:
    """Eigenvalue of mu_v in [low, top] above which the law has this mass; `top` is its upper edge."""

    def excess(x: float) -> float:
        return (target.mass_above(v, x) if x < top else 0.0) - mass  # at the edge itself two branches meet

    # In a gap above which the law has this very mass the excess is rounding, and steps are halved more often than elsewhere.
    return float(scipy.optimize.brentq(excess, low, top, xtol=1e-14, rtol=1e-14, maxiter=_GAP_STEPS))


def filled_intervals(edges: Array, filled: Sequence[bool]) -> list[tuple[float, float]]:
    """Intervals between ascending edges that are filled, neighbours joined."""
    intervals: list[tuple[float, float]] = []
    for low, high, inside in zip(edges[:-1], edges[1:], filled, strict=True):
        if inside and intervals and intervals[-1][1] == low:
            intervals[-1] = (intervals[-1][0], float(high))
        elif inside:
            intervals.append((float(low), float(high)))
    return intervals


def edge_grid(low: float, high: float, points: int) -> tuple[Array, Array]:
    """Grid on [low, high] with weights of a Chebyshev rule: dense at the edges, where densities have square roots."""
    angles = (np.arange(points) + 0.5) * np.pi / points
    x = (low + high) / 2 - (high - low) / 2 * np.cos(angles)
    return x, (high - low) / 2 * np.sin(angles) * np.pi / points
