"""One learning problem: parameters of the model, valid by construction."""

from dataclasses import dataclass, replace

from generated.tied_attention import float64 as generated
from numeric.target_law import Target


@dataclass(frozen=True)
class Problem:
    """Empirical risk minimisation of tied attention in the limit d -> infinity (theory note, section 1).

    alpha = n/d^2; target: law of the eigenvalues of S0; width: rank of the student over d; lambda_: weight decay on W; noise:
    variance Delta of the label noise; tokens T; beta, beta0: inverse temperatures of student and target.
    """

    alpha: float
    target: Target
    lambda_: float
    noise: float
    width: float = 1.0
    tokens: int = 2
    beta: float = 1.0
    beta0: float = 1.0

    def __post_init__(self) -> None:
        for name in ("alpha", "lambda_", "width", "beta", "beta0"):
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
    def q0(self) -> float:
        """Second moment tr S0^2/d of the target."""
        return self.target.q0

    @property
    def rho(self) -> float:
        """Variance per unit of the noisy target index."""
        return float(generated.noisy_variance(self.q0, self.noise))
