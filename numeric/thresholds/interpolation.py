"""Interpolation threshold: sample ratio below which the training loss can be zero.

Source: theory note, section 5.
"""

from fractions import Fraction

from attention_erm.runtime.errors import InvalidParameter
from numeric.maths.ball_roots import Isolation, isolate, locate
from numeric.maths.balls import Ball, ball
from numeric.model import MatrixClass, structure
from numeric.proven_laws.finite import FiniteLaw
from numeric.proven_laws.law import HasLaw, Law, require
from numeric.thresholds.interpolation_norms import interpolation_of_norms
from numeric.thresholds.interpolation_roots import Condition, full_rank_energy
from numeric.thresholds.proven_digits import exact_threshold, exponent, prove_threshold
from numeric.thresholds.rank_limited_energy import rank_limited_energy
from numeric.thresholds.setting import Threshold, ThresholdProblem, setting_of

# Boxes in the search for all roots at width < 1, for a law in closed form: ten seconds.
MAX_BOXES = 20_000
# Boxes for a finite list of up to ten eigenvalues; longer lists get fewer.
MAX_FINITE_BOXES = 600

CHOICE_FULL = (
    "the only root: E(v) - q0 = delta psi(delta) with psi >= 0 not decreasing for width >= 1"
)
CHOICE_LIMITED = (
    "the largest: replica-symmetrically the training loss can vanish if and only if 2 D alpha v <= "
    "J(v) - q0 - Delta/2 for some "
    "v; the roots are the stationary points of that bound on alpha, and its greatest value is the "
    "threshold"
)


def interpolation_limit(
    target: ThresholdProblem | HasLaw | Law,
    tokens: int | None = None,
    digits: int = 50,
    *,
    model: str | None = None,
) -> Threshold:
    """Return the limit of `interpolation` for vanishing label noise and full width, a fraction.

    It depends on the target only through its share of zero eigenvalues, and is above recovery.
    Between the two, labels with arbitrarily small noise are still fitted, but noise-free labels
    are fitted by the target only.

    Source: theory note, section 5: statistical dimension of the cone of positive directions.

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
    setting = setting_of("interpolation", target, digits, tokens=tokens, model=model)
    if setting.has_norms:
        rule, norms = "is not derived for the limit of interpolation", float(setting.norms)
        raise InvalidParameter("norms", norms, rule, "use Gaussian norms, 2")
    law, numbers = setting.law, setting.numbers
    if structure(law.model).matrix is not MatrixClass.POSITIVE:
        return exact_threshold(setting, law.generated.interpolation_count(numbers))
    return exact_threshold(setting, law.generated.interpolation_limit(law.zero_mass, numbers))


def interpolation(
    target: ThresholdProblem | HasLaw | Law,
    noise: Fraction | float | str | None = None,
    tokens: int | None = None,
    digits: int = 50,
    width: Fraction | float | str | None = None,
    *,
    model: str | None = None,
    norms: Fraction | float | str | None = None,
) -> Threshold:
    """Return the sample ratio below which the training loss can be zero, for label noise Delta > 0.

    If eigenvalues of either sign are learned, it is the number of parameters divided by the number
    of label numbers, for any target and noise.

    Source: theory note, section 5; arXiv 2509.24914, Corollary 3.2.

    Args:
        target: a Problem, which states all other arguments except `digits`; or the law of the
            eigenvalues of S0, not all of it at 0, in float64 or exact. Fractions, Decimals and
            texts such as "1/3" are exact; a float is its binary value, with a warning from
            FLOAT_DIGITS digits on.
        noise: Delta > 0, variance of the label noise inside the softmax.
        tokens: T >= 2; default 2.
        digits: significant digits, 1 to MAX_DIGITS (digits times eigenvalues up to MAX_WORK for
            finite lists).
        width: kappa > 0, rank limit of the student, default 1; for kappa < 1 the value is replica
            symmetric.
        model: name of a model; default: tied attention, or the model of an exact law.
        norms: variance of the squared norm of a token x over tr C^2, for isotropic tokens and width
            >= 1; default 2, Gaussian tokens; 0 for fixed norms.

    Raises:
        ValueError: an argument is invalid.
        Unresolved: the digits could not be proven.

    >>> from attention_erm import MarchenkoPastur, interpolation
    >>> interpolation(MarchenkoPastur("1/10"), noise="1/5", digits=30).value
    '0.134638324982951802313095216701'
    >>> interpolation(MarchenkoPastur(0.5), noise=1, digits=12, model="quadratic_network").value
    '0.291101050145'
    >>> interpolation(MarchenkoPastur(0.5), noise=1, digits=12, norms=0).value
    '0.188852062183'
    """
    setting = setting_of(
        "interpolation",
        target,
        digits,
        noise=noise,
        tokens=tokens,
        width=width,
        model=model,
        norms=norms,
    )
    law, numbers, noise, width = setting.law, setting.numbers, setting.noise, setting.width
    rule = "must be positive for the interpolation threshold; use recovery() at zero noise"
    require(noise > 0, "noise", noise, rule)
    if structure(law.model).matrix is not MatrixClass.POSITIVE:
        return exact_threshold(setting, law.generated.interpolation_count(numbers))
    energy = rank_limited_energy(law, width) if width < 1 else full_rank_energy(law)
    condition = Condition(law, noise, energy)
    if setting.has_norms:
        return interpolation_of_norms(setting, condition)

    def ratio(v: Ball) -> Ball:
        return law.generated.interpolation_ratio(condition.energy(v).J_v, ball(numbers))

    def isolated() -> Isolation:
        low, high = condition.bounds(width)
        if width >= 1:
            return Isolation([locate(condition, low, high)], True)
        boxes = MAX_BOXES
        if isinstance(law, FiniteLaw):
            boxes = max(100, MAX_FINITE_BOXES * 10 // (10 + len(law)))
        return isolate(condition, low, high, condition.excludes, boxes)

    # E - q0 is compared with Delta/2, and decreases with it.
    lost = max(0, -2 * exponent(noise))
    choice, bound = CHOICE_FULL, None
    if width < 1:
        choice, bound = CHOICE_LIMITED, law.generated.manifold_bound(width, numbers)
    return prove_threshold(setting, isolated, condition, ratio, lost, choice, bound)
