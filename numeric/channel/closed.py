"""Channel average of a quadratic loss, in closed form (generated function `closed_envelope`)."""

from dataclasses import dataclass, field

import numpy as np
import scipy

from numeric.channel.averages import Array, Averages, symmetric_averages
from numeric.model import call
from numeric.problem.axes import UNLEARNED, axis_overlaps
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem

REACH = 9.0  # standard deviations of a Poisson law, and its reach at small means
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
        return _averages(problem, overlaps)

    def unlearned(self, problem: Problem) -> Averages:
        """Return one replicate at S = 0."""
        return _averages(problem, UNLEARNED)

    def refined(self) -> "ClosedRule":
        """Return this rule: it has no error to reduce."""
        return self


def _averages(problem: Problem, overlaps: Overlaps) -> Averages:
    new_tokens = _with_norms(problem, overlaps)
    if not problem.has_vocabulary:
        return symmetric_averages(*new_tokens)
    counts, weights = samples_of_tokens(problem)
    *seen, _, _ = _changes(problem, overlaps, counts + 1)
    change = np.array(seen) @ weights
    of_test = _changes(problem, overlaps, counts)[-2] @ weights
    averages = symmetric_averages(*(np.array(new_tokens[:-1]) + change), new_tokens[-1])
    return averages._replace(vocabulary_test_error=averages.test_error + of_test)


def closed_response(problem: Problem, overlaps: Overlaps) -> float:
    """Return the mean square response of the dual fields per sample.

    Args:
        problem: problem with a quadratic loss.
        overlaps: order parameters.
    """
    of_new = float(call(problem.generated.closed_response, (overlaps.V,), problem.settings))
    if not problem.has_vocabulary:
        return of_new
    counts, weights = samples_of_tokens(problem)
    return of_new + float(_changes(problem, overlaps, counts + 1)[-1] @ weights)


def samples_of_tokens(problem: Problem) -> tuple[Array, Array]:
    """Return numbers of samples of a token, and their Poisson weights.

    Weights outside the range are below rounding.

    Args:
        problem: problem with a vocabulary.
    """
    given = problem.alpha, problem.vocabulary
    mean = float(call(problem.generated.samples_of_token, given, problem.settings))
    reach = REACH * (np.sqrt(mean) + REACH)
    counts = np.arange(max(0.0, np.floor(mean - reach)), np.ceil(mean + reach) + 1)
    below = scipy.special.pdtr(counts[0] - 1, mean) if counts[0] > 0 else 0.0
    weights = np.diff(scipy.special.pdtr(counts, mean), prepend=below)
    return counts, weights / weights.sum()


def _changes(problem: Problem, overlaps: Overlaps, repeats: Array) -> tuple[Array, ...]:
    """Return changes of M, its derivatives, both errors and the response if tokens repeat."""
    m, q, V, t = overlaps.m, overlaps.q, overlaps.V, overlaps.t
    norms = t, problem.norm_overlap, problem.norm_deficit
    given = (repeats, m, q, V, problem.rho, *norms)
    return tuple(call(problem.generated.repeated_tokens, given, problem.settings))


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
