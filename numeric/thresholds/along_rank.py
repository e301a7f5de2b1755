"""Thresholds along the rank ratio of a Marchenko-Pastur target, in units in which they do not depend on the number of tokens.

With D = T(T + 1)/2 - 1 numbers in a label, D alpha counts label numbers per d^2, of which a symmetric S has 1/2 parameters
(theory note, sections 5 and 6; arXiv 2509.24914, Corollary 3.2).
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from numeric.proven_laws.rational import exact_marchenko_pastur
from numeric.thresholds.bayes_recovery import bayes_recovery
from numeric.thresholds.interpolation import interpolation, interpolation_limit
from numeric.thresholds.proven_digits import Threshold
from numeric.thresholds.recovery import recovery

DIGITS = 12
_TOKENS = 2  # any number gives the same D alpha
_NUMBERS = _TOKENS * (_TOKENS + 1) // 2 - 1


class RankThresholds(NamedTuple):
    """D alpha at one rank ratio, every threshold of a student of full width.

    Recovery from noise-free labels by the Bayes-optimal estimator and by factors; interpolation of factors at each label noise, in the
    order asked for, and in the limit of vanishing noise.
    """

    kappa0: Fraction
    bayes: float
    recovery: float
    interpolation_limit: float
    interpolation: tuple[float, ...]


def thresholds_along_rank(
    kappa0s: Sequence[Fraction], noises: Sequence[Fraction]
) -> list[RankThresholds]:
    """Thresholds at each rank ratio kappa0 > 0, from DIGITS proven digits.

    Raises:
        ValueError: an argument outside its domain.
        Unresolved: digits could not be proven.
    """
    return [_at(kappa0, noises) for kappa0 in kappa0s]


def direct_interpolation(model: str) -> float:
    """D alpha, D of two tokens, below which a matrix trained directly fits its labels: `direct_symmetric`, or `direct_general`.

    Parameters over label numbers, whatever target and noise. Without noise every label is fitted, by S0, and from here on by
    nothing else: the matrix is recovered.
    """
    law = exact_marchenko_pastur(Fraction(1)).of_model(model)
    return _counted(interpolation(law, Fraction(1), _TOKENS, DIGITS))


def _at(kappa0: Fraction, noises: Sequence[Fraction]) -> RankThresholds:
    law = exact_marchenko_pastur(kappa0)
    return RankThresholds(
        kappa0,
        _counted(bayes_recovery(law, _TOKENS, DIGITS)),
        _counted(recovery(law, _TOKENS, DIGITS)),
        _counted(interpolation_limit(law, _TOKENS, DIGITS)),
        tuple(_counted(interpolation(law, noise, _TOKENS, DIGITS)) for noise in noises),
    )


def _counted(threshold: Threshold) -> float:
    return _NUMBERS * float(threshold)
