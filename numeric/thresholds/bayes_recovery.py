"""Recovery by the Bayes-optimal estimator from noise-free labels (theory note, section 5)."""

from numeric.proven_laws.law import HasLaw, Law
from numeric.thresholds.proven_digits import Threshold, exact_threshold, require_valid_arguments


def bayes_recovery(target: HasLaw | Law, tokens: int = 2, digits: int = 50) -> Threshold:
    """Return the sample ratio of Bayes-optimal recovery from noise-free labels.

    Source: theory note, section 5; arXiv 2509.24914.

    Args:
        target: law of the eigenvalues of S0, not all of it at 0.
        tokens: T >= 2.
        digits: significant digits, 1 to MAX_DIGITS.

    Raises:
        ValueError: an argument is invalid.
    """
    law, numbers, digits = require_valid_arguments("bayes", target, tokens, digits)
    return exact_threshold(
        "bayes", law.generated.bayes_recovery_ratio(law.zero_mass, numbers), digits
    )
