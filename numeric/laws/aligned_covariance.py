"""Target of tokens with a covariance that has the same eigenvectors as the target.

Tokens x = C^{1/2} g with a covariance C are isotropic tokens g for the whitened matrices
C^{1/2} S C^{1/2} and C^{1/2} S0 C^{1/2}. Only the penalty tr S sees C: it becomes the trace of
C^{-1} times the whitened S. The denoising problem therefore removes b C^{-1} from the whitened
target, in place of b (theory note, section 13, case a). Overlaps and errors of a solution refer to
the whitened matrices, which the loss sees.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NoReturn, Self

import numpy as np
import scipy

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.law import Array, Energy, Outlier, Target, Values
from numeric.maths.domain import real, require
from numeric.proven_laws.law import Law

ROOT = 1e-14  # relative tolerance of the threshold beyond which nothing is learned


@dataclass(frozen=True)
class AlignedCovariance(Target):
    """Eigenvalues of the target and of the covariance of the tokens on common eigenvectors.

    Args:
        eigenvalues: eigenvalues s_k of S0, not negative and not all zero.
        covariance: eigenvalues c_k of C, positive, one for each of S0; scaled to mean 1, so that
            tr C = d.
        weights: one for each, positive, with sum one; by default all are equal.

    Raises:
        InvalidParameter: an argument is outside its domain.

    Source: theory note, section 13.

    >>> from numeric import AlignedCovariance, Problem, solve
    >>> target = AlignedCovariance([2.0, 1.0, 0.0], covariance=[1.6, 1.0, 0.4])
    >>> solution = solve(Problem(alpha=1, target=target, lambda_=0.1, noise=0.2))
    >>> solution.status.name, round(target.q0, 3), round(solution.m, 4)
    ('CONVERGED', 3.747, 2.4714)
    """

    eigenvalues: tuple[float, ...]
    covariance: tuple[float, ...]
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        values, weights = self._numbers("eigenvalues"), self._numbers("weights")
        weights = weights or (1 / len(values),) * len(values)
        covariance = self._numbers("covariance")
        if not len(values) == len(covariance) == len(weights):
            rule = f"must be as many as the eigenvalues, {len(values)}"
            name = "weights" if len(values) == len(covariance) else "covariance"
            raise InvalidParameter(name, len(getattr(self, name)), rule, "give one for each")
        rule = "must be finite and positive: the penalty divides by them"
        for value in covariance:
            require(0 < value < math.inf, "covariance", value, rule, "leave the direction out")
        for value in values:
            rule = "must be finite and not negative"
            require(0 <= value < math.inf, "eigenvalues", value, rule, "S0 is positive")
        mean = math.fsum(c * w for c, w in zip(covariance, weights, strict=True))
        object.__setattr__(self, "eigenvalues", values)
        object.__setattr__(self, "covariance", tuple(c / mean for c in covariance))
        object.__setattr__(self, "weights", weights)
        assert self.whitened.q0 > 0  # the law checks the weights, and that S0 is not zero

    def _numbers(self, name: str) -> tuple[float, ...]:
        given: Any = getattr(self, name)
        if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str):
            raise InvalidParameter(name, repr(given), "must be a list of numbers", "give [...]")
        return tuple(real(name, number) for number in given)

    @cached_property
    def arrays(self) -> tuple[Array, Array, Array]:
        """Eigenvalues of S0, those of C and weights, each of shape (N,)."""
        return np.array(self.eigenvalues), np.array(self.covariance), np.array(self.weights)

    @property
    def whitened(self) -> Eigenvalues:
        """Law of the whitened target C^{1/2} S0 C^{1/2}."""
        return self._shifted(0.0)

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

    def scaled(self, factor: float) -> Self:
        """Return the law of `factor` times the target."""
        values = tuple(factor * value for value in self.eigenvalues)
        return type(self)(values, self.covariance, self.weights)

    def at_threshold(self, b: float) -> tuple[Eigenvalues, float]:
        """Return the law of the whitened target plus b (1 - C^{-1}), whose threshold is b."""
        return self._shifted(float(b)), b

    @lru_cache(maxsize=8)  # noqa: B019 - targets are few, and a solution needs its law four times
    def _shifted(self, b: float) -> Eigenvalues:
        # Never all zero, because c is 1 in the mean and s is not negative; s itself for C = 1.
        return Eigenvalues(tuple(self._positions(b).tolist()), self.weights)

    def _positions(self, b: float) -> Array:
        s, c, _ = self.arrays
        return np.asarray(c * s + b * (1 - 1 / c))

    def upper_edge(self, v: float) -> float:
        """Return the threshold b beyond which no eigenvalue of the noisy law is positive.

        Raises:
            OutsideDomain: v is beyond double precision.
        """

        def edge(b: float) -> float:
            return self._shifted(b).upper_edge(v) - b

        # Largest possible values: all directions have the least, and the largest, c.
        whole = self.whitened.upper_edge(v)
        low, high = min(self.covariance) * whole, max(self.covariance) * whole
        if edge(low) <= 0 or low == high:
            return low
        if edge(high) >= 0:
            return high
        return float(scipy.optimize.brentq(edge, low, high, xtol=1e-300, rtol=ROOT))

    def energy(self, v: float, b: float, width: float) -> Energy:
        """Return J(v, b) and derivatives, with a rank limit; see `Target.energy`.

        Args:
            v: variance of the semicircle, eigenvalue^2.
            b: coefficient of C^{-1}, eigenvalue.
            width: largest fraction of eigenvalues that counts.
        """
        law = self._shifted(float(b))
        found = law.energy(v, b, width)
        if found.J == 0:
            return found
        (_, c, w), (distinct, _) = self.arrays, law.arrays
        slopes = law.strength_slopes(v, b, found.quantile, distinct)
        at = np.abs(distinct[:, None] - self._positions(b)).argmin(axis=0)
        return found._replace(J_b=-float(np.sum(w / c * slopes[at])))

    def exact(self) -> Law:
        """Raise InvalidParameter: proven digits and the limit lambda -> 0 are not derived."""
        self.refuse("proven digits, thresholds and the limit lambda -> 0")

    def support(self, v: float) -> list[tuple[float, float]]:
        """Raise InvalidParameter: spectra in the metric of the tokens are not derived."""
        self.refuse("the spectrum")

    def density(self, v: float, x: Array) -> Array:
        """Raise InvalidParameter: spectra in the metric of the tokens are not derived."""
        self.refuse("the spectrum")

    def outliers(self, v: float) -> list[Outlier]:
        """Raise InvalidParameter: spectra in the metric of the tokens are not derived."""
        self.refuse("the spectrum")

    def top_energy(self, share: float) -> float:
        """Raise InvalidParameter: the decomposition of errors is not derived."""
        self.refuse("the decomposition of errors")

    def features(self, v: float) -> float:
        """Raise InvalidParameter: the decomposition of errors is not derived."""
        self.refuse("the decomposition of errors")

    def values(self, v: float, x: float) -> Values:
        """Raise InvalidParameter: the law depends on the threshold, see `at_threshold`."""
        self.refuse("the law at one position, as the Bayes optimum needs it,")

    def refuse(self, what: str) -> NoReturn:
        """Raise InvalidParameter for what is not derived for tokens with a covariance.

        Args:
            what: description of it.
        """
        rule = f"has a covariance of tokens, for which {what} is not derived"
        raise InvalidParameter("target", self, rule, "use isotropic tokens, Eigenvalues")

    def __repr__(self) -> str:
        """Return the number of directions and the range of the covariance."""
        low, high = min(self.covariance), max(self.covariance)
        count = len(self.eigenvalues)
        return f"AlignedCovariance({count} directions, covariance {low:.4g} to {high:.4g})"
