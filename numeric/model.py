"""Access to generated functions by kind of number and model; no other module names generated code.

`from numeric.model import float64` imports the functions of the model `DEFAULT`; `balls` and
`exponents` work alike. Each module is imported on first use: a threshold does not load NumPy.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from attention_erm.runtime.digests import model_sources
from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.model_files import FILES, ROOTS

DEFAULT = "tied_attention"
#: Settings that are fields of a Problem, by their names in generated functions.
COMMON = ("lambda_", "kappa", "Delta", "beta", "beta0")
KINDS = ("float64", "balls", "exponents", "torch")


class MatrixClass(StrEnum):
    """Class of the matrices that a model learns."""

    POSITIVE = "positive"  #: symmetric without negative eigenvalues
    SYMMETRIC = "symmetric"  #: eigenvalues of either sign
    GENERAL = "general"  #: given by its singular values; the law contains each with either sign


class ChannelKind(StrEnum):
    """Method that averages the channel of a model over samples."""

    TIED_SOFTMAX = "tied softmax"  #: softmax rows of tied scores, for any number of tokens
    CLOSED = "closed"  #: closed form
    BLOCKS = "blocks"  #: quadrature over each block of visible indices
    SAMPLED_BLOCKS = "sampled blocks"  #: quasi-Monte Carlo over each block, or noise on the labels


@dataclass(frozen=True)
class SettingDescription:
    """Symbol, meaning and domain of a setting; the domain is an interval such as "(0, inf)"."""

    glyph: str
    meaning: str
    domain: str


@dataclass(frozen=True)
class BlockShape:
    """Block of visible indices that enter the loss of a sample together.

    Attributes:
        copies: number of independent copies of the block in a sample.
        indices: number of visible indices in the block.
        kinks: number of kinks and jumps of the loss of a sample.
        classes: number of different labels, 0 if labels have more than a few values.
        probabilities: "cells" if the probabilities of the classes are constant between straight
            borders of the target index, "smooth" if they have no jumps, None otherwise.
        borders: True if the label has kinks or jumps across straight borders.
    """

    copies: int
    indices: int
    kinks: int
    classes: int
    probabilities: str | None
    borders: bool


@dataclass(frozen=True)
class DrawShape:
    """Numbers of a label that are drawn together, from a few classes.

    Attributes:
        numbers: which numbers of the label, from 0.
        directions: directions of the index that the draw and the student's prediction depend on,
            as rows; empty if the loss does not predict each draw by itself.
    """

    numbers: tuple[int, ...]
    directions: tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class ModelStructure:
    """Properties of a model that determine how it is solved, read from its structure.json.

    Settings have the names and the order of the arguments of generated functions.
    """

    title: str
    matrix: MatrixClass
    #: a trace or nuclear norm, which removes eigenvalues below a threshold
    has_linear_penalty: bool
    penalty_settings: tuple[str, ...]
    frobenius_settings: tuple[str, ...]  #: settings of the quadratic part of the penalty
    target_settings: tuple[str, ...]  #: settings of the target law of the model
    has_negative_eigenvalues: bool  #: True if the target law has negative eigenvalues
    noise_settings: tuple[str, ...]
    has_noise_on_label: bool
    channel_settings: tuple[str, ...]
    settings: Mapping[str, SettingDescription]  #: all settings
    index_variances: tuple[int, ...]  #: of each entry of the index, per unit of overlap
    tokens_of_scores: tuple[tuple[int, int], ...]  #: numbers of both tokens of each entry
    has_norms: bool  #: True if scores of a token with itself see the norms of tokens
    channel: ChannelKind
    missing_vocabulary: str | None  #: why no finite vocabulary is derived
    missing_thresholds: Mapping[str, str]  #: thresholds that the model does not have, with reasons
    exponent_axes: tuple[str, ...]  #: axes of its phase diagrams other than samples: decay, width
    blocks: tuple[BlockShape, ...]
    draws: tuple[DrawShape, ...]  #: draws of a label with a few values
    is_log_likelihood: bool  #: True if the loss is minus the logarithm of stated probabilities
    has_hidden_sign: bool  #: True if labels tell every visible index up to its sign

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the structure given by a parsed structure.json."""
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
            tokens_of_scores=tuple((i, j) for i, j in record["tokens_of_scores"]),
            has_norms=record["norms"],
            channel=ChannelKind(record["channel"]),
            missing_thresholds=record["without"],
            missing_vocabulary=record["without_vocabulary"],
            exponent_axes=tuple(record["exponents"]),
            blocks=tuple(BlockShape(**parts) for parts in record["blocks"]),
            draws=tuple(
                DrawShape(
                    tuple(draw["numbers"]),
                    tuple(tuple(map(Fraction, row)) for row in draw["directions"]),
                )
                for draw in record["draws"]
            ),
            is_log_likelihood=record["log_likelihood"],
            has_hidden_sign=record["hidden_sign"],
        )

    @property
    def has_singular_values(self) -> bool:
        """True if the target law contains singular values, each with either sign."""
        return self.matrix is MatrixClass.GENERAL

    @property
    def takes_tokens(self) -> bool:
        """True if the number of tokens is a setting of a Problem, not of the model file."""
        return self.channel is ChannelKind.TIED_SOFTMAX


def _folder(model: str = "") -> Path:
    """Return the folder of generated code that contains a model."""
    if model in ROOTS:
        return ROOTS[model] / "generated"
    return Path(__file__).parents[1] / "generated"


@lru_cache
def available() -> tuple[str, ...]:
    """Return the names of the generated models in alphabetical order."""
    return tuple(
        sorted(
            folder.name
            for folder in (*_folder().iterdir(), *(_folder(name) / name for name in ROOTS))
            if (folder / "balls.py").is_file()
        )
    )


def packages(models: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the packages of generated code used by these models, for digests of code.

    The package of the default model is included: all models use its shared functions.
    """
    return tuple(sorted({f"generated.{model}" for model in (DEFAULT, *models)}))


def theory_modules(models: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the modules of generated code that the theory of these models uses.

    They are the `packages` without the functions of training, which require torch.
    """
    kinds = ("structure", *(kind for kind in KINDS if kind != "torch"))
    return tuple(f"{package}.{kind}" for package in packages(models) for kind in kinds)


def functions(kind: str, model: str = DEFAULT) -> ModuleType:
    """Return the module of generated functions of a model.

    Args:
        kind: "float64", "balls", "torch" or "exponents".
        model: name of the model.

    Raises:
        KeyError: the kind or the model does not exist.
        InvalidParameter: the model file changed after the functions were generated.
    """
    if kind not in KINDS or model not in available():
        raise KeyError(f"generated/{model}/{kind}.py")
    require_up_to_date(model)
    return import_module(f"generated.{model}.{kind}")


@lru_cache
def structure(model: str = DEFAULT) -> ModelStructure:
    """Return the properties of a generated model."""
    return ModelStructure.from_record(json.loads(_text("structure", model)))


def record(name: str, model: str = DEFAULT) -> str:
    """Return the text of a generated JSON record of a model.

    Args:
        name: name of the record, such as "exponents".
        model: name of the model.

    Raises:
        InvalidParameter: the model file changed after the record was generated.
    """
    require_up_to_date(model)
    return _text(name, model)


def _text(name: str, model: str) -> str:
    return (_folder(model) / model / f"{name}.json").read_text()


def outdated(model: str) -> str:
    """Return a message that names the model files changed since code generation, "" if none did.

    Also empty if `derive` is not installed or the manifest is unreadable, which `numeric doctor`
    reports.
    """
    current = model_sources(model)
    try:
        generated_from = dict(json.loads(_text("MANIFEST", model))["sources"])
        changed = sorted({path for path, _ in current.items() ^ generated_from.items()})
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return f"was generated before {' and '.join(changed)} changed" if current and changed else ""


@lru_cache
def require_up_to_date(model: str) -> None:
    """Check that the generated equations of a model match its current file.

    Raises:
        InvalidParameter: the model file changed after the equations were generated.
    """
    if rule := outdated(model):
        shown = FILES.get(model, model)
        raise InvalidParameter(f"generated/{model}", "", rule, f"run python -m derive gen {shown}")


def call(
    function: Callable[..., Any], arguments: Sequence[Any], settings: Mapping[str, Any]
) -> Any:
    """Call a generated function with the settings that it needs.

    Args:
        function: generated function; its last parameters are names of settings.
        arguments: values of its first parameters.
        settings: values of settings by name; unused ones are ignored.
    """
    code = function.__code__
    return function(
        *arguments,
        *(settings[name] for name in code.co_varnames[len(arguments) : code.co_argcount]),
    )


def draw_values(
    model: str, settings: Mapping[str, Any]
) -> tuple[tuple[tuple[float, ...], ...], ...]:
    """Return the values of a label with a few values: for every draw, a row for each class.

    Args:
        model: name of the model.
        settings: values of its settings.
    """
    found, generated = [], functions("float64", model)
    for k, draw in enumerate(structure(model).draws, 1):
        values = call(getattr(generated, f"draw{k}_values"), (), settings)
        size = len(draw.numbers)
        rows = (values[first : first + size] for first in range(0, len(values), size))
        found.append(tuple(tuple(map(float, row)) for row in rows))
    return tuple(found)


def label_of_classes(
    model: str, settings: Mapping[str, Any], chosen: Sequence[int]
) -> tuple[float, ...]:
    """Return the numbers of a label whose draws have these classes.

    Args:
        model: name of the model.
        settings: values of its settings.
        chosen: class of each draw, from 0.
    """
    values: dict[int, float] = {}
    rows = zip(structure(model).draws, draw_values(model, settings), chosen, strict=True)
    for draw, of_class, one in rows:
        values |= dict(zip(draw.numbers, of_class[one], strict=True))
    return tuple(values[number] for number in sorted(values))


def __getattr__(kind: str) -> ModuleType:
    """Return the functions of the default model, without a check that they are up to date."""
    if kind not in KINDS:
        raise AttributeError(f"module {__name__!r} has no attribute {kind!r}")
    return import_module(f"generated.{DEFAULT}.{kind}")
