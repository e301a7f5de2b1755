"""Weak recovery of a target from labels that do not tell its sign (generated step
`weak_recovery`).
"""

from fractions import Fraction

from attention_erm.runtime.errors import InvalidParameter
from numeric.maths.balls import ball, decimal, digit_bits, working
from numeric.model import call
from numeric.proven_laws.law import HasLaw, Law
from numeric.thresholds.proven_digits import at_rising_precision
from numeric.thresholds.setting import Threshold, ThresholdProblem, setting_of

CHOICE_WEAK_RECOVERY = "linear stability of the overlap 0 of the best estimator"


def weak_recovery(
    target: ThresholdProblem | HasLaw | Law,
    noise: Fraction | float | str | None = None,
    digits: int = 50,
    *,
    model: str | None = None,
) -> Threshold:
    """Return the sample ratio from which labels without a sign tell anything about the target.

    Below it the overlap 0 is stable for the best estimator, which a spectral estimator reaches;
    above it, it is not. It depends on the law of the target through its second moment only.

    Source: Mondelli and Montanari, arXiv 1708.05932; Maillard et al., arXiv 2006.05228.

    Args:
        target: a Problem, which states all other arguments except `digits`; or the law of the
            eigenvalues of S0, of zero mean, in float64 or exact. Fractions, Decimals and texts
            such as "1/3" are exact.
        noise: variance Delta of the label noise; default 0.
        digits: significant digits, 1 to MAX_DIGITS.
        model: name of a model; default: that of the law.

    Raises:
        ValueError: an argument is invalid, or the model has no such threshold.
        Unresolved: the digits could not be proven.

    >>> from numeric import Eigenvalues, weak_recovery
    >>> target = Eigenvalues((-1, 0, 1), ("1/4", "1/2", "1/4"))
    >>> weak_recovery(target, "1/2", digits=10, model="signed_phase_retrieval").value
    '0.5625000000'
    """
    setting = setting_of("weak-recovery", target, digits, noise=noise, model=model)
    law, generated = setting.law, setting.law.generated
    if not hasattr(generated, "weak_recovery_ratio"):
        rule = "has no weak-recovery threshold: its labels tell the sign of the index, or its "
        rule += "matrices are positive"
        raise InvalidParameter("model", law.model, rule, "use e.g. signed_phase_retrieval")

    def attempt(guard: int) -> Threshold | None:
        with working(digit_bits(setting.digits) + guard):
            t0, q0 = law.moments()
            if not t0.contains(0):
                rule = "must be 0: the mean tells the sign of the target"
                raise InvalidParameter("tr S0/d", float(t0), rule, "use a target of zero mean")
            rho = call(generated.noisy_variance, (q0,), {"Delta": ball(setting.noise)})
            ratio = generated.weak_recovery_ratio(q0, rho, ball(setting.numbers))
            text = decimal(ratio, setting.digits)
        return setting.threshold((text,), True, CHOICE_WEAK_RECOVERY) if text else None

    return at_rising_precision(setting, attempt, 0)
