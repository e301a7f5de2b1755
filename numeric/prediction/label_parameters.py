"""What test errors depend on besides the overlaps of the student, and a value with its error."""

from dataclasses import dataclass
from typing import NamedTuple, Self

from numeric.maths.domain import OutsideDomain
from numeric.model import float64 as generated
from numeric.problem.fields import Fields
from numeric.problem.problem import Problem


class Estimate(NamedTuple):
    """A value (unit loss per sample) and half the width of its interval."""

    value: float
    error: float


@dataclass(frozen=True)
class Labels:
    """Labels of a target of second moment q0, the student's temperature beside them: frozen, hashable, without samples or decay."""

    q0: float
    noise: float
    beta: float
    beta0: float
    tokens: int

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Those of a problem of softmax rows of tied scores."""
        return cls(problem.q0, problem.noise, problem.beta, problem.beta0, problem.tokens)

    @property
    def rho(self) -> float:
        """Variance per unit of the noisy target index."""
        return float(generated.noisy_variance(self.q0, self.noise))

    def fields(self, m: float, q: float) -> Fields:
        """Fields of a sample at overlaps m and q (eigenvalue^2).

        Raises:
            OutsideDomain: m^2 > q rho, beyond rounding.
        """
        return fields_at(m, q, self.rho)


def fields_at(m: float, q: float, rho: float) -> Fields:
    """Fields of a sample whose labels have the variance rho per unit.

    Raises:
        OutsideDomain: m^2 > q rho, beyond rounding.
    """
    if not m**2 <= q * rho * (1 + 1e-12):
        raise OutsideDomain(f"m = {m}, q = {q}, rho = {rho}: need m^2 <= q rho")
    # Where the student is a multiple of the noise-free target the two differ by rounding.
    return Fields.of(m, max(q, m**2 / rho), rho)
