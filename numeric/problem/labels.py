"""Parameters of the labels of a problem, and the fields of a sample at given overlaps."""

from dataclasses import dataclass
from typing import Self

from numeric.maths.domain import OutsideDomain
from numeric.model import float64 as generated
from numeric.problem.fields import Fields
from numeric.problem.problem import Problem


@dataclass(frozen=True)
class Labels:
    """Labels of a target of second moment q0, and the temperature of the student: hashable, without samples and decay."""

    q0: float
    noise: float
    beta: float
    beta0: float
    tokens: int

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return the labels of a problem."""
        return cls(problem.q0, problem.noise, problem.beta, problem.beta0, problem.tokens)

    @property
    def rho(self) -> float:
        """Variance per unit of the noisy target index."""
        return float(generated.noisy_variance(self.q0, self.noise))

    def fields(self, m: float, q: float) -> Fields:
        """Return `fields_at` at these overlaps."""
        return fields_at(m, q, self.rho)


def fields_at(m: float, q: float, rho: float) -> Fields:
    """Return the fields of a sample.

    Args:
        m, q: overlaps of the student (eigenvalue^2).
        rho: variance of the labels per unit.

    Raises:
        OutsideDomain: m^2 > q rho, beyond rounding.
    """
    if not m**2 <= q * rho * (1 + 1e-12):
        raise OutsideDomain(f"m = {m}, q = {q}, rho = {rho}: need m^2 <= q rho")
    # Where the student is a multiple of the noise-free target the two differ by rounding.
    return Fields.of(m, max(q, m**2 / rho), rho)
