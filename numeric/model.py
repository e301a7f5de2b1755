"""The generated functions, by kind of number and model: the one module that names a generated package.

`from numeric.model import float64` hands out the functions of `DEFAULT`; so do `balls` and `exponents`. Each is
imported when it is first asked for, so that a threshold needs no NumPy.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from attention_erm.runtime.digests import model_sources
from attention_erm.runtime.errors import InvalidParameter

DEFAULT = "tied_attention"
#: Settings that are fields of a Problem, by their names in generated functions; the others of a model are its own.
COMMON = ("lambda_", "kappa", "Delta", "beta", "beta0")
KINDS = ("float64", "balls", "exponents", "torch")


class MatrixClass(StrEnum):
    """Class of the matrices that a model learns."""

    POSITIVE = "positive"  #: symmetric without negative eigenvalues
    SYMMETRIC = "symmetric"  #: eigenvalues of either sign
    GENERAL = "general"  #: known by its singular values, which its law holds with either sign


class ChannelKind(StrEnum):
    """How the channel of a model is averaged over samples."""

    TIED_SOFTMAX = "tied softmax"  #: softmax rows of tied scores, for any number of tokens
    CLOSED = "closed"  #: in closed form
    BLOCKS = "blocks"  #: by quadrature, block by block of its visible indices
    NOISY_BLOCKS = "noisy blocks"  #: by quasi-Monte Carlo, as its labels have noise of their own


@dataclass(frozen=True)
class SettingDescription:
    """Symbol, meaning and domain of a setting, the domain as an interval such as "(0, inf)"."""

    glyph: str
    meaning: str
    domain: str


@dataclass(frozen=True)
class BlockShape:
    """Visible indices of a sample that enter its loss together, and the number of independent copies of such a block."""

    copies: int
    indices: int


@dataclass(frozen=True)
class ModelStructure:
    """Properties of a model that decide how it is solved, from its generated structure.json.

    Names of settings are those of the arguments of generated functions, in the order of these arguments.
    """

    title: str
    matrix: MatrixClass
    has_linear_penalty: (
        bool  #: a trace or nuclear norm, which leaves out eigenvalues below a threshold
    )
    penalty_settings: tuple[str, ...]
    frobenius_settings: tuple[str, ...]  #: settings of the quadratic part of the penalty
    target_settings: tuple[str, ...]  #: settings of the target law of the model
    has_negative_eigenvalues: bool  #: whether this law has eigenvalues below zero
    noise_settings: tuple[str, ...]
    has_noise_on_label: bool
    channel_settings: tuple[str, ...]
    settings: Mapping[str, SettingDescription]  #: all settings
    index_variances: tuple[int, ...]  #: of each entry of the index, per unit of overlap
    channel: ChannelKind
    missing_thresholds: Mapping[
        str, str
    ]  #: kinds of threshold that the model does not have, and the reasons
    exponent_axes: tuple[
        str, ...
    ]  #: axes of its phase diagrams besides the samples: "decay", "width"
    blocks: tuple[BlockShape, ...]

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the structure that a parsed structure.json states."""
        return cls(
            title=record["title"],
            matrix=MatrixClass(record["matrix"]),
            has_linear_penalty=record["threshold"],
            penalty_settings=tuple(record["penalty"]),
            frobenius_settings=tuple(record["frobenius"]),
            target_settings=tuple(record["target"]),
            has_negative_eigenvalues=record["negative_eigenvalues"],
            noise_settings=tuple(record["noise"]),
            has_noise_on_label=record["noise_on_label"],
            channel_settings=tuple(record["channel_settings"]),
            settings={
                name: SettingDescription(**parts) for name, parts in record["settings"].items()
            },
            index_variances=tuple(record["variances"]),
            channel=ChannelKind(record["channel"]),
            missing_thresholds=record["without"],
            exponent_axes=tuple(record["exponents"]),
            blocks=tuple(BlockShape(**parts) for parts in record["blocks"]),
        )

    @property
    def has_singular_values(self) -> bool:
        """Whether the target law holds singular values, each with either sign."""
        return self.matrix is MatrixClass.GENERAL

    @property
    def takes_tokens(self) -> bool:
        """Whether the number of tokens is a setting of a Problem; otherwise the model file states it."""
        return self.channel is ChannelKind.TIED_SOFTMAX


def _folder() -> Path:
    return Path(import_module("generated").__path__[0])


@lru_cache
def available() -> tuple[str, ...]:
    """Names of the generated models, in alphabetical order."""
    return tuple(
        sorted(folder.name for folder in _folder().iterdir() if (folder / "balls.py").is_file())
    )


def packages(models: Iterable[str] = ()) -> tuple[str, ...]:
    """Where the generated code of these models stands, and that of the default one, whose functions all share: for digests of code."""
    return tuple(sorted({f"generated.{model}" for model in (DEFAULT, *models)}))


def functions(kind: str, model: str = DEFAULT) -> ModuleType:
    """Generated functions of a model for one kind of number, or its "exponents".

    Raises:
        KeyError: no such kind, or no such model.
        InvalidParameter: the model file was changed since.
    """
    if kind not in KINDS or model not in available():
        raise KeyError(f"generated/{model}/{kind}.py")
    require_up_to_date(model)
    return _module(kind, model)


def _module(kind: str, model: str) -> ModuleType:
    return import_module(f"generated.{model}.{kind}")


@lru_cache
def structure(model: str = DEFAULT) -> ModelStructure:
    """Return the properties of a generated model."""
    return ModelStructure.of_record(json.loads(_text("structure", model)))


def record(name: str, model: str = DEFAULT) -> str:
    """Text of a generated JSON record of a model, e.g. "exponents".

    Raises:
        InvalidParameter: the model file was changed since.
    """
    require_up_to_date(model)
    return _text(name, model)


def _text(name: str, model: str) -> str:
    return (_folder() / model / f"{name}.json").read_text()


def outdated(model: str) -> str:
    """That model files state something else than when the code of a model was generated from them, and which; else nothing.

    Nothing, too, where there is no package that derives, or no manifest that can be read, which `numeric doctor` says.
    """
    now = model_sources(model)
    try:
        then = dict(json.loads(_text("MANIFEST", model))["sources"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    changed = (
        sorted(path for path in {*now, *then} if now.get(path) != then.get(path)) if now else []
    )
    return f"was generated before {' and '.join(changed)} changed" if changed else ""


@lru_cache
def require_up_to_date(model: str) -> None:
    """Refuse equations of another model than the file states now: numbers of an old law look like any.

    Raises:
        InvalidParameter: the model file was changed since they were generated.
    """
    if rule := outdated(model):
        raise InvalidParameter(f"generated/{model}", "", rule, f"run python -m derive gen {model}")


def call(
    function: Callable[..., Any], arguments: Sequence[Any], settings: Mapping[str, Any]
) -> Any:
    """A generated function at these arguments, which come first, and at the settings that it takes after them, by their names."""
    code = function.__code__
    return function(
        *arguments,
        *(settings[name] for name in code.co_varnames[len(arguments) : code.co_argcount]),
    )


def __getattr__(kind: str) -> ModuleType:
    """The functions of the default model, which modules name as they are imported: whoever asks for numbers has its file compared."""
    if kind not in KINDS:
        raise AttributeError(f"module {__name__!r} has no attribute {kind!r}")
    return _module(kind, DEFAULT)
