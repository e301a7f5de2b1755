"""Recovery thresholds of empirical risk minimisation beside those of the Bayes optimum (arXiv 2509.24914, section 3)."""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

from numeric.engines.interrupted import attach_partial_result
from numeric.model import DEFAULT, structure
from numeric.proven_laws.rational import exact_marchenko_pastur
from numeric.thresholds.bayes_recovery import bayes_recovery
from numeric.thresholds.recovery import recovery

DIGITS = 15


class RecoveryRow(NamedTuple):
    """Thresholds at one rank ratio, width and number of tokens, None where the model's file states it."""

    kappa0: Fraction
    width: Fraction
    tokens: int | None
    recovery: str
    bayes: str

    @property
    def ratio(self) -> float:
        """Samples that empirical risk minimisation needs over those of the optimum."""
        return float(self.recovery) / float(self.bayes)


def recovery_table(
    kappa0s: Sequence[Fraction],
    widths: Sequence[Fraction],
    tokens: Sequence[int],
    model: str = DEFAULT,
    watch: Callable[[Iterable[Any]], Iterable[Any]] = iter,
) -> list[RecoveryRow]:
    """Recovery thresholds for every combination in which the width reaches the target's rank.

    They depend on the target through its rank alone. `watch` wraps the combinations, for a progress bar.

    Raises:
        Interrupted: with the rows that had finished.
        InvalidParameter: the model has none, or not these tokens or widths.
    """
    rows: list[RecoveryRow] = []
    asked = [(kappa0, width, count) for count, width, kappa0 in product(tokens, widths, kappa0s)]
    with attach_partial_result(lambda: rows):
        for kappa0, width, count in watch(
            [one for one in asked if one[1] >= min(one[0], Fraction(1))]
        ):
            law = exact_marchenko_pastur(kappa0).of_model(model)
            learned, optimal = (
                recovery(law, count, DIGITS, width),
                bayes_recovery(law, count, DIGITS),
            )
            told = count if structure(model).takes_tokens else None
            rows.append(RecoveryRow(kappa0, width, told, learned.value, optimal.value))
    return rows
