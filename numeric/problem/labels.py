"""Parameters of labels, and the fields of a sample at given overlaps."""

from dataclasses import dataclass
from typing import Self

from numeric.maths.domain import OutsideDomain
from numeric.model import float64 as generated
from numeric.problem.fields import Fields
from numeric.problem.problem import Problem


@dataclass(frozen=True)
class Labels:
    """Parameters of the labels and of the student's softmax, hashable.

    They do not depend on the sample ratio and the weight decay.
    """

    q0: float
    noise: float
    beta: float
    beta0: float
    tokens: int

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return the labels of a problem."""
        problem.require_gaussian_norms("mean losses of fresh labels")
        return cls(problem.q0, problem.noise, problem.beta, problem.beta0, problem.tokens)

    @property
    def rho(self) -> float:
        """Variance of the noisy target index per unit of its covariance (eigenvalue^2)."""
        return float(generated.noisy_variance(self.q0, self.noise))

    def fields(self, m: float, q: float) -> Fields:
        """Return `fields_at` for these labels.

        Args:
            m: overlap with the target (eigenvalue^2).
            q: self-overlap of the student (eigenvalue^2).
        """
        return fields_at(m, q, self.rho)


def fields_at(m: float, q: float, rho: float) -> Fields:
    """Return the fields of a sample.

    Args:
        m: overlap with the target (eigenvalue^2).
        q: self-overlap of the student (eigenvalue^2).
        rho: second moment of the target including label noise (eigenvalue^2).

    Raises:
        OutsideDomain: m^2 > q rho by more than rounding.
    """
    if not m**2 <= q * rho * (1 + 1e-12):
        raise OutsideDomain(f"m = {m}, q = {q}, rho = {rho}: must satisfy m^2 <= q rho")
    # If the student is a multiple of the noise-free target, m^2 and q rho differ by rounding.
    return Fields.of(m, max(q, m**2 / rho), rho)
