"""Channel average of a quadratic loss, in closed form (generated function `closed_envelope`)."""

from dataclasses import dataclass, field

import numpy as np

from numeric.channel.averages import Averages, symmetric_averages
from numeric.model import call
from numeric.problem.axes import UNLEARNED, axis_overlaps
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem

EVERY_SHARE = np.array([0.0, 0.5])  # of directions with scores of other tokens, and of one token


@dataclass(frozen=True)
class ClosedRule:
    """Closed form, exact up to rounding (see `numeric.channel.interfaces.ChannelRule`)."""

    independent: bool = field(default=False, init=False)
    roughness: float = field(default=1e-9, init=False)
    tolerance: float = field(default=1e-8, init=False)
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
        axis_overlaps(overlaps, problem, EVERY_SHARE)  # checks that the overlaps are valid
        return symmetric_averages(*_with_norms(problem, overlaps))

    def unlearned(self, problem: Problem) -> Averages:
        """Return one replicate at S = 0."""
        return symmetric_averages(*_with_norms(problem, UNLEARNED))

    def refined(self) -> "ClosedRule":
        """Return this rule: it has no error to reduce."""
        return self


def _with_norms(problem: Problem, overlaps: Overlaps) -> tuple[float, ...]:
    """Return M, its derivatives in m, q, V and t, training and test error."""
    m, q, V, t = overlaps.m, overlaps.q, overlaps.V, overlaps.t
    if problem.has_norms:
        norms = t, problem.norm_overlap, problem.norm_deficit
        given = (m, q, V, problem.rho, *norms)
        return call(problem.generated.closed_envelope_norms, given, problem.settings)
    M, dM_dm, dM_dq, dM_dV, train, test = closed_envelope(problem, m, q, V)
    return M, dM_dm, dM_dq, dM_dV, 0.0, train, test


def closed_envelope(problem: Problem, m: float, q: float, V: float) -> tuple[float, ...]:
    """Return M, its derivatives in m, q and V, training and test error.

    Args:
        problem: problem with a quadratic loss.
        m: overlap with the target, eigenvalue^2.
        q: second moment of the student, eigenvalue^2.
        V: response, index^2/loss.
    """
    return call(problem.generated.closed_envelope, (m, q, V, problem.rho), problem.settings)
