"""Cost of cross-validation: direct training compared with factors, each at the weight decay chosen
without knowledge of the target.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from numeric.problem.problem import Parametrisation
from verify.core.cross_validation import DecayChoice
from verify.core.intervals import quotient
from verify.core.minimise import DescentStatus
from verify.core.scores import BAND, normal_score
from verify.core.store import Store


def choice_store(folder: Path) -> Store[DecayChoice]:
    """Return the store of finished searches in `folder`. Raises OSError if it is not writable."""
    return Store(folder, DecayChoice, "choices.jsonl")


@dataclass(frozen=True)
class ChoiceGroup:
    """Choices at one sample ratio, size and parametrisation, one for each draw of the data."""

    alpha: float
    dim: int
    parametrisation: Parametrisation
    choices: tuple[DecayChoice, ...]

    @property
    def test_errors(self) -> np.ndarray:
        """Return the test error of each draw, shape (runs,)."""
        return np.array([choice.test_error for choice in self.choices])

    def document(self) -> dict[str, Any]:
        """Return plain JSON values."""
        errors = self.test_errors
        return {
            "alpha": self.alpha,
            "dim": self.dim,
            "parametrisation": str(self.parametrisation),
            "lambdas": [choice.lambda_ for choice in self.choices],
            "inside_grid": [choice.inside for choice in self.choices],
            "converged": [choice.status is DescentStatus.CONVERGED for choice in self.choices],
            "test_error": float(errors.mean()),
            "standard_error": float(errors.std(ddof=1) / math.sqrt(len(errors))),
            "decays": list(self.choices[0].run.decays),
            "validation": np.mean([choice.validation for choice in self.choices], 0).tolist(),
        }


def against_factors(group: ChoiceGroup, groups: Sequence[ChoiceGroup]) -> dict[str, Any] | None:
    """Return the difference of the test errors of direct training and of factors on the same data,
    in standard errors.

    Args:
        group: choices of direct training.
        groups: all groups.

    Returns:
        The difference; None if no factors were trained.
    """
    if group.parametrisation is Parametrisation.FACTORISED:
        return None
    factors = [
        other
        for other in groups
        if (other.alpha, other.dim, other.parametrisation)
        == (group.alpha, group.dim, Parametrisation.FACTORISED)
    ]
    if not factors:
        return None
    excess = group.test_errors - factors[0].test_errors
    error = float(excess.std(ddof=1)) / math.sqrt(len(excess))
    z = normal_score(quotient(float(excess.mean()), error), len(excess) - 1)
    return {
        "alpha": group.alpha,
        "dim": group.dim,
        "parametrisation": str(group.parametrisation),
        "excess_test_error": float(excess.mean()),
        "standard_error": error,
        "z": z,
        "agrees": z > -BAND,
    }
