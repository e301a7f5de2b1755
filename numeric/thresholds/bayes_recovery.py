"""Recovery by the Bayes-optimal estimator from noise-free labels (theory note, section 5)."""

from numeric.maths.domain import integer
from numeric.proven_laws.law import HasLaw, Law, law_of
from numeric.thresholds.proven_digits import (
    Threshold,
    exact,
    label_numbers,
    require_valid_arguments,
)


def bayes_recovery(target: HasLaw | Law, tokens: int = 2, digits: int = 50) -> Threshold:
    """Sample ratio above which the Bayes-optimal estimator recovers the target from noise-free labels.

    Args and raises as `recovery`. Source: theory note, section 5; arXiv 2509.24914.
    """
    law, tokens, digits = law_of(target), integer("tokens", tokens), integer("digits", digits)
    require_valid_arguments("bayes", law, tokens, digits)
    value = law.generated.bayes_recovery_ratio(law.zero_mass, label_numbers(law, tokens))
    return exact("bayes", value, digits)
