"""Interpolation threshold: sample ratio below which the training loss can be zero.

Source: theory note, section 5.
"""

from dataclasses import replace
from fractions import Fraction

from attention_erm.runtime.errors import InvalidParameter
from numeric.maths.ball_roots import Isolation, isolate, locate
from numeric.maths.balls import Ball, ball, decimal, digit_bits, working
from numeric.model import MatrixClass, structure
from numeric.proven_laws.finite import FiniteLaw
from numeric.proven_laws.law import HasLaw, Law, require
from numeric.thresholds.interpolation_norms import interpolation_of_norms
from numeric.thresholds.interpolation_roots import Condition, full_rank_energy
from numeric.thresholds.proven_digits import (
    at_rising_precision,
    exact_threshold,
    exponent,
    prove_threshold,
)
from numeric.thresholds.rank_limited_energy import rank_limited_energy
from numeric.thresholds.repeated_noise import RepeatedNoise
from numeric.thresholds.setting import Setting, Threshold, ThresholdProblem, setting_of

# Boxes in the search for all roots at width < 1, for a law in closed form: ten seconds.
MAX_BOXES = 20_000
# Boxes for a finite list of up to ten eigenvalues; longer lists get fewer.
MAX_FINITE_BOXES = 600
_BITS = 8  # guard bits for each further digit of an enclosure

CHOICE_FULL = (
    "the only root: E(v) - q0 = delta psi(delta) with psi >= 0 not decreasing for width >= 1"
)
CHOICE_GIANT = "where a giant component appears, whose labels contradict each other"
CHOICE_REPEATED = "the only root: new tokens with the noise raised by shared tokens"
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
    if setting.vocabulary is not None:
        rule, ratio = "is not derived for the limit of interpolation", setting.vocabulary.ratio
        raise InvalidParameter("vocabulary", float(ratio), rule, "leave it out: new tokens")
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
    vocabulary: Fraction | float | str | None = None,
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
        vocabulary: nu = N/d^2 for tokens that are drawn from N vectors, for width >= 1; default:
            new tokens in every sample.

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
    >>> interpolation(MarchenkoPastur(0.5), noise=1, digits=12, vocabulary=1).value
    '0.141805425417'
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
        vocabulary=vocabulary,
    )
    rule = "must be positive for the interpolation threshold; use recovery() at zero noise"
    require(setting.noise > 0, "noise", setting.noise, rule)
    return _of_new_tokens(setting) if setting.vocabulary is None else _of_vocabulary(setting)


def _of_vocabulary(setting: Setting) -> Threshold:
    """Return the threshold if tokens come from a finite vocabulary.

    It is that of new tokens with larger noise; if even pure noise is fitted until the giant
    component appears, it is there.
    """
    law, numbers, equations = setting.law, setting.numbers, setting.vocabulary
    assert equations is not None
    alone = replace(setting, vocabulary=None)
    positive = structure(law.model).matrix is MatrixClass.POSITIVE
    if positive:
        of_pure_noise = law.generated.interpolation_limit(Fraction(1), numbers)
    else:
        of_pure_noise = law.generated.interpolation_count(numbers)
    if equations.free <= of_pure_noise:
        found = exact_threshold(alone, equations.free)
        return replace(found, choice=f"{CHOICE_GIANT}: {equations.free}")
    if not positive:
        return exact_threshold(alone, of_pure_noise)

    def of_new(noise: Fraction, digits: int) -> str:
        return _of_new_tokens(replace(alone, noise=noise, digits=digits)).value

    def attempt(guard: int) -> Threshold | None:
        digits = setting.digits + guard // _BITS
        noise = RepeatedNoise(equations)
        enclosed = noise.interpolation(setting.noise, of_new, of_pure_noise, digits)
        with working(digit_bits(digits) + guard):
            text = decimal(enclosed, setting.digits)
        return setting.threshold((text,), True, CHOICE_REPEATED) if text else None

    return at_rising_precision(setting, attempt, 0)


def _of_new_tokens(setting: Setting) -> Threshold:
    """Return the threshold if every sample has new tokens."""
    law, numbers, noise, width = setting.law, setting.numbers, setting.noise, setting.width
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
