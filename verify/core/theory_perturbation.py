"""Negative control: a theory that is wrong by a stated amount, so that the verdict must turn
negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class TheoryPerturbation:
    """Amounts by which the theory is wrong: `gamma` is added to the exponent of the target, Delta
    is multiplied by `noise`.
    """

    gamma: Fraction = Fraction(0)
    noise: float = 1.0
