"""Recovery by the Bayes-optimal estimator from noise-free labels (theory note, section 5)."""

from fractions import Fraction

from numeric.model import balls as generated
from numeric.proven_laws.law import Law
from numeric.thresholds.proven_digits import Threshold, exact, require_common


def bayes_recovery(law: Law, tokens: int = 2, digits: int = 50) -> Threshold:
    """Sample ratio above which the Bayes-optimal estimator recovers the target from noise-free labels.

    Args and raises as `recovery`. Source: theory note, section 5; arXiv 2509.24914.
    """
    require_common(law, tokens, digits)
    value = generated.bayes_recovery_ratio(law.zero_mass, generated.label_numbers(Fraction(tokens)))
    return exact("bayes", value, digits)
