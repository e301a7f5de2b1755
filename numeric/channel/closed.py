"""The channel average of a quadratic loss, in closed form (generated function `closed_envelope`)."""

from dataclasses import dataclass, field

from numeric.channel.averages import Averages, one_replicate, require_pair
from numeric.model import call
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem


@dataclass(frozen=True)
class ClosedRule:
    """No rule at all: exact up to rounding."""

    independent: bool = field(default=False, init=False)
    roughness: float = field(default=1e-9, init=False)
    accuracy: float = field(default=1e-10, init=False)
    refinements: int = field(default=1, init=False)
    extra_refinements: int = field(default=0, init=False)
    error_reduction: float = field(default=4.0, init=False)

    def average(self, overlaps: Overlaps, problem: Problem) -> Averages:
        """One replicate."""
        m, q, V = overlaps.m, overlaps.q, overlaps.V
        require_pair(m, q, V, problem.rho)
        return one_replicate(*closed_envelope(problem, m, q, V))

    def unlearned(self, problem: Problem) -> Averages:
        """At S = 0."""
        return one_replicate(*closed_envelope(problem, 0.0, 0.0, 0.0))

    def refined(self) -> "ClosedRule":
        """The same."""
        return self


def closed_envelope(problem: Problem, m: float, q: float, V: float) -> tuple[float, ...]:
    """M, its derivatives by m, q and V, training and test error."""
    return call(problem.generated.closed_envelope, (m, q, V, problem.rho), problem.settings)
