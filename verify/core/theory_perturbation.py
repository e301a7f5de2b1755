"""Negative control: a theory that is wrong by a stated amount, so the verdict must be negative."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class TheoryPerturbation:
    """Errors of the theory: `gamma` is added to the exponent of the target, Delta is multiplied by
    `noise`.
    """

    gamma: Fraction = Fraction(0)
    noise: float = 1.0
