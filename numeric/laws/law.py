"""Interface of the laws of the target's eigenvalues: moments, and the noisy law mu_v.

The noisy law mu_v is the law of the target with a semicircle of variance v added (theory note,
section 4). Y is a matrix with this law. A target is a frozen, hashable value. Eigenvalues have the
unit of S0.
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
# Relative bound on the rounding error of float64 above which ball arithmetic is used. The channel
# average is not more accurate than 1e-8.
TRUSTED = 1e-9
ROUNDING = 1e-12  # relative rounding error of q0 and its parts, sums of thousands of terms
ACCURATE_BITS = 40  # accurate bits of a value in ball arithmetic
EXACT = 2.0**-ACCURATE_BITS  #: its relative error
_GAP_STEPS = 1000  # limit for a root of a flat function; the largest observed number is 103


class Energy(NamedTuple):
    """Spectral function and derivatives above the threshold, with the rank limit.

    If the rank limit acts, only the largest kappa d eigenvalues count.

    Attributes:
        J: spectral function, eigenvalue^2.
        J_v: derivative in v.
        J_b: derivative in b, eigenvalue.
        mass: mass of the eigenvalues that count.
        quantile: eigenvalue at which the rank limit cuts the law; None if it does not act.
        J_shift: derivative in the coefficient of the covariance, eigenvalue; only for lifted laws.
    """

    J: float
    J_v: float
    J_b: float
    mass: float
    quantile: float | None
    J_shift: float = math.nan


class Values(NamedTuple):
    """Spectral function and derivatives at one position x, and the mass above x, without a rank
    limit.
    """

    J: float
    J_v: float
    J_b: float
    J_bv: float
    mass: float


def largest_error(errors: Iterable[float], sizes: Iterable[float]) -> float:
    """Return the largest relative error.

    Args:
        errors: absolute errors.
        sizes: values, one for each error.

    Returns:
        The largest ratio; infinite or NaN if an error is infinite or NaN, or if a value is 0 and
        its error is not.
    """
    return max(
        error / abs(size) if size else math.inf if error else 0.0
        for error, size in zip(errors, sizes, strict=True)
    )


def whole_law(v: float, x: float, t0: float, q0: float) -> Values:
    """Return the sizes of the integrals over the whole law.

    `complement` subtracts the part below x from them; their rounding errors are proportional to
    these sizes.

    Args:
        v: variance of the semicircle, eigenvalue^2.
        x: position, eigenvalue.
        t0: mean eigenvalue.
        q0: second moment, eigenvalue^2.
    """
    return Values(q0 + v + 2 * abs(x * t0) + x**2, 1.0, 2 * (abs(x) + abs(t0)), 0.0, 1.0)


class BoundedDifference(NamedTuple):
    """Small difference of large terms (eigenvalue^2), with a bound on the rounding error of these
    terms.
    """

    value: float
    rounding: float


class Outlier(NamedTuple):
    """Isolated eigenvalue of the noisy law, which belongs to an eigenvalue of S0 of small weight.

    Attributes:
        target: eigenvalue of S0.
        position: eigenvalue of Y in the limit of vanishing weight.
        overlap: squared overlap of the two eigenvectors in the limit of vanishing weight.
        weight: weight of the eigenvalue of S0.
        low: lower end of the interval of the support that the eigenvalue fills at its finite
            weight.
        high: upper end of this interval.
    """

    target: float
    position: float
    overlap: float
    weight: float
    low: float
    high: float


class Target(Protocol):
    """Law of the eigenvalues of S0, with default methods for laws without single eigenvalues."""

    @property
    def t0(self) -> float:
        """Mean eigenvalue."""

    @property
    def q0(self) -> float:
        """Second moment, eigenvalue^2."""

    @property
    def zero_mass(self) -> float:
        """Fraction of zero eigenvalues."""

    def scaled(self, factor: float) -> Self:
        """Return the law of `factor` times the target."""

    def exact(self) -> Law:
        """Return the same law in ball arithmetic."""

    def support(self, v: float) -> list[tuple[float, float]]:
        """Return the intervals on which mu_v has a density, in ascending order.

        Raises:
            OutsideDomain: v is beyond double precision.
        """

    def upper_edge(self, v: float) -> float:
        """Return the upper end of the support.

        Raises:
            OutsideDomain: v is beyond double precision.
        """
        return self.support(v)[-1][1]

    def single_intervals(self, v: float) -> Array:
        """Return the intervals of the support that belong to one eigenvalue of small weight: rows
        (low, high, weight), ascending.
        """
        return np.empty((0, 3))

    def outliers(self, v: float) -> list[Outlier]:
        """Return the isolated eigenvalues of small weight, ascending; `support` includes their
        intervals.
        """
        return []

    def top_energy(self, share: float) -> float:
        """Return the part of q0 (eigenvalue^2) in the largest eigenvalues, whose fraction is
        `share`.
        """

    def features(self, v: float) -> float:
        """Return the fraction of eigenvalues of Y that represent features of the target and not
        noise (see numeric.studies.decompose).
        """

    def hidden_overlap(self, v: float, b: float, cut: float) -> float:
        """Return the overlap of the learned map with features that noise hides, eigenvalue^2.

        It is the integral of (x - b) times the mean of the hidden features, over the eigenvalues x
        > cut of Y. Default: 0.

        Args:
            v: variance of the semicircle, eigenvalue^2.
            b: threshold, eigenvalue.
            cut: lower limit of the integral, eigenvalue.
        """
        return 0.0

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

    def at_threshold(self, b: float, shift: float = 0.0) -> "tuple[Target, float]":
        """Return the law whose noisy eigenvalues above a threshold are learned, and the threshold.

        By default the law itself and b - shift. With a covariance of tokens the law depends on b
        and on the shift.

        Args:
            b: coefficient of the inverse covariance that is taken away, eigenvalue.
            shift: coefficient of the covariance that is added, eigenvalue.
        """
        return self, b - shift

    def mass_above(self, v: float, x: float) -> float:
        """Return the mass of mu_v above x, to double precision relative to the whole mass.

        Args:
            v: variance of the semicircle, eigenvalue^2.
            x: position, eigenvalue.
        """
        return self.values(v, x).mass

    def energy(self, v: float, b: float, width: float) -> Energy:
        """Return J(v, b) and derivatives, with a rank limit.

        The energy is zero beyond the upper edge. If the rank limit acts, the law is cut at the
        quantile.

        Args:
            v: variance of the semicircle, eigenvalue^2.
            b: threshold, eigenvalue.
            width: largest fraction of eigenvalues that counts.
        """
        top = self.upper_edge(v)
        if b >= top:
            return Energy(0.0, 0.0, 0.0, 0.0, None)
        here = self.values(v, b)
        if width >= 1 or here.mass <= width:  # due to rounding a mass may exceed one
            return Energy(here.J, here.J_v, here.J_b, here.mass, None)
        cut = quantile(self, v, width, b, top)
        return energy_above(self, v, b, cut)._replace(mass=width)

    def values(self, v: float, x: float) -> Values:
        """Return the spectral function and its derivatives at b = x, without a rank limit.

        They are computed in float64, or in ball arithmetic if float64 cancels.

        Args:
            v: variance of the semicircle, eigenvalue^2.
            x: position, eigenvalue.

        Raises:
            Unresolved: x is too close to an edge of the support for ball arithmetic.
        """
        values, error = self._float_values(v, x)
        return values if error <= self._max_error else self.exact_values(v, x)

    def accuracy(self, v: float, x: float) -> float:
        """Return an estimate of the largest relative error of `values(v, x)`.

        Args:
            v: variance of the semicircle, eigenvalue^2.
            x: position, eigenvalue.
        """
        _, error = self._float_values(v, x)
        return error if error <= self._max_error else EXACT

    def exact_values(self, v: float, x: float) -> Values:
        """Return `values(v, x)` in ball arithmetic.

        Args:
            v: variance of the semicircle, eigenvalue^2.
            x: position, eigenvalue.

        Raises:
            Unresolved: x is too close to an edge of the support.
        """

    def _float_values(self, v: float, x: float) -> tuple[Values, float]:
        """Return `values` in float64, and their largest relative error."""

    @property
    def _max_error(self) -> float:
        """Relative error up to which float64 is used."""
        return TRUSTED

    def denoising_error(self, v: float, b: float, energy: Energy) -> BoundedDifference:
        """Return ||S/c - S0||^2/d.

        Args:
            v: variance of the semicircle, eigenvalue^2.
            b: threshold, eigenvalue.
            energy: the value of `energy` at this threshold.
        """
        return denoising_error_of(energy, self.q0, v, b)


def finite_edge(v: float, edge: float) -> float:
    """Return `edge` if it is finite.

    Args:
        v: variance of the semicircle, for the error message.
        edge: an edge of the support, eigenvalue.

    Raises:
        OutsideDomain: the edge is not finite, because v is beyond double precision.
    """
    if not np.isfinite(edge):
        raise OutsideDomain(
            f"no edge of the support found at v = {v:g}: parameters beyond double precision"
        )
    return edge


def denoising_error_of(energy: Energy, q0: float, v: float, b: float) -> BoundedDifference:
    """Compute ||S/c - S0||^2/d as a difference from q0, so that its rounding error is that of q0.

    Args:
        energy: spectral function and derivatives.
        q0: second moment, eigenvalue^2.
        v: variance of the semicircle, eigenvalue^2.
        b: threshold, eigenvalue.
    """
    value = generated.denoising_error(q0, energy.J, energy.J_v, energy.J_b, v, b)
    terms = q0 + energy.J + abs(b * energy.J_b) + 2 * v * energy.J_v
    return BoundedDifference(float(value), ROUNDING * terms)


def energy_above(target: Target, v: float, b: float, cut: float) -> Energy:
    """Return J(v, b) and derivatives for the eigenvalues of mu_v above `cut` only.

    Args:
        target: law of the target.
        v: variance of the semicircle, eigenvalue^2.
        b: threshold, eigenvalue.
        cut: lower limit, eigenvalue; at least b.
    """
    above = target.values(v, cut)
    J, J_v, J_b = generated.rank_limited(
        above.J, above.J_v, above.J_b, above.J_bv, cut, b, above.mass
    )
    return Energy(float(J), float(J_v), float(J_b), above.mass, cut)


def quantile(target: Target, v: float, mass: float, low: float, top: float) -> float:
    """Return the eigenvalue above which mu_v has a given mass.

    Args:
        target: law of the target.
        v: variance of the semicircle, eigenvalue^2.
        mass: the mass.
        low: lower end of the search, eigenvalue.
        top: upper edge of mu_v.
    """

    def excess(x: float) -> float:
        return (target.mass_above(v, x) if x < top else 0.0) - mass  # two branches meet at the edge

    # If the law has exactly this mass above a gap, the excess in the gap is rounding noise, and the
    # search needs more bisections than usual.
    return float(
        scipy.optimize.brentq(excess, low, top, xtol=1e-14, rtol=1e-14, maxiter=_GAP_STEPS)
    )


def filled_intervals(edges: Array, filled: Sequence[bool]) -> list[tuple[float, float]]:
    """Return the filled intervals between ascending edges; adjacent filled intervals are joined.

    Args:
        edges: ascending edges, shape (n + 1,).
        filled: for each of the n intervals, whether it is filled.
    """
    intervals: list[tuple[float, float]] = []
    for low, high, inside in zip(edges[:-1], edges[1:], filled, strict=True):
        if inside and intervals and intervals[-1][1] == low:
            intervals[-1] = (intervals[-1][0], float(high))
        elif inside:
            intervals.append((float(low), float(high)))
    return intervals


def edge_grid(low: float, high: float, points: int) -> tuple[Array, Array]:
    """Return nodes and weights of a Chebyshev rule on [low, high].

    The nodes are dense at the ends, where densities have square roots.

    Args:
        low: lower end.
        high: upper end.
        points: number of nodes.
    """
    angles = (np.arange(points) + 0.5) * np.pi / points
    x = (low + high) / 2 - (high - low) / 2 * np.cos(angles)
    return x, (high - low) / 2 * np.sin(angles) * np.pi / points
