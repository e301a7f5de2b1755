"""Initial conditions of message passing, and the order parameters after a step."""

import enum
from typing import NamedTuple

from numeric.laws.law import Target

# V beta^2 of the first messages. Below 1.04 the energy of a sample is convex and its minimiser does
# not jump (theory note, section 3).
_FIRST = 0.5


class FirstMessage(enum.StrEnum):
    """Initial map S of message passing."""

    ZERO = "zero"  #: S = 0
    #: mean eigenvalue of the target times the identity, known before any label
    MEAN = "mean"
    #: MEAN plus a symmetric Gaussian matrix, with the second moment of the target
    RANDOM = "random"
    INFORMED = "informed"  #: the target itself


class Stage(NamedTuple):
    """Order parameters and errors after a step.

    m and q: eigenvalue^2; V: index^2/loss, or index^2 for a posterior.
    """

    m: float
    q: float
    V: float
    estimation_error: float
    test_error: float


def first_response(beta: float) -> float:
    """Return V of the first messages, index^2/loss; the fixed point does not depend on it."""
    return _FIRST / beta**2


def starting_overlaps(start: FirstMessage, target: Target) -> tuple[float, float]:
    """Return the initial overlaps m and q, eigenvalue^2.

    Args:
        start: kind of initial map.
        target: law of the eigenvalues of the target.
    """
    mean, q0 = target.t0**2, target.q0
    return {
        FirstMessage.ZERO: (0.0, 0.0),
        FirstMessage.MEAN: (mean, mean),
        FirstMessage.RANDOM: (mean, q0),
        FirstMessage.INFORMED: (q0, q0),
    }[start]
