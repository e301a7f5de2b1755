"""The generated functions, by kind of number and model: the one module that names a generated package.

`from numeric.model import float64` hands out the functions of `DEFAULT`; so do `balls` and `exponents`. Each is
imported when it is first asked for, so that a threshold needs no NumPy.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from attention_erm.code import model_sources
from attention_erm.commandline.refusal import BadInput

DEFAULT = "tied_attention"
#: Settings that are fields of a Problem, by their names in generated functions; the others of a model are its own.
COMMON = ("lambda_", "kappa", "Delta", "beta", "beta0")
KINDS = ("float64", "balls", "exponents", "torch")


def _folder() -> Path:
    return Path(import_module("generated").__path__[0])


@lru_cache
def available() -> tuple[str, ...]:
    """Names of the generated models, in alphabetical order."""
    return tuple(sorted(folder.name for folder in _folder().iterdir() if (folder / "balls.py").is_file()))


def packages(models: Iterable[str] = ()) -> tuple[str, ...]:
    """Where the generated code of these models stands, and that of the default one, whose functions all share: for digests of code."""
    return tuple(sorted({f"generated.{model}" for model in (DEFAULT, *models)}))


def functions(kind: str, model: str = DEFAULT) -> ModuleType:
    """Generated functions of a model for one kind of number, or its "exponents".

    Raises:
        KeyError: no such kind, or no such model.
        BadInput: the model file was changed since.
    """
    if kind not in KINDS or model not in available():
        raise KeyError(f"generated/{model}/{kind}.py")
    require_of_now(model)
    return _module(kind, model)


def _module(kind: str, model: str) -> ModuleType:
    return import_module(f"generated.{model}.{kind}")


@lru_cache
def structure(model: str = DEFAULT) -> dict[str, Any]:
    """Shape of a model: class of its matrix, names of its settings, blocks of its channel."""
    return dict(json.loads(_text("structure", model)))


def has_singular_values(model: str) -> bool:
    """Whether matrices are general ones, of which a law holds the singular values, each with either sign."""
    return bool(structure(model)["matrix"] == "general")


def record(name: str, model: str = DEFAULT) -> str:
    """Text of a generated JSON record of a model, e.g. "exponents".

    Raises:
        BadInput: the model file was changed since.
    """
    require_of_now(model)
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
    changed = sorted(path for path in {*now, *then} if now.get(path) != then.get(path)) if now else []
    return f"was generated before {' and '.join(changed)} changed" if changed else ""


@lru_cache
def require_of_now(model: str) -> None:
    """Refuse equations of another model than the file states now: numbers of an old law look like any.

    Raises:
        BadInput: the model file was changed since they were generated.
    """
    if rule := outdated(model):
        raise BadInput(f"generated/{model}", "", rule, f"run python -m derive gen {model}")


def takes_tokens(model: str) -> bool:
    """Whether the number of tokens is a setting of its problems; otherwise its file states it."""
    return bool(structure(model)["channel"] == "tied softmax")


def call(function: Callable[..., Any], arguments: Sequence[Any], settings: Mapping[str, Any]) -> Any:
    """A generated function at these arguments, which come first, and at the settings that it takes after them, by their names."""
    code = function.__code__
    return function(*arguments, *(settings[name] for name in code.co_varnames[len(arguments) : code.co_argcount]))


def __getattr__(kind: str) -> ModuleType:
    """The functions of the default model, which modules name as they are imported: whoever asks for numbers has its file compared."""
    if kind not in KINDS:
        raise AttributeError(f"module {__name__!r} has no attribute {kind!r}")
    return _module(kind, DEFAULT)
