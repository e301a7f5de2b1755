"""Where message passing starts, and what a step of it is known by."""

import enum
from typing import NamedTuple

from numeric.laws.law import Target

_FIRST = 0.5  # V beta^2: the energy of a sample is convex up to 1.04 (theory note, section 3), so that the first answers do not jump


class FirstMessage(enum.StrEnum):
    """The map S that messages start from."""

    ZERO = "zero"  #: S = 0
    MEAN = (
        "mean"  #: the target's mean eigenvalue times the identity: what is known before any label
    )
    RANDOM = (
        "random"  #: that and a symmetric Gaussian matrix, with the target's second moment in all
    )
    INFORMED = "informed"  #: the target itself


class Stage(NamedTuple):
    """Order parameters (eigenvalue^2; V: index^2/loss, or index^2 of a posterior) and errors after a step."""

    m: float
    q: float
    V: float
    estimation_error: float
    test_error: float


def first_response(beta: float) -> float:
    """V of the first messages of empirical risk minimisation (index^2/loss): the fixed point does not depend on it."""
    return _FIRST / beta**2


def starting_overlaps(start: FirstMessage, target: Target) -> tuple[float, float]:
    """Overlaps m and q of the start, eigenvalue^2."""
    mean, q0 = target.t0**2, target.q0
    return {
        FirstMessage.ZERO: (0.0, 0.0),
        FirstMessage.MEAN: (mean, mean),
        FirstMessage.RANDOM: (mean, q0),
        FirstMessage.INFORMED: (q0, q0),
    }[start]
