"""Recovery thresholds of empirical risk minimisation beside those of the Bayes optimum (arXiv 2509.24914, section 3)."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from numeric.model import DEFAULT
from numeric.proven_laws.rational import exact_marchenko_pastur
from numeric.thresholds.bayes_recovery import bayes_recovery
from numeric.thresholds.recovery import recovery

DIGITS = 15


class RecoveryRow(NamedTuple):
    """Thresholds at one rank ratio, width and number of tokens."""

    kappa0: Fraction
    width: Fraction
    tokens: int
    recovery: str
    bayes: str

    @property
    def ratio(self) -> float:
        """Samples that empirical risk minimisation needs over those of the optimum."""
        return float(self.recovery) / float(self.bayes)


def recovery_table(
    kappa0s: Sequence[Fraction], widths: Sequence[Fraction], tokens: Sequence[int], model: str = DEFAULT
) -> list[RecoveryRow]:
    """Recovery thresholds for every combination in which the width reaches the target's rank.

    They depend on the target through its rank alone.

    Raises:
        InvalidParameter: the model has none, or not these tokens or widths.
    """
    rows = []
    for count in tokens:
        for width in widths:
            for kappa0 in kappa0s:
                if width >= min(kappa0, Fraction(1)):
                    law = exact_marchenko_pastur(kappa0).of_model(model)
                    learned, optimal = recovery(law, count, DIGITS, width), bayes_recovery(law, count, DIGITS)
                    rows.append(RecoveryRow(kappa0, width, count, learned.value, optimal.value))
    return rows
