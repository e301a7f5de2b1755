"""One learning problem: parameters of the model, valid by construction."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.law import Array, Target
from numeric.laws.rational_target import RationalTarget
from numeric.maths.domain import integer, positive, real, require_kind
from numeric.model import (
    COMMON,
    DEFAULT,
    ChannelKind,
    MatrixClass,
    ModelStructure,
    available,
    call,
    functions,
    structure,
)
from numeric.proven_laws.law import Law, require_target

MOST_TOKENS = 12  # a sample is a minimisation over T(T+1)/2 numbers
_BY_NAME = "give them by name, such as {'mu': 0.1}"
_SYMBOLS = {"beta": "beta", "beta0": "beta0", "width": "kappa"}  #: by which equations know a field


class Parametrisation(enum.StrEnum):
    """What is trained: factors W with weight decay lambda ||W||^2, or the matrix A itself with penalty lambda d ||A||_F^2."""

    FACTORISED = "factorised"
    SYMMETRIC = "symmetric"
    GENERAL = "general"


class SampleMinimum(enum.StrEnum):
    """Which minimum of its Moreau energy a sample takes: the lowest, or that connected to an index that reproduces its label."""

    GLOBAL = "global"
    FITTED = "fitted"


def model_setting_names(model: str) -> tuple[str, ...]:
    """Settings of a model's penalty, noise and channel, each once."""
    parts = structure(model)
    return tuple(
        dict.fromkeys((*parts.penalty_settings, *parts.noise_settings, *parts.channel_settings))
    )


def extra_setting_names(model: str) -> tuple[str, ...]:
    """Those that no field of a Problem holds: its `extra`."""
    return tuple(name for name in model_setting_names(model) if name not in COMMON)


@dataclass(frozen=True)
class Problem:
    """Empirical risk minimisation of tied attention in the limit d -> infinity (theory note, section 1).

    alpha = n/d^2; target: law of the eigenvalues of S0; width: rank of the student over d; lambda_: weight decay on W; noise:
    variance Delta of the label noise; tokens T; beta, beta0: inverse temperatures of student and target. Direct training
    (`parametrisation` symmetric or general) has no width; lambda_ = 0 is the limit lambda -> 0. leading: so many of the largest
    eigenvalues of a list keep the law that their indices have on token sequences, which is not Gaussian (theory note, section 10).
    sample_minimum: of each sample, where it has several minima (docs/explanation/weak_decay.md).
    extra: settings that the model has beyond these, as a mapping or as pairs of name and value.

    Raises:
        InvalidParameter: a parameter outside its domain.

    >>> from attention_erm import MarchenkoPastur, Problem
    >>> problem = Problem(alpha=0.5, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5, width=0.75)
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
    model: str = DEFAULT
    extra: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        require_target(self.target)
        self._normalise_types()
        if self.lambda_ == 0 and self.parametrisation is not Parametrisation.FACTORISED:
            rule = "direct training needs a positive one, below which many matrices fit"
            raise InvalidParameter("lambda_", 0, rule, "use 1e-6")
        self._require_model()
        for name in ("alpha", "width", "beta", "beta0"):
            positive(name, getattr(self, name))
        for name in ("lambda_", "noise"):
            value = getattr(self, name)
            if not 0 <= value < float("inf"):
                raise InvalidParameter(
                    name, value, "must not be negative, and finite", "use 0 for none"
                )
        if not 2 <= self.tokens <= MOST_TOKENS:
            rule = f"must be an integer from 2 to {MOST_TOKENS}"
            raise InvalidParameter("tokens", self.tokens, rule, "try 2: one token has one label")
        if self.leading:
            self._require_leading_features()

    def _normalise_types(self) -> None:
        """Numbers of any kind as Python's own, which print, hash and compile alike; choices by their names."""
        for name in ("alpha", "lambda_", "noise", "width", "beta", "beta0"):
            object.__setattr__(self, name, real(name, getattr(self, name)))
        for name in ("tokens", "leading"):
            object.__setattr__(self, name, integer(name, getattr(self, name)))
        for name, kind in (("parametrisation", Parametrisation), ("sample_minimum", SampleMinimum)):
            value = getattr(self, name)
            if value not in set(kind):
                raise InvalidParameter(
                    name, value, f"must be one of {', '.join(kind)}", f"try {next(iter(kind))}"
                )
            object.__setattr__(self, name, kind(value))
        object.__setattr__(self, "extra", _pairs(self.extra))

    def _require_model(self) -> None:
        if self.model not in available():
            raise InvalidParameter(
                "model",
                self.model,
                "is not a generated model",
                "use one of `python -m derive list`",
            )
        self._require_target_class()
        needed = extra_setting_names(self.model)
        if sorted(name for name, _ in self.extra) != sorted(needed):
            rule = f"must state {', '.join(needed) or 'nothing'} for the model {self.model}"
            raise InvalidParameter("extra", self.extra, rule, _BY_NAME)
        self._require_supported_settings()

    def _require_target_class(self) -> None:
        """The target belongs to the class of the model's matrices."""
        if isinstance(self.target, Eigenvalues):
            if self.target.eigenvalues[0] < 0 and not self.is_indefinite:
                raise InvalidParameter(
                    "target",
                    self.target,
                    "must be positive, as S is",
                    "leave out eigenvalues below 0",
                )
            if self.has_singular_values and self.target.mirrored != self.target:
                rule = f"must hold singular values with either sign for the model {self.model}"
                raise InvalidParameter(
                    "target", self.target, rule, "use numeric.laws.eigenvalue_list.singular_values"
                )
        elif (
            self.has_singular_values or (self.is_indefinite and self.trains_factors)
        ) and not isinstance(self.target, RationalTarget):
            rule = f"must be the target of the model {self.model}, whose matrices have eigenvalues of either sign, or a list"
            raise InvalidParameter(
                "target", self.target, rule, "give a RationalTarget of this model, or Eigenvalues"
            )

    def takes(self, name: str) -> bool:
        """Whether the model uses this field, and is derived for values of it beside the default."""
        if name in _SYMBOLS:
            return _SYMBOLS[name] in model_setting_names(self.model)
        return self._structure.takes_tokens and (name == "tokens" or self.model == DEFAULT)

    def _require_supported_settings(self) -> None:
        """What the model does not use would be passed over in silence."""
        for name in (*_SYMBOLS, "tokens", "parametrisation", "leading", "sample_minimum"):
            neutral = type(self).__dataclass_fields__[name].default
            if getattr(self, name) != neutral and not self.takes(name):
                raise InvalidParameter(
                    name,
                    getattr(self, name),
                    f"is no setting of the model {self.model}",
                    f"leave it at {neutral}",
                )
        if self.lambda_ == 0 and not self.has_zero_decay:
            raise InvalidParameter(
                "lambda_",
                0,
                f"has no limit derived for the model {self.model}",
                "use a small value",
            )
        if self.width < 1 and self.is_indefinite:
            rule = "must be 1 or more where eigenvalues of either sign are learned: a rank limit cuts both ends"
            raise InvalidParameter("width", self.width, rule, "use 1")

    @property
    def _structure(self) -> ModelStructure:
        return structure(self.model)

    @property
    def generated(self) -> ModuleType:
        """The generated functions of the problem's model, in float64."""
        return functions("float64", self.model)

    @property
    def channel(self) -> ChannelKind:
        """Kind of the channel of the model."""
        return self._structure.channel

    @property
    def is_indefinite(self) -> bool:
        """Whether eigenvalues of either sign are learned: S need not be positive."""
        return self._structure.matrix is not MatrixClass.POSITIVE

    def has_threshold(self, kind: str) -> bool:
        """Whether the model has a threshold of this kind."""
        return kind not in self._structure.missing_thresholds

    @property
    def has_zero_decay(self) -> bool:
        """Whether the limit lambda -> 0 is solved: for factors of any model whose labels determine the visible index."""
        return self.trains_factors and self.has_threshold("recovery")

    @property
    def has_singular_values(self) -> bool:
        """Whether the model's matrices are general ones, known by their singular values."""
        return self._structure.has_singular_values

    def exact_law(self) -> Law:
        """The target's law in ball arithmetic, with the equations of the problem's model."""
        return self.target.exact().of_model(self.model)

    @property
    def follows_label(self) -> bool:
        """Whether a sample takes the minimum connected to its label."""
        return self.sample_minimum is SampleMinimum.FITTED

    @property
    def trains_factors(self) -> bool:
        """Whether factors are trained, so that the penalty sets a threshold below which eigenvalues are left out."""
        return (
            self.parametrisation is Parametrisation.FACTORISED
            and self._structure.has_linear_penalty
        )

    def signed_targets(self, target: Target) -> tuple[Target, ...]:
        """The laws whose upper ends are learned: that of the target, and mirrored where eigenvalues of either sign are."""
        if not self.is_indefinite:
            return (target,)
        assert isinstance(
            target, RationalTarget | Eigenvalues
        )  # which the problem has made sure of
        return target, target.mirrored

    @property
    def penalty(self) -> tuple[float, ...]:
        """Values of the settings of the penalty, in the order of the generated functions."""
        return self._values(self._structure.penalty_settings)

    @property
    def frobenius(self) -> tuple[float, ...]:
        """Values of the settings of a Frobenius penalty, nothing where the model has none."""
        return self._values(self._structure.frobenius_settings)

    def _values(self, names: tuple[str, ...]) -> tuple[float, ...]:
        return tuple(self.settings[name] for name in names)

    @property
    def settings(self) -> dict[str, float]:
        """Values of all settings but the target's, by their names in generated functions."""
        common = (self.lambda_, self.width, self.noise, self.beta, self.beta0)
        return {**dict(zip(COMMON, common, strict=True)), **dict(self.extra)}

    def _require_leading_features(self) -> None:
        if not isinstance(self.target, Eigenvalues):
            raise InvalidParameter(
                "leading",
                self.leading,
                "must be a number of eigenvalues of a list",
                "use 0 for other targets",
            )
        weights = self.target.weights
        if not 0 < self.leading < len(weights):
            rule = f"must be below {len(weights)}, the number of distinct eigenvalues"
            raise InvalidParameter("leading", self.leading, rule, "keep fewer")
        if set(weights[-self.leading :]) != {
            min(weights)
        }:  # an equal one would have been merged into a larger weight
            rule = "the largest eigenvalues must be single, of weight 1/d each"
            raise InvalidParameter("leading", self.leading, rule, "move equal ones")
        if self.lambda_ == 0 or self.parametrisation is not Parametrisation.FACTORISED:
            raise InvalidParameter(
                "leading", self.leading, "is for factors with a positive lambda_", "use 0"
            )

    def at(self, alpha: float) -> "Problem":
        """The same problem at another sample ratio."""
        return replace(self, alpha=alpha)

    @property
    def features(self) -> tuple[Array, float]:
        """Eigenvalues of the leading features, ascending, and the weight of each."""
        if not isinstance(self.target, Eigenvalues):
            return np.zeros(0), 1.0
        s, weights = self.target.arrays
        return s[len(s) - self.leading :], float(weights[-1])

    def with_strengths(self, strengths: Array) -> "Problem":
        """The problem of Gaussian indices that the prior sees: with these in place of the eigenvalues of the leading features."""
        if not self.leading:
            return self
        assert isinstance(self.target, Eigenvalues)
        return replace(self, target=self.target.with_largest(strengths), leading=0)

    @property
    def q0(self) -> float:
        """Second moment tr S0^2/d of the target."""
        return self.target.q0

    @property
    def label_numbers(self) -> float:
        """Numbers D that a label carries."""
        return float(call(self.generated.label_numbers, (), {"T": self.tokens}))

    @property
    def rho(self) -> float:
        """Variance per unit of the noisy target index."""
        return float(call(self.generated.noisy_variance, (self.q0,), self.settings))


def _pairs(extra: object) -> tuple[tuple[str, float], ...]:
    """Settings by name, of a mapping in the order of the names, which is none of its own."""
    pairs: Any = extra
    try:
        named = (
            sorted(extra.items())
            if isinstance(extra, Mapping)
            else [(name, value) for name, value in pairs]
        )
    except (TypeError, ValueError):
        raise InvalidParameter("extra", extra, "must be names with values", _BY_NAME) from None
    return tuple((name, real(name, value)) for name, value in named)


def require_problem(value: object) -> None:
    """Raises InvalidParameter for what is no Problem, such as its target."""
    require_kind(
        "problem", value, Problem, "give Problem(alpha=..., target=..., lambda_=..., noise=...)"
    )
