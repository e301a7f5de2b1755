"""One learning problem: parameters of the model, valid by construction."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from generated.tied_attention import float64 as generated


class TargetLaw(NamedTuple):
    """Free Poisson law of the target eigenvalues: rate kappa0 and inverse jump r (1/eigenvalue)."""

    kappa0: float
    r: float

    @classmethod
    def of(cls, kappa0: float, scale: float = 1.0) -> "TargetLaw":
        """Law of `scale` times the model's target of rank ratio kappa0."""
        return cls(*(float(value) for value in generated.law_parameters(kappa0, scale)))

    @property
    def q0(self) -> float:
        """Second moment, eigenvalue^2."""
        return float(generated.target_moments(*self)[1])


@dataclass(frozen=True)
class Problem:
    """Empirical risk minimisation of tied attention in the limit d -> infinity (theory note, section 1).

    alpha = n/d^2; kappa0, width: ranks of target and student over d; lambda_: weight decay on W; noise: variance Delta
    of the label noise; tokens T; beta, beta0: inverse temperatures of student and target; target_scale: factor on S0.
    """

    alpha: float
    kappa0: float
    lambda_: float
    noise: float
    width: float = 1.0
    tokens: int = 2
    beta: float = 1.0
    beta0: float = 1.0
    target_scale: float = 1.0

    def __post_init__(self) -> None:
        for name in ("alpha", "kappa0", "lambda_", "width", "beta", "beta0", "target_scale"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(
                    f"{name} = {getattr(self, name)!r}: must be positive and finite; lambda -> 0 is in numeric.thresholds"
                )
        if not 0 <= self.noise < float("inf"):
            raise ValueError(f"noise = {self.noise!r}: must not be negative; use 0 for noise-free labels")
        if self.tokens != 2:
            raise ValueError(
                f"tokens = {self.tokens!r}: learning curves are generated for 2 tokens; thresholds take any number"
            )

    def at(self, alpha: float) -> "Problem":
        """The same problem at another sample ratio."""
        return replace(self, alpha=alpha)

    @property
    def target(self) -> TargetLaw:
        """Law of the target's eigenvalues."""
        return TargetLaw.of(self.kappa0, self.target_scale)

    @property
    def q0(self) -> float:
        """Second moment tr S0^2/d of the target."""
        return self.target.q0

    @property
    def rho(self) -> float:
        """Variance per unit of the noisy target index."""
        return float(generated.noisy_variance(self.q0, self.noise))
