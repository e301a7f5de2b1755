"""Recovery thresholds of empirical risk minimisation and of the Bayes optimum (arXiv 2509.24914,
section 3).
"""

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
    """Recovery thresholds at one rank ratio, width and number of tokens.

    `tokens` is None if the model has a fixed number.
    """

    kappa0: Fraction
    width: Fraction
    tokens: int | None
    recovery: str
    bayes: str

    @property
    def ratio(self) -> float:
        """Samples required by empirical risk minimisation / samples required by the optimum."""
        return float(self.recovery) / float(self.bayes)


def recovery_table(
    kappa0s: Sequence[Fraction],
    widths: Sequence[Fraction],
    tokens: Sequence[int],
    model: str = DEFAULT,
    watch: Callable[[Iterable[Any]], Iterable[Any]] = iter,
) -> list[RecoveryRow]:
    """Compute recovery thresholds for all combinations whose width reaches the rank of the target.

    They depend on the target only through its rank.

    Args:
        kappa0s: rank ratios of the target.
        widths: width ratios kappa of the student.
        tokens: numbers T of tokens.
        model: name of the model.
        watch: wraps the iterable of combinations, for a progress bar.

    Raises:
        Interrupted: by Ctrl-C; contains the rows computed until then.
        InvalidParameter: the model has no threshold, or does not support these tokens or widths.
    """
    rows: list[RecoveryRow] = []
    takes_tokens = structure(model).takes_tokens
    settings = [
        (kappa0, width, count)
        for count, width, kappa0 in product(tokens, widths, kappa0s)
        if width >= min(kappa0, Fraction(1))
    ]
    with attach_partial_result(lambda: rows):
        for kappa0, width, count in watch(settings):
            law = exact_marchenko_pastur(kappa0).of_model(model)
            learned = recovery(law, count, DIGITS, width).value
            optimal = bayes_recovery(law, count, DIGITS).value
            rows.append(
                RecoveryRow(kappa0, width, count if takes_tokens else None, learned, optimal)
            )
    return rows
