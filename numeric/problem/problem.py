"""One learning problem: parameters of the model, valid by construction."""

import enum
from dataclasses import dataclass, replace

import numpy as np

from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.law import Array, Target
from numeric.model import float64 as generated
from numeric.problem.parameter import InvalidParameter

MOST_TOKENS = 12  # a sample is a minimisation over T(T+1)/2 numbers


class Parametrisation(enum.StrEnum):
    """What is trained: factors W with weight decay lambda ||W||^2, or the matrix A itself with penalty lambda d ||A||_F^2."""

    FACTORISED = "factorised"
    SYMMETRIC = "symmetric"
    GENERAL = "general"


@dataclass(frozen=True)
class Problem:
    """Empirical risk minimisation of tied attention in the limit d -> infinity (theory note, section 1).

    alpha = n/d^2; target: law of the eigenvalues of S0; width: rank of the student over d; lambda_: weight decay on W; noise:
    variance Delta of the label noise; tokens T; beta, beta0: inverse temperatures of student and target. Direct training
    (`parametrisation` symmetric or general) has no width; lambda_ = 0 is the limit lambda -> 0. leading: so many of the largest
    eigenvalues of a list keep the law that their indices have on token sequences, which is not Gaussian (theory note, section 10).

    Raises:
        InvalidParameter: a parameter outside its domain.
    """

    alpha: float
    target: Target
    lambda_: float
    noise: float
    width: float = 1.0
    tokens: int = 2
    beta: float = 1.0
    beta0: float = 1.0
    parametrisation: Parametrisation = Parametrisation.FACTORISED
    leading: int = 0

    def __post_init__(self) -> None:
        for name in ("alpha", "width", "beta", "beta0"):
            value = getattr(self, name)
            if not 0 < value < float("inf"):
                raise InvalidParameter(name, value, "must be positive and finite", "try 1")
        for name in ("lambda_", "noise"):
            value = getattr(self, name)
            if not 0 <= value < float("inf"):
                raise InvalidParameter(name, value, "must not be negative, and finite", "use 0 for none")
        if not (isinstance(self.tokens, int) and 2 <= self.tokens <= MOST_TOKENS):
            rule = f"must be an integer from 2 to {MOST_TOKENS}"
            raise InvalidParameter("tokens", self.tokens, rule, "try 2: one token has one label")
        object.__setattr__(self, "parametrisation", Parametrisation(self.parametrisation))
        if self.lambda_ == 0 and self.parametrisation is not Parametrisation.FACTORISED:
            rule = "direct training needs a positive one, below which many matrices fit"
            raise InvalidParameter("lambda_", 0, rule, "use 1e-6")
        if self.leading:
            self._require_features()

    def _require_features(self) -> None:
        if not (isinstance(self.leading, int) and isinstance(self.target, Eigenvalues)):
            raise InvalidParameter(
                "leading", self.leading, "must be a number of eigenvalues of a list", "use 0 for other targets"
            )
        weights = self.target.weights
        if not 0 < self.leading < len(weights):
            rule = f"must be below {len(weights)}, the number of distinct eigenvalues"
            raise InvalidParameter("leading", self.leading, rule, "keep fewer")
        if set(weights[-self.leading :]) != {min(weights)}:  # an equal one would have been merged into a larger weight
            rule = "the largest eigenvalues must be single, of weight 1/d each"
            raise InvalidParameter("leading", self.leading, rule, "move equal ones")
        if self.lambda_ == 0 or self.parametrisation is not Parametrisation.FACTORISED:
            raise InvalidParameter("leading", self.leading, "is for factors with a positive lambda_", "use 0")

    def at(self, alpha: float) -> "Problem":
        """The same problem at another sample ratio."""
        return replace(self, alpha=alpha)

    @property
    def features(self) -> tuple[Array, float]:
        """Eigenvalues of the leading features, ascending, and the weight of each."""
        if not isinstance(self.target, Eigenvalues):
            return np.zeros(0), 1.0
        s, weights = self.target.arrays
        return s[len(s) - self.leading :], float(weights[-1])

    def with_strengths(self, strengths: Array) -> "Problem":
        """The problem of Gaussian indices that the prior sees: with these in place of the eigenvalues of the leading features."""
        if not self.leading:
            return self
        assert isinstance(self.target, Eigenvalues)
        return replace(self, target=self.target.with_largest(strengths), leading=0)

    @property
    def q0(self) -> float:
        """Second moment tr S0^2/d of the target."""
        return self.target.q0

    @property
    def rho(self) -> float:
        """Variance per unit of the noisy target index."""
        return float(generated.noisy_variance(self.q0, self.noise))
