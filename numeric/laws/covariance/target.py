"""Interface of targets of tokens with a covariance C.

Tokens x = C^{1/2} g are isotropic tokens g for the whitened matrices C^{1/2} S C^{1/2} and
C^{1/2} S0 C^{1/2}. Only the penalty tr S sees C: it becomes the trace of C^{-1} times the whitened
S. The denoising problem therefore removes b C^{-1} from the whitened target, in place of b (theory
note, section 13; step `token_covariance`). Overlaps and errors of a solution refer to the whitened
matrices, which the loss sees.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

import numpy as np
import scipy

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.law import Array, Energy, Target, Values
from numeric.maths.domain import exact_or_float, prints_another_number, require
from numeric.proven_laws.law import Law
from numeric.proven_laws.subordinated import NullSpace

SUM = Fraction(1, 10**9)  #: tolerance of a sum of weights, which are then normalised
ROOT = 1e-14  # relative tolerance of the threshold beyond which nothing is learned


class ThresholdedTarget(Target):
    """Target whose noisy law depends on the threshold, see `at_threshold`."""

    @abstractmethod
    def refuse(self, what: str) -> NoReturn:
        """Raise InvalidParameter for what is not derived.

        Args:
            what: description of it.
        """

    def threshold_edge(self, v: float, low: float, high: float) -> float:
        """Return the threshold b beyond which no eigenvalue of the noisy law is positive.

        Args:
            v: variance of the semicircle, eigenvalue^2.
            low: least value, which is returned if nothing is positive there.
            high: largest value, which is raised if it is too low.

        Raises:
            OutsideDomain: v is beyond double precision.
        """

        def edge(b: float) -> float:
            law, threshold = self.at_threshold(b)
            return law.upper_edge(v) - threshold

        if edge(low) <= 0 or low == high:
            return low
        while edge(high) > 0:
            high *= 2
        return float(scipy.optimize.brentq(edge, low, high, xtol=1e-300, rtol=ROOT))

    def support(self, v: float) -> list[tuple[float, float]]:
        """Raise InvalidParameter: the law depends on the threshold, see `at_threshold`."""
        self.refuse("what depends on one noisy law alone")

    def density(self, v: float, x: Array) -> Array:
        """Raise InvalidParameter: the law depends on the threshold, see `at_threshold`."""
        self.refuse("what depends on one noisy law alone")

    def values(self, v: float, x: float) -> Values:
        """Raise InvalidParameter: the law depends on the threshold, see `at_threshold`."""
        self.refuse("what depends on one noisy law alone")

    def exact_values(self, v: float, x: float) -> Values:
        """Raise InvalidParameter: the law depends on the threshold, see `at_threshold`."""
        self.refuse("what depends on one noisy law alone")

    def _float_values(self, v: float, x: float) -> tuple[Values, float]:
        self.refuse("what depends on one noisy law alone")

    def top_energy(self, share: float) -> float:
        """Raise InvalidParameter: the decomposition of errors is not derived."""
        self.refuse("the decomposition of errors")

    def features(self, v: float) -> float:
        """Raise InvalidParameter: the decomposition of errors is not derived."""
        self.refuse("the decomposition of errors")


class Entries(NamedTuple):
    """Entries of the whitened target in the eigenvectors of C, grouped by their row and column.

    Attributes:
        products: c_i c_j, of the eigenvalues of C, shape (N,).
        shares: fraction of all entries, shape (N,); 0 for a diagonal.
        squares: sum of their squares over d, eigenvalue^2, shape (N,); together q0.
    """

    products: Array
    shares: Array
    squares: Array


def diagonal_entries(c: Array, weights: Array, square: float, diagonal: Array) -> Entries:
    """Return the entries of a matrix that is isotropic up to its diagonal.

    Args:
        c: eigenvalues of C, shape (K,).
        weights: one for each, with sum one, shape (K,).
        square: sum of the squares of the other entries over d, before whitening, eigenvalue^2.
        diagonal: sum of squares of diagonal entries over d for each of c, eigenvalue^2, shape (K,).
    """
    products, shares = np.outer(c, c).ravel(), np.outer(weights, weights).ravel()
    return Entries(
        np.concatenate([products, c**2]),
        np.concatenate([shares, np.zeros(len(c))]),
        np.concatenate([square * products * shares, diagonal]),
    )


class CovarianceTarget(ThresholdedTarget):
    """Target S0 and covariance C of the tokens, scaled to tr C = d."""

    @property
    @abstractmethod
    def covariance_range(self) -> tuple[float, float]:
        """Least and largest eigenvalue of C."""

    @property
    @abstractmethod
    def whitened(self) -> Target:
        """Law of the whitened target C^{1/2} S0 C^{1/2}."""

    @property
    def t0(self) -> float:
        """Mean eigenvalue of the whitened target."""
        return self.whitened.t0

    @property
    def q0(self) -> float:
        """Second moment of the whitened target, eigenvalue^2."""
        return self.whitened.q0

    @property
    def zero_mass(self) -> float:
        """Fraction of zero eigenvalues."""
        return self.whitened.zero_mass

    def upper_edge(self, v: float) -> float:
        """Return the threshold b beyond which no eigenvalue of the noisy law is positive.

        Raises:
            OutsideDomain: v is beyond double precision.
        """
        # Largest possible values: all directions have the least, and the largest, c.
        whole, (least, most) = self.whitened.upper_edge(v), self.covariance_range
        return self.threshold_edge(v, least * whole, most * whole)

    @property
    @abstractmethod
    def square(self) -> float:
        """Mean square of the eigenvalues of C, tr C^2/d."""

    @property
    @abstractmethod
    def norm_overlap(self) -> float:
        """Overlap of the whitened target with C, tr(C S0)/tr(C^2), eigenvalue."""

    @property
    @abstractmethod
    def entries(self) -> Entries:
        """Entries of the whitened target, each of which a quadratic penalty shrinks."""

    @abstractmethod
    def energy(self, v: float, b: float, width: float, shift: float = 0.0) -> Energy:
        """Return J and its derivatives, that in the shift included, with a rank limit.

        Args:
            v: variance of the semicircle, eigenvalue^2.
            b: coefficient of C^{-1}, eigenvalue.
            width: largest fraction of eigenvalues that counts.
            shift: coefficient of C that is added, eigenvalue.
        """

    @abstractmethod
    def exact(self) -> Law:
        """Return the law of the whitened target in ball arithmetic.

        It is the law without a penalty, which decides about interpolation.
        """

    @abstractmethod
    def null_space(self) -> NullSpace:
        """Return the inverse covariance on the null space of the whitened target, on which perfect
        recovery depends.
        """

    def refuse(self, what: str) -> NoReturn:
        """Raise InvalidParameter for what is not derived for tokens with a covariance.

        Args:
            what: description of it.
        """
        rule = f"has a covariance of tokens, for which {what} is not derived"
        raise InvalidParameter("target", self, rule, "use isotropic tokens")


class MovedEigenvalues(NamedTuple):
    """Eigenvalues of a law with a covariance, shape (N,) each.

    Attributes:
        values: the eigenvalues.
        inverse: diagonal elements of C^{-1} in their eigenvectors.
        own: diagonal elements of C in their eigenvectors.
        weights: weights.
    """

    values: Array
    inverse: Array
    own: Array
    weights: Array


class ListedCovariance(CovarianceTarget):
    """Target and covariance in finitely many directions."""

    @abstractmethod
    def moved(self, b: float, shift: float) -> "MovedEigenvalues":
        """Return the eigenvalues of the whitened target plus b (1 - C^{-1}) + shift C.

        Args:
            b: coefficient of C^{-1}, eigenvalue; C = 1 has no effect.
            shift: coefficient of C, eigenvalue.
        """

    @lru_cache(maxsize=8)  # noqa: B019 - targets are few, and a solution needs its law four times
    def _law(self, b: float, shift: float) -> tuple[Eigenvalues, float, Array, Array]:
        """Return the law and its threshold, with C^{-1} and C times weight on its distinct
        eigenvalues.
        """
        values, inverse, own, weights = self.moved(b, shift)
        if not np.any(values):  # a shift may cancel S0, and a list needs an eigenvalue
            values, b = values + 1.0, b + 1.0
        law = Eigenvalues(tuple(values.tolist()), tuple(weights.tolist()))
        places, count = np.searchsorted(law.arrays[0], values), len(law.weights)
        of_inverse, of_own = (
            np.bincount(places, weights * one, count).astype(float) for one in (inverse, own)
        )
        return law, b, of_inverse, of_own

    @property
    def whitened(self) -> Eigenvalues:
        """Law of the whitened target C^{1/2} S0 C^{1/2}."""
        return self._law(0.0, 0.0)[0]

    def at_threshold(self, b: float, shift: float = 0.0) -> tuple[Eigenvalues, float]:
        """Return the law of the whitened target plus b (1 - C^{-1}) + shift C, whose threshold is
        b.
        """
        law, threshold, _, _ = self._law(float(b), float(shift))
        return law, threshold

    def energy(self, v: float, b: float, width: float, shift: float = 0.0) -> Energy:
        """Return J and its derivatives, with a rank limit; see `CovarianceTarget.energy`."""
        law, b, inverse, own = self._law(float(b), float(shift))
        found = law.energy(v, b, width)
        if found.J == 0:
            return found._replace(J_shift=0.0)
        slopes = law.strength_slopes(v, b, found.quantile, law.arrays[0])
        return found._replace(J_b=-float(inverse @ slopes), J_shift=float(own @ slopes))


def numbers(name: str, given: Any) -> tuple[Fraction, ...]:
    """Return a list of numbers as exact fractions; a float is its binary value.

    Args:
        name: name of the argument.
        given: its value.

    Raises:
        InvalidParameter: it is not a list of finite numbers.
    """
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str):
        raise InvalidParameter(name, repr(given), "must be a list of numbers", "give [...]")
    return tuple(Fraction(exact_or_float(name, number)) for number in given)


def a_float(given: Any) -> float | None:
    """Return a float of a list that differs from the decimal number that it prints as, if any."""
    listed = given if isinstance(given, Sequence | np.ndarray) else ()
    return next((float(value) for value in listed if prints_another_number(value)), None)


def normalised(
    covariance: Sequence[Fraction], weights: Sequence[Fraction]
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Return the eigenvalues of a covariance with mean 1, and their weights with sum 1.

    Args:
        covariance: eigenvalues of C.
        weights: one for each; all are equal if there are none.

    Raises:
        InvalidParameter: an eigenvalue or a weight is not positive, their numbers differ, or the
            weights do not sum to one.
    """
    require_covariance(covariance)
    count = len(covariance)
    require(count > 0, "covariance", "", "must not be empty", "give its eigenvalues")
    weights = weights or (Fraction(1, count),) * count
    if len(weights) != count:
        rule = f"must be as many as the eigenvalues of C, {count}"
        raise InvalidParameter("weights", len(weights), rule, "give one for each")
    for weight in weights:
        require(weight > 0, "weights", float(weight), "must be positive", "leave the direction out")
    total = sum(weights, Fraction(0))
    rule = f"must sum to one, not {float(total)!r}"
    require(abs(total - 1) <= SUM, "weights", f"{count} numbers", rule, "divide them by their sum")
    shares = tuple(weight / total for weight in weights)
    mean = sum((c * w for c, w in zip(covariance, shares, strict=True)), Fraction(0))
    return tuple(c / mean for c in covariance), shares


def require_covariance(values: Iterable[float | Fraction]) -> None:
    """Check the eigenvalues of a covariance.

    Raises:
        InvalidParameter: one is not positive.
    """
    for value in values:
        rule = "must be positive: the penalty divides by them"
        require(value > 0, "covariance", float(value), rule, "leave the direction out")


def inverse_square(covariance: Sequence[Fraction], weights: Sequence[Fraction]) -> Fraction:
    """Return the mean square of the eigenvalues of C^{-1}.

    Args:
        covariance: eigenvalues of C.
        weights: one for each.
    """
    return sum((w / c**2 for c, w in zip(covariance, weights, strict=True)), Fraction(0))
