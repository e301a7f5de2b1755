"""A learning problem: parameters of the model, validated on construction."""

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.covariance.target import CovarianceTarget
from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.law import Array, Target
from numeric.laws.norms import GAUSSIAN_NORMS, NORMS
from numeric.laws.rational_target import RationalTarget
from numeric.laws.target_class import require_target_class
from numeric.maths.domain import integer, positive, real, require, require_kind
from numeric.model import (
    COMMON,
    DEFAULT,
    ChannelKind,
    MatrixClass,
    ModelStructure,
    call,
    functions,
    structure,
)
from numeric.model_files import known_model
from numeric.proven_laws.law import Law, require_target

MOST_TOKENS = 12  # each sample minimises over T(T+1)/2 numbers
_BY_NAME = "give them by name, such as {'mu': 0.1}"
_SYMBOLS = {"beta": "beta", "beta0": "beta0", "width": "kappa"}  #: names of fields in equations


class Parametrisation(enum.StrEnum):
    """Trained parameters.

    FACTORISED: factors W with weight decay lambda ||W||^2. SYMMETRIC and GENERAL: the matrix A
    with penalty lambda d ||A||_F^2.
    """

    FACTORISED = "factorised"
    SYMMETRIC = "symmetric"
    GENERAL = "general"


class SampleMinimum(enum.StrEnum):
    """Minimum of the Moreau energy taken by a sample.

    GLOBAL: the lowest minimum. FITTED: the minimum connected to an index that reproduces the label.
    """

    GLOBAL = "global"
    FITTED = "fitted"


def model_setting_names(model: str) -> tuple[str, ...]:
    """Return the names of the settings of a model's penalty, noise and channel."""
    parts = structure(model)
    return tuple(
        dict.fromkeys((*parts.penalty_settings, *parts.noise_settings, *parts.channel_settings))
    )


def extra_setting_names(model: str) -> tuple[str, ...]:
    """Return the names of the settings in `Problem.extra`, which are not fields of a Problem."""
    return tuple(name for name in model_setting_names(model) if name not in COMMON)


@dataclass(frozen=True)
class Problem:
    """Empirical risk minimisation of tied attention in the limit d -> infinity.

    See section 1 of the theory note.

    Attributes:
        alpha: sample ratio n/d^2.
        target: law of the eigenvalues of S0.
        lambda_: weight decay on W; 0 is the limit lambda -> 0.
        noise: variance Delta of the label noise.
        width: rank of the student over d; not used by direct training.
        tokens: number of tokens T.
        beta: inverse temperature of the student.
        beta0: inverse temperature of the target.
        parametrisation: trained parameters.
        leading: number of largest eigenvalues of a list whose indices keep their non-Gaussian law
            on token sequences (theory note, section 10).
        sample_minimum: minimum taken by a sample with several minima, see
            docs/explanation/weak_decay.md.
        norms: variance of the squared norm of a token x over tr C^2, with C the covariance of
            tokens: 2 or "gaussian" for Gaussian tokens, 0 or "fixed" for tokens of fixed norm.
        vocabulary: number of tokens over d^2 from which samples draw theirs (theory note, section
            14); infinite, by default, for new tokens in every sample.
        model: name of a generated model; or a model file of your own, as a path or a module.
        extra: further settings of the model, as a mapping or as pairs of name and value.

    Raises:
        InvalidParameter: a parameter is outside its domain.

    >>> from attention_erm import MarchenkoPastur, Problem
    >>> problem = Problem(alpha=0.5, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5)
    >>> problem.at(2).alpha, problem.tokens, round(problem.q0, 12)
    (2.0, 2, 1.5)
    """

    alpha: float
    target: Target
    lambda_: float
    noise: float
    width: float = 1.0
    tokens: int = 2
    beta: float = 1.0
    beta0: float = 1.0
    parametrisation: Parametrisation = Parametrisation.FACTORISED
    leading: int = 0
    sample_minimum: SampleMinimum = SampleMinimum.GLOBAL
    norms: float = GAUSSIAN_NORMS
    vocabulary: float = math.inf
    model: str = DEFAULT
    extra: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        require_target(self.target)
        self._normalise_types()
        factorised = self.parametrisation is Parametrisation.FACTORISED
        rule = "must be positive for direct training: many matrices fit at 0"
        require(self.lambda_ != 0 or factorised, "lambda_", 0, rule, "use 1e-6")
        object.__setattr__(self, "model", known_model(self.model))
        self._require_model()
        for name in ("alpha", "width", "beta", "beta0"):
            positive(name, getattr(self, name))
        for name in ("lambda_", "noise"):
            value = getattr(self, name)
            require(0 <= value < math.inf, name, value, "must be finite and not negative", "use 0")
        rule = f"must be an integer from 2 to {MOST_TOKENS}"
        require(2 <= self.tokens <= MOST_TOKENS, "tokens", self.tokens, rule, "try 2")
        if self.leading:
            self._require_leading_features()
        if self.has_covariance:
            self._require_covariance()
        if self.has_norms:
            self._require_norms()
        if self.has_vocabulary:
            self._require_vocabulary()

    def _normalise_types(self) -> None:
        """Convert numbers to Python types and names to enums."""
        if isinstance(self.norms, str):
            rule, way_out = "must be a number, or one of " + ", ".join(NORMS), 'use "fixed"'
            require(self.norms in NORMS, "norms", self.norms, rule, way_out)
            object.__setattr__(self, "norms", NORMS[self.norms])
        for name in ("alpha", "lambda_", "noise", "width", "beta", "beta0", "norms", "vocabulary"):
            object.__setattr__(self, name, real(name, getattr(self, name)))
        for name in ("tokens", "leading"):
            object.__setattr__(self, name, integer(name, getattr(self, name)))
        for name, kind in (("parametrisation", Parametrisation), ("sample_minimum", SampleMinimum)):
            value = getattr(self, name)
            rule = f"must be one of {', '.join(kind)}"
            require(value in set(kind), name, value, rule, f"try {next(iter(kind))}")
            object.__setattr__(self, name, kind(value))
        extra: Any = self.extra
        try:
            pairs = [
                (name, value)
                for name, value in (sorted(extra.items()) if isinstance(extra, Mapping) else extra)
            ]
        except (TypeError, ValueError):
            rule = "must map names to values"
            raise InvalidParameter("extra", extra, rule, _BY_NAME) from None
        object.__setattr__(self, "extra", tuple((name, real(name, value)) for name, value in pairs))

    def _require_model(self) -> None:
        """Check that the model exists and supports all settings.

        Raises:
            InvalidParameter: it does not.
        """
        model = self.model
        require_target_class(self.target, model, self.trains_factors)
        needed, given = extra_setting_names(model), sorted(name for name, _ in self.extra)
        rule = f"must state {', '.join(needed) or 'nothing'} for the model {model}"
        require(given == sorted(needed), "extra", self.extra, rule, _BY_NAME)
        for name in (*_SYMBOLS, "tokens", "parametrisation", "leading", "sample_minimum"):
            value, default = getattr(self, name), type(self).__dataclass_fields__[name].default
            rule = f"is not a setting of the model {model}"
            require(
                value == default or self.takes(name), name, value, rule, f"leave it at {default}"
            )
        rule = f"has no limit derived for the model {model}"
        tokens = self.has_norms or self.has_vocabulary  # of which the rules are checked later
        limit = self.has_zero_decay or tokens
        require(self.lambda_ != 0 or limit, "lambda_", 0, rule, "use a small value")
        rule = f"a {self.parametrisation} matrix has no rank limit"
        factors = self.parametrisation is Parametrisation.FACTORISED
        require(self.width == 1 or factors, "width", self.width, rule, "leave it at 1")
        rule = "must be 1 or more if eigenvalues of either sign are learned: a limit cuts both ends"
        require(self.width >= 1 or not self.is_indefinite, "width", self.width, rule, "use 1")

    def _require_covariance(self) -> None:
        """Check that the theory of a covariance of tokens covers the problem.

        Raises:
            InvalidParameter: it does not.
        """
        if self.trains_factors:
            if self.is_indefinite:
                self.require_isotropic("factors of matrices of either sign")
            if self.frobenius:
                self.require_isotropic("a trace penalty together with a quadratic one")

    def _require_norms(self) -> None:
        """Check that the theory of norms of tokens covers the problem.

        Raises:
            InvalidParameter: it does not.
        """
        rule, way_out = "must be finite and not negative", 'use "fixed" or "gaussian"'
        require(0 <= self.norms < math.inf, "norms", self.norms, rule, way_out)
        rule = f"changes nothing in the model {self.model}: no score is of a token with itself"
        require(self._structure.has_norms, "norms", self.norms, rule, "leave it out")
        for what, covered in (
            ("training of other matrices than positive factors", self.trains_factors),
            ("eigenvalues of either sign", not self.is_indefinite),
            ("leading features treated exactly", not self.leading),
            ("the fitted branch", not self.follows_label),
            ("the limit lambda -> 0", self.lambda_ > 0),
        ):
            self.require_gaussian_norms(what, covered)

    def _require_vocabulary(self) -> None:
        """Check that the theory of a finite vocabulary covers the problem.

        Raises:
            InvalidParameter: it does not.
        """
        rule = "must be positive, the number of tokens over d^2"
        require(self.vocabulary > 0, "vocabulary", self.vocabulary, rule, "use 0.2")
        reason = self._structure.missing_vocabulary
        rule = f"{reason} (model {self.model})"
        derived = self._structure.has_norms and self.is_smooth
        require(derived, "vocabulary", self.vocabulary, rule, "leave it out")
        for what, covered in (
            ("training of general matrices", self.parametrisation is not Parametrisation.GENERAL),
            ("leading features treated exactly", not self.leading),
            ("the fitted branch", not self.follows_label),
            ("the limit lambda -> 0", self.lambda_ > 0),
        ):
            self.require_new_tokens(what, covered)

    def require_new_tokens(self, what: str, covered: bool = False) -> None:
        """Check that every sample has new tokens.

        Args:
            what: what is not derived for a finite vocabulary.
            covered: True if it is derived.

        Raises:
            InvalidParameter: tokens come from a finite vocabulary.
        """
        rule, allowed = f"has no theory for {what}", covered or not self.has_vocabulary
        require(allowed, "vocabulary", self.vocabulary, rule, "leave it out: new tokens")

    def require_index_as_label(self, what: str) -> None:
        """Check that labels are smooth functions of the index, and so is the loss.

        Args:
            what: what is not derived for others.

        Raises:
            InvalidParameter: labels are classes, or the loss has kinks.
        """
        rule = f"has no theory for {what}: its labels are classes, or its loss has kinks"
        require(self.is_smooth, "model", self.model, rule, "choose e.g. tied_attention")

    @property
    def is_smooth(self) -> bool:
        """True if labels are no classes, and neither they nor the loss have kinks."""
        shape = self._structure
        return not (shape.draws or self.has_kinks or any(block.borders for block in shape.blocks))

    @property
    def has_kinks(self) -> bool:
        """True if the loss of a sample has kinks or jumps."""
        return any(block.kinks for block in self._structure.blocks)

    def require_gaussian_norms(self, what: str, covered: bool = False) -> None:
        """Check that tokens have Gaussian norms.

        Args:
            what: what is not derived for other norms.
            covered: True if it is derived.

        Raises:
            InvalidParameter: they have others.
        """
        rule = f"has no theory for {what}"
        require(covered or not self.has_norms, "norms", self.norms, rule, "use Gaussian norms, 2")

    def _require_leading_features(self) -> None:
        """Check that the leading features can be treated exactly.

        Raises:
            InvalidParameter: they cannot.
        """
        leading = self.leading
        if not isinstance(self.target, Eigenvalues):
            rule = "must be a number of eigenvalues of a list"
            raise InvalidParameter("leading", leading, rule, "use 0 for other targets")
        weights = self.target.weights
        rule = f"must be below {len(weights)}, the number of distinct eigenvalues"
        require(0 < leading < len(weights), "leading", leading, rule, "use fewer")
        single = set(weights[-leading:]) == {min(weights)}  # equal eigenvalues share one weight
        rule = "requires that the largest eigenvalues are single, of weight 1/d each"
        require(single, "leading", leading, rule, "move equal ones apart")
        allowed = self.lambda_ > 0 and self.parametrisation is Parametrisation.FACTORISED
        rule = "requires factors with a positive lambda_"
        require(allowed, "leading", leading, rule, "use 0")

    def takes(self, name: str) -> bool:
        """Return whether the model supports values of this field other than the default."""
        if name in _SYMBOLS:
            return _SYMBOLS[name] in model_setting_names(self.model)
        return self._structure.takes_tokens and (name == "tokens" or self.model == DEFAULT)

    @property
    def _structure(self) -> ModelStructure:
        return structure(self.model)

    @property
    def generated(self) -> ModuleType:
        """Generated functions of the model in float64."""
        return functions("float64", self.model)

    @property
    def channel(self) -> ChannelKind:
        """Kind of the channel of the model."""
        return self._structure.channel

    @property
    def is_indefinite(self) -> bool:
        """True if eigenvalues of either sign are learned: S need not be positive."""
        return self._structure.matrix is not MatrixClass.POSITIVE

    def has_threshold(self, kind: str) -> bool:
        """Return whether the model has a threshold of this kind."""
        return kind not in self._structure.missing_thresholds

    @property
    def has_zero_decay(self) -> bool:
        """True if the limit lambda -> 0 is solved: factors, labels that determine the index, and
        Gaussian norms.
        """
        has_limit = self.trains_factors and self.has_threshold("recovery")
        return has_limit and not (self.has_norms or self.has_vocabulary)

    @property
    def has_singular_values(self) -> bool:
        """True if the matrices of the model are general and given by their singular values."""
        return self._structure.has_singular_values

    def exact_law(self) -> Law:
        """Return the target law in ball arithmetic, with the equations of the model."""
        return self.target.exact().of_model(self.model)

    @property
    def has_covariance(self) -> bool:
        """True if the tokens have a covariance; overlaps are then those of whitened matrices."""
        return isinstance(self.target, CovarianceTarget)

    @property
    def has_norms(self) -> bool:
        """True if the norms of tokens are not those of Gaussian tokens."""
        return self.norms != GAUSSIAN_NORMS

    @property
    def has_vocabulary(self) -> bool:
        """True if the tokens come from a finite vocabulary."""
        return self.vocabulary != math.inf

    @property
    def label_quantities(self) -> tuple[str, ...]:
        """Quantities of labels with a few values; empty if labels have more, or are not predicted
        each by itself.
        """
        draws = self._structure.draws
        if not (draws and all(draw.directions for draw in draws)):
            return ()
        stated = ("calibration",) if self._structure.is_log_likelihood else ()
        return ("misclassification", *stated, "agreement")

    @property
    def of_new_tokens(self) -> "Problem":
        """The same problem with new tokens in every sample."""
        return replace(self, vocabulary=math.inf)

    @property
    def covariance_square(self) -> float:
        """Mean square of the eigenvalues of the covariance of tokens, 1 if it is isotropic."""
        return self.target.square if isinstance(self.target, CovarianceTarget) else 1.0

    @property
    def norm_overlap(self) -> float:
        """Overlap t0 = tr(C S0)/tr(C^2) of the target with the covariance, eigenvalue."""
        if isinstance(self.target, CovarianceTarget):
            return self.target.norm_overlap
        return self.target.t0

    @property
    def norm_deficit(self) -> float:
        """Variance of the squared norm of a Gaussian token minus that of these tokens, over d."""
        return (GAUSSIAN_NORMS - self.norms) * self.covariance_square

    def require_isotropic(self, what: str) -> None:
        """Check that the tokens are isotropic Gaussian vectors.

        Args:
            what: what is not derived for tokens with a covariance, or with other norms.

        Raises:
            InvalidParameter: they have one, or other norms.
        """
        self.require_gaussian_norms(what)
        self.require_new_tokens(what)
        if isinstance(self.target, CovarianceTarget):
            self.target.refuse(what)

    @property
    def follows_label(self) -> bool:
        """True if a sample takes the minimum connected to its label."""
        return self.sample_minimum is SampleMinimum.FITTED

    @property
    def trains_factors(self) -> bool:
        """True if factors are trained: the penalty removes eigenvalues below a threshold."""
        return (
            self.parametrisation is Parametrisation.FACTORISED
            and self._structure.has_linear_penalty
        )

    def signed_targets(self, target: Target) -> tuple[Target, ...]:
        """Return the laws whose upper ends are learned.

        These are the target, and its mirror image if eigenvalues of either sign are learned.
        """
        if not self.is_indefinite:
            return (target,)
        assert isinstance(target, RationalTarget | Eigenvalues)  # checked in __post_init__
        return target, target.mirrored

    @property
    def penalty(self) -> tuple[float, ...]:
        """Values of the settings of the penalty, in the order of the generated functions."""
        return tuple(self.settings[name] for name in self._structure.penalty_settings)

    @property
    def frobenius(self) -> tuple[float, ...]:
        """Values of the settings of a Frobenius penalty, empty if the model has none."""
        return tuple(self.settings[name] for name in self._structure.frobenius_settings)

    @property
    def settings(self) -> dict[str, float]:
        """Values of all settings except the target's, by their names in generated functions."""
        common = (self.lambda_, self.width, self.noise, self.beta, self.beta0)
        return {**dict(zip(COMMON, common, strict=True)), **dict(self.extra)}

    @property
    def all_settings(self) -> dict[str, float]:
        """The settings, with sample ratio and number of tokens."""
        return {**self.settings, "alpha": self.alpha, "T": self.tokens}

    def at(self, alpha: float) -> "Problem":
        """Return the same problem at another sample ratio."""
        return replace(self, alpha=alpha)

    @property
    def features(self) -> tuple[Array, float]:
        """Eigenvalues of the leading features, ascending, and the weight of each."""
        if not isinstance(self.target, Eigenvalues):
            return np.zeros(0), 1.0
        s, weights = self.target.arrays
        return s[len(s) - self.leading :], float(weights[-1])

    def with_strengths(self, strengths: Array) -> "Problem":
        """Return the equivalent problem with Gaussian indices.

        The strengths, shape (features,), replace the eigenvalues of the leading features.
        """
        if not self.leading:
            return self
        assert isinstance(self.target, Eigenvalues)
        return replace(self, target=self.target.with_largest(strengths), leading=0)

    @property
    def summary(self) -> str:
        """Model, target and parameters in one line; parameters at their defaults are left out."""
        parts = [self.model, f"alpha {self.alpha:g}", str(self.target)]
        for name, key in (("lambda_", "lambda"), ("noise", "noise")):
            parts.append(f"{key} {getattr(self, name):g}")
        stated = ("parametrisation", "leading", "norms", "vocabulary")
        for name in ("width", "tokens", "beta", "beta0", *stated):
            value = getattr(self, name)
            if value != type(self).__dataclass_fields__[name].default:
                parts.append(f"{name} {value}")
        parts += [f"{name} {value:g}" for name, value in self.extra]
        return ", ".join(parts)

    @property
    def q0(self) -> float:
        """Second moment tr S0^2/d of the target."""
        return self.target.q0

    @property
    def label_numbers(self) -> float:
        """Number D of numbers in a label."""
        return float(call(self.generated.label_numbers, (), {"T": self.tokens}))

    @property
    def rho(self) -> float:
        """Variance of the noisy target index per unit of its covariance (eigenvalue^2)."""
        return float(call(self.generated.noisy_variance, (self.q0,), self.settings))


def require_problem(value: object) -> None:
    """Check that the value is a Problem.

    Raises:
        InvalidParameter: it is not.
    """
    way_out = "give Problem(alpha=..., target=..., lambda_=..., noise=...)"
    require_kind("problem", value, Problem, way_out)
