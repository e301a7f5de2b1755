"""Recovery by the Bayes-optimal estimator from noise-free labels (theory note, section 5)."""

from numeric.proven_laws.law import HasLaw, Law
from numeric.thresholds.proven_digits import exact_threshold
from numeric.thresholds.setting import Threshold, ThresholdProblem, setting_of


def bayes_recovery(
    target: ThresholdProblem | HasLaw | Law,
    tokens: int | None = None,
    digits: int = 50,
    *,
    model: str | None = None,
) -> Threshold:
    """Return the sample ratio of Bayes-optimal recovery from noise-free labels.

    Source: theory note, section 5; arXiv 2509.24914.

    Args:
        target: a Problem, which states all other arguments except `digits`; or the law of the
            eigenvalues of S0, not all of it at 0, in float64 or exact. Fractions, Decimals and
            texts such as "1/3" are exact; a float is its binary value, with a warning from
            FLOAT_DIGITS digits on.
        tokens: T >= 2; default 2.
        digits: significant digits, 1 to MAX_DIGITS.
        model: name of a model; default: tied attention, or the model of an exact law.

    Raises:
        ValueError: an argument is invalid.
    """
    setting = setting_of("bayes", target, digits, tokens=tokens, model=model)
    law = setting.law
    ratio = law.generated.bayes_recovery_ratio(law.zero_mass, setting.numbers)
    return exact_threshold(setting, ratio)
