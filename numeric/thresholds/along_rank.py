"""Thresholds as functions of the rank ratio of a Marchenko-Pastur target, for any number of tokens.

A label has D = T(T + 1)/2 - 1 numbers. D alpha is the count of label numbers divided by d^2; a
symmetric S has d^2/2 parameters. Source: theory note, sections 5 and 6; arXiv 2509.24914,
Corollary 3.2.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from numeric.proven_laws.rational import exact_marchenko_pastur
from numeric.thresholds.bayes_recovery import bayes_recovery
from numeric.thresholds.interpolation import interpolation, interpolation_limit
from numeric.thresholds.recovery import recovery
from numeric.thresholds.setting import Threshold

DIGITS = 12
_TOKENS = 2  # any number gives the same D alpha
_NUMBERS = _TOKENS * (_TOKENS + 1) // 2 - 1


class RankThresholds(NamedTuple):
    """Thresholds D alpha at one rank ratio kappa0, for a student of full width.

    bayes: recovery from noise-free labels by the Bayes-optimal estimator.
    recovery: recovery from noise-free labels by trained factors.
    interpolation_limit: interpolation of factors for vanishing label noise.
    interpolation: interpolation of factors at each label noise.
    """

    kappa0: Fraction
    bayes: float
    recovery: float
    interpolation_limit: float
    interpolation: tuple[float, ...]


def thresholds_along_rank(
    kappa0s: Sequence[Fraction], noises: Sequence[Fraction]
) -> list[RankThresholds]:
    """Return the thresholds at each rank ratio, from DIGITS proven digits.

    Args:
        kappa0s: rank ratios, positive.
        noises: variances of the label noise, positive.

    Raises:
        ValueError: an argument is invalid.
        Unresolved: the digits could not be proven.
    """
    results = []
    for kappa0 in kappa0s:
        law = exact_marchenko_pastur(kappa0)
        results.append(
            RankThresholds(
                kappa0,
                _scaled(bayes_recovery(law, _TOKENS, DIGITS)),
                _scaled(recovery(law, _TOKENS, DIGITS)),
                _scaled(interpolation_limit(law, _TOKENS, DIGITS)),
                tuple(_scaled(interpolation(law, noise, _TOKENS, DIGITS)) for noise in noises),
            )
        )
    return results


def direct_interpolation(model: str) -> float:
    """Return D alpha (D of two tokens) below which a directly trained matrix fits its labels.

    It is the ratio of parameters to label numbers, for any target and noise. Noise-free labels are
    always fitted by S0, and above this value by S0 only: the matrix is recovered.

    Args:
        model: `direct_symmetric` or `direct_general`.
    """
    law = exact_marchenko_pastur(Fraction(1)).of_model(model)
    return _scaled(interpolation(law, Fraction(1), _TOKENS, DIGITS))


def _scaled(threshold: Threshold) -> float:
    """Return D alpha."""
    return _NUMBERS * float(threshold)
