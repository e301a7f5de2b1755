"""Channel average of a quadratic loss, in closed form (generated function `closed_envelope`)."""

from dataclasses import dataclass, field

from numeric.channel.averages import Averages, require_pair, symmetric_averages
from numeric.model import call
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem


@dataclass(frozen=True)
class ClosedRule:
    """Closed form, exact up to rounding (see `numeric.channel.rules.ChannelRule`)."""

    independent: bool = field(default=False, init=False)
    roughness: float = field(default=1e-9, init=False)
    accuracy: float = field(default=1e-10, init=False)
    refinements: int = field(default=1, init=False)
    extra_refinements: int = field(default=0, init=False)
    error_reduction: float = field(default=4.0, init=False)

    def average(self, overlaps: Overlaps, problem: Problem) -> Averages:
        """Return one replicate.

        Args:
            overlaps: order parameters.
            problem: problem with a quadratic loss.
        """
        m, q, V = overlaps.m, overlaps.q, overlaps.V
        require_pair(m, q, V, problem.rho)
        return symmetric_averages(*closed_envelope(problem, m, q, V))

    def unlearned(self, problem: Problem) -> Averages:
        """Return one replicate at S = 0."""
        return symmetric_averages(*closed_envelope(problem, 0.0, 0.0, 0.0))

    def refined(self) -> "ClosedRule":
        """Return this rule: it has no error to reduce."""
        return self


def closed_envelope(problem: Problem, m: float, q: float, V: float) -> tuple[float, ...]:
    """Return M, its derivatives in m, q and V, training and test error.

    Args:
        problem: problem with a quadratic loss.
        m: overlap with the target, eigenvalue^2.
        q: second moment of the student, eigenvalue^2.
        V: response, index^2/loss.
    """
    return call(problem.generated.closed_envelope, (m, q, V, problem.rho), problem.settings)
