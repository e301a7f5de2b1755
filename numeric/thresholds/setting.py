"""Setting of a threshold: a problem, or a target with noise, tokens, width and model; and the
threshold itself.
"""

import logging
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.norms import GAUSSIAN_NORMS
from numeric.maths.balls import Ball
from numeric.maths.domain import exact_or_float, integer, prints_another_number
from numeric.model import MatrixClass, call, structure
from numeric.model_files import known_model
from numeric.proven_laws.finite import FiniteLaw
from numeric.proven_laws.law import HasLaw, Law, law_of, require
from numeric.proven_laws.subordinated import NullSpace
from numeric.thresholds.vocabulary import VocabularyEquations

MAX_DIGITS = 10_000  # takes one second for a law in closed form
MAX_WORK = 500_000  # digits times eigenvalues of a finite list: takes some minutes
FLOAT_DIGITS = 17  # from so many digits on, a float is told apart from the decimal it prints as
#: Kinds of thresholds of noisy labels; the others are those without noise.
WITH_NOISE = ("interpolation", "weak-recovery")
_LOG = logging.getLogger(__name__)


class ThresholdProblem(Protocol):
    """A problem in float64, numeric.Problem, as far as thresholds use it."""

    target: Any
    noise: float
    tokens: int
    width: float
    beta: float
    beta0: float
    model: str
    parametrisation: str
    norms: float
    vocabulary: float

    def exact_law(self) -> Law:
        """Return the target law in ball arithmetic, with the equations of the model."""


@dataclass(frozen=True)
class Threshold:
    """A critical sample ratio alpha = n/d^2 (dimensionless).

    kind: name of the threshold.
    value: decimal string, all `digits` significant digits proven in ball arithmetic.
    model: name of the model.
    target: target as text.
    noise: label noise Delta; None for thresholds without noise.
    tokens: T.
    width: kappa.
    roots: proven decimal values at all roots of the condition.
    complete: there are provably no further roots.
    choice: reason why `value` is the threshold.
    upper_bound: exact sample ratio from a count of parameters, above which the training loss is
        positive even beyond replica symmetry; None if it does not bind.
    """

    kind: str
    value: str
    digits: int
    model: str
    target: str
    noise: str | None
    tokens: int
    width: str
    roots: tuple[str, ...]
    complete: bool
    choice: str
    upper_bound: str | None = None

    def __float__(self) -> float:
        return float(self.value)


@dataclass(frozen=True)
class Setting:
    """Valid setting of a threshold.

    Attributes:
        kind: name of the threshold.
        law: law of the target, with the equations of the model.
        target: target as text.
        noise: label noise Delta; 0 for thresholds without noise.
        tokens: T.
        width: kappa.
        digits: significant digits.
        null_space: function that returns the covariance of the tokens on the null space of the
            target; None for isotropic tokens.
        norms: variance of the squared norm of a token over tr C^2, with C the covariance.
        vocabulary: equations of a finite vocabulary; None for new tokens in every sample.
    """

    kind: str
    law: Law
    target: str
    noise: Fraction
    tokens: int
    width: Fraction
    digits: int
    null_space: Callable[[], NullSpace] | None = None
    norms: Fraction = Fraction(GAUSSIAN_NORMS)
    vocabulary: VocabularyEquations | None = None

    @property
    def has_norms(self) -> bool:
        """True if the norms of tokens are not Gaussian."""
        return self.norms != GAUSSIAN_NORMS

    @property
    def norm_gain(self) -> Fraction:
        """(2 - w) times the mean share of scores of a token with itself; 1 if labels do not see a
        multiple of the covariance at all.
        """
        given = {"T": Fraction(self.tokens)}
        share, whole = map(Fraction, call(self.law.generated.mean_norm_share, (), given))
        return (Fraction(GAUSSIAN_NORMS) - self.norms) * share / whole

    def samples_worth(self, alpha: Ball) -> Ball:
        """Return the sample ratio whose labels are worth those of `alpha` with new tokens."""
        return alpha if self.vocabulary is None else self.vocabulary.worth(alpha)

    @property
    def numbers(self) -> Fraction:
        """Count D of numbers in a label."""
        given = {"T": Fraction(self.tokens)}
        return Fraction(call(self.law.generated.label_numbers, (), given))

    def threshold(
        self, roots: tuple[str, ...], complete: bool, choice: str, bound: str | None = None
    ) -> Threshold:
        """Return the threshold of this setting.

        Args:
            roots: decimal values at all roots, the threshold first.
            complete: whether there are provably no further roots.
            choice: reason why the first root is the threshold.
            bound: upper bound on the sample ratio.
        """
        noise = str(self.noise) if self.kind in WITH_NOISE and self.noise else None
        return Threshold(
            self.kind,
            roots[0],
            self.digits,
            self.law.model,
            self.target,
            noise,
            self.tokens,
            str(self.width),
            roots,
            complete,
            choice,
            bound,
        )


def setting_of(
    kind: str,
    target: ThresholdProblem | HasLaw | Law,
    digits: int,
    *,
    noise: object = None,
    tokens: int | None = None,
    width: object = None,
    model: str | None = None,
    norms: object = None,
    vocabulary: object = None,
) -> Setting:
    """Check the arguments of a threshold.

    Args:
        kind: name of the threshold.
        target: a problem, a target in float64, or an exact law.
        digits: significant digits.
        noise: Delta, without a problem; default 0.
        tokens: T, without a problem; default 2.
        width: rank limit of the student, without a problem; default 1.
        model: name of a model, without a problem; default: the model of the law, which is tied
            attention for a target of any model.
        norms: norms of the tokens, without a problem; default Gaussian.
        vocabulary: number of tokens over d^2; default infinite.

    Raises:
        InvalidParameter: an argument is invalid, or it is given besides a problem.
        ValueError: a number is outside its domain.
    """
    given = {"noise": noise, "tokens": tokens, "width": width, "model": model, "norms": norms}
    stated: Any = target
    if hasattr(target, "exact_law"):
        law, given = _of_problem(kind, stated, given)
        stated = stated.target
    else:
        law = _law_of_model(target, model)
    numbers = {
        name: exact_or_float(name, default if given[name] is None else given[name])
        for name, default in (("noise", 0), ("width", 1), ("norms", GAUSSIAN_NORMS))
    }
    digits = integer("digits", digits)
    require(1 <= digits <= MAX_DIGITS, "digits", digits, f"must be from 1 to {MAX_DIGITS}")
    if digits >= FLOAT_DIGITS:
        _warn_of_floats({**_floats_of(stated), **numbers}, digits)
    noise, width, of_norms = (Fraction(numbers[name]) for name in ("noise", "width", "norms"))
    tokens = integer("tokens", 2 if given["tokens"] is None else given["tokens"])
    null_space = getattr(stated, "null_space", None)
    if null_space is not None and kind in ("bayes", "weak-recovery"):
        stated.refuse(f"the {kind} threshold")
    parts = noise, tokens, width, digits, null_space, of_norms
    setting = Setting(kind, law, repr(stated), *parts)
    _require_valid(setting)
    if setting.has_norms:
        _require_norms(setting)
    if (of_problem := getattr(target, "vocabulary", math.inf)) != math.inf:
        if vocabulary is not None:
            rule = "is also stated by the problem"
            raise InvalidParameter("vocabulary", vocabulary, rule, "give it once")
        require_vocabulary(kind, of_problem)
        vocabulary = of_problem
    return setting if vocabulary is None else _with_vocabulary(setting, vocabulary)


def require_vocabulary(kind: str, vocabulary: Fraction | float) -> None:
    """Check that the threshold is derived for a vocabulary.

    Args:
        kind: name of the threshold.
        vocabulary: number of tokens over d^2.

    Raises:
        InvalidParameter: it is not.
    """
    if kind not in ("recovery", "interpolation"):
        rule = f"is not derived for the {kind} threshold"
        raise InvalidParameter("vocabulary", vocabulary, rule, "leave it out: new tokens")


def _with_vocabulary(setting: Setting, vocabulary: object) -> Setting:
    """Return the setting with tokens of a finite vocabulary.

    Raises:
        InvalidParameter: the number is not positive, or none is derived for the model.
    """
    model, generated = setting.law.model, setting.law.generated
    ratio = Fraction(exact_or_float("vocabulary", vocabulary))
    rule = "must be positive: the number of tokens over d^2"
    require(ratio > 0, "vocabulary", float(ratio), rule)
    if reason := structure(model).missing_vocabulary:
        raise InvalidParameter("vocabulary", float(ratio), f"{reason} ({model})", "leave it out")
    equations = VocabularyEquations(ratio, generated, setting.tokens, setting.numbers)
    if setting.kind == "interpolation":
        rule = f"leaves no labels of {model} fitted: a token that repeats shows one number with "
        rule += "different noises"
        way_out = "leave it out: new tokens"
        if not equations.free > 0:
            raise InvalidParameter("vocabulary", float(ratio), rule, way_out)
        rule = "is derived for interpolation with Gaussian norms and width >= 1 only"
        if setting.has_norms or setting.width < 1:
            raise InvalidParameter("vocabulary", float(ratio), rule, way_out)
    return replace(setting, vocabulary=equations)


def _of_problem(
    kind: str, problem: ThresholdProblem, given: dict[str, object]
) -> tuple[Law, dict[str, object]]:
    """Return the law and the arguments that a problem states."""
    for name, value in given.items():
        if value is not None:
            rule = "is stated by the problem"
            raise InvalidParameter(name, value, rule, "omit it, or give problem.target instead")
    if problem.parametrisation != "factorised":
        rule = "has its thresholds in a model of direct training"
        way_out = 'give problem.target with model="direct_symmetric" or "direct_general"'
        raise InvalidParameter("parametrisation", problem.parametrisation, rule, way_out)
    if kind == "recovery" and problem.beta != problem.beta0:
        rule = f"must equal beta0 = {problem.beta0:g} for recovery"
        raise InvalidParameter("beta", problem.beta, rule, "give both the same value")
    noise = problem.noise if kind in WITH_NOISE else None
    width = problem.width if kind in ("interpolation", "recovery") else None
    law = law_of(problem.exact_law())
    given = {"noise": noise, "tokens": problem.tokens, "width": width, "norms": problem.norms}
    return law, given


def _require_norms(setting: Setting) -> None:
    """Check that the threshold is derived for other norms than Gaussian ones.

    Raises:
        InvalidParameter: it is not, or the norms have no effect.
    """
    norms, model = float(setting.norms), setting.law.model
    rule, way_out = "must not be negative", "use 0 for fixed norms, 2 for Gaussian ones"
    require(norms >= 0, "norms", norms, rule)
    rule = f"changes nothing in the model {model}: no score is of a token with itself"
    if not structure(model).has_norms:
        raise InvalidParameter("norms", norms, rule, "leave it out")
    if structure(model).matrix is not MatrixClass.POSITIVE:
        rule = "has no theory for eigenvalues of either sign"
        raise InvalidParameter("norms", norms, rule, "use Gaussian norms, 2")
    derived = {"interpolation": setting.width >= 1, "recovery": True}.get(setting.kind, False)
    if setting.null_space is not None or not derived:
        limit = " with a covariance" if setting.null_space is not None else ""
        limit += " at width < 1" if setting.kind == "interpolation" and setting.width < 1 else ""
        rule = f"is not derived for the {setting.kind} threshold{limit}"
        raise InvalidParameter("norms", norms, rule, way_out)


def _law_of_model(target: Any, model: str | None) -> Law:
    """Return the law of a target, with the equations of a model if one is given.

    Raises:
        InvalidParameter: the model is unknown, or the target does not belong to its class.
    """
    law = law_of(target)
    if model is None:
        return law
    model = known_model(model)
    if target is not law:  # imported late: threshold commands do without NumPy
        from numeric.laws.target_class import require_target_class

        require_target_class(target, model, structure(model).has_linear_penalty)
    return law_of(law.of_model(model))


def _floats_of(target: Any) -> dict[str, object]:
    """Return the parameters of a target by name, as given: floats, or exact numbers."""
    return dict(_parameters_of(target))


def _parameters_of(target: Any) -> Iterator[tuple[str, object]]:
    if hasattr(target, "stated_floats"):
        yield from target.stated_floats
    elif hasattr(target, "kappa0"):
        yield from zip(("kappa0", "scale"), target.exact_parameters, strict=True)
    elif hasattr(target, "eigenvalues"):
        pairs = target.exact_parameters or zip(target.eigenvalues, target.weights, strict=True)
        for name, values in zip(("eigenvalues", "weights"), zip(*pairs, strict=True), strict=True):
            yield name, next(filter(prints_another_number, values), None)
    elif hasattr(target, "settings"):
        names = structure(target.model).target_settings
        yield from zip(names, target.settings, strict=True)


def _warn_of_floats(numbers: dict[str, object], digits: int) -> None:
    """Warn if an argument is a float that differs from the decimal number that it prints as."""
    for name, value in numbers.items():
        if prints_another_number(value):
            binary = f"{Decimal(value):.{digits}g}"  # type: ignore[arg-type]
            _LOG.warning(
                "%s = %r is the binary number %s, and the digits are those of this number; for %r "
                'give an exact number: Fraction("%r") or "%r"',
                *(name, value, binary, value, value, value),
            )


def _require_valid(setting: Setting) -> None:
    """Check the conditions that all kinds of thresholds have in common.

    Raises:
        InvalidParameter: the model has no such threshold, or does not have a setting.
        ValueError: a number is outside its domain.
    """
    law, tokens, width, digits = setting.law, setting.tokens, setting.width, setting.digits
    model, shape = law.model, structure(law.model)
    require(width > 0, "width", width, "must be positive")
    require(tokens >= 2, "tokens", tokens, "must be at least 2")
    if reason := shape.missing_thresholds.get(setting.kind):
        raise InvalidParameter(
            "model", model, f"has no {setting.kind} threshold: {reason}", "choose another"
        )
    if tokens != 2 and not shape.takes_tokens:
        rule = f"is not a setting of the model {model}, whose file fixes it"
        raise InvalidParameter("tokens", tokens, rule, "leave it out")
    if width != 1 and "kappa" not in shape.penalty_settings:
        rule = f"is not a setting of the model {model}"
        raise InvalidParameter("width", width, rule, "leave it at 1")
    if width < 1 and shape.matrix is not MatrixClass.POSITIVE:
        rule = "must be at least 1 if eigenvalues of either sign are learned"
        raise InvalidParameter("width", width, rule, "use 1")
    if isinstance(law, FiniteLaw):
        rule = f"times {len(law)} eigenvalues must not exceed {MAX_WORK}"
        require(digits * len(law) <= MAX_WORK, "digits", digits, rule)
        if shape.matrix is MatrixClass.POSITIVE:
            least = min((s for s, _ in law.atoms()), key=float)
            rule = f"must not be negative: {model} has positive targets"
            require(not least < 0, "eigenvalues", float(least), rule)
    require(law.zero_mass < 1, "law", "all eigenvalues 0", "the target must not be zero")
