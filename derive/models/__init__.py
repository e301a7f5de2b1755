"""One file per model: what it is, nothing that follows.

Their names are found without SymPy, which they import.
"""

from __future__ import annotations

import importlib
import importlib.util
import keyword
import pkgutil
import re
import traceback
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from attention_erm.runtime.model_files import FILES
from derive.language.errors import ModelError, UnknownSymbol

if TYPE_CHECKING:
    from derive.language.model import Model

#: Folders under generated/ that are no model's.
RESERVED = ("shared",)


def available() -> tuple[str, ...]:
    """Names of all models, in alphabetical order."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def load(name: str) -> Model:
    """The model of this name.

    Raises:
        KeyError: there is no such model.
        ModelError: its file cannot be run, or states no model or an impossible one: file, field,
            rule and way out in one line.
    """
    from derive.language.model import Model

    if name not in available() and name not in FILES:
        raise KeyError(name)
    require_name(name, f"{file_shown(name)}: name {name!r}")
    try:
        model = _module(name).MODEL
    except (Exception, SystemExit) as error:  # whatever a file that is no model raises
        raise ModelError(
            " ".join(f"{_location(name, error)}: {_describe(error)}".split())
        ) from error
    if not isinstance(model, Model):
        raise ModelError(
            f"{file_shown(name)}: MODEL: has type {type(model).__name__}; it must be a Model"
        )
    if model.name != name:
        raise ModelError(
            f"{file_shown(name)}: name {model.name!r}: must equal the name of the file; write "
            f"name={name!r}"
        )
    return model


def require_name(name: str, what: str) -> None:
    """Raises ModelError for what cannot be the name of a model."""
    if keyword.iskeyword(name):
        raise ModelError(f"{what}: is a keyword of Python; write {name}_model")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ModelError(
            f"{what}: must be a Python name; write lower-case letters, digits and underscores"
        )
    if name in RESERVED:
        raise ModelError(f"{what}: generated/{name} is taken, by what models share; choose another")


def _module(name: str) -> ModuleType:
    """Import a model file."""
    if name not in FILES:
        return importlib.import_module(f"{__name__}.{name}")
    spec = importlib.util.spec_from_file_location(f"model_file_{name}", FILES[name])
    assert spec is not None and spec.loader is not None  # the file exists and ends in .py
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def file_shown(name: str) -> str:
    """Return the path of a model file for messages."""
    return str(FILES.get(name, f"derive/models/{name}.py"))


def _location(name: str, error: BaseException) -> str:
    """The file, and the line of it that was run last, where that is not the one at which the model
    is stated.
    """
    if isinstance(error, SyntaxError) and error.lineno:
        shown = file_shown(Path(error.filename or name).stem)
        return f"{shown}, line {error.lineno}"
    paths = {str(Path(folder) / f"{name}.py") for folder in __path__} | {str(FILES.get(name))}
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename in paths
    ]
    return f"{file_shown(name)}, line {lines[-1]}" if lines else file_shown(name)


def _describe(error: BaseException) -> str:
    """Field, rule and way out."""
    if isinstance(error, ModelError):
        return str(error)
    if isinstance(error, SyntaxError):
        return f"not Python: {error.msg}; correct the line"
    if isinstance(error, ValueError) and "null bytes" in str(
        error
    ):  # no SyntaxError before Python 3.11.4
        return f"not Python: {error}; remove them"
    if isinstance(error, AttributeError) and error.name == "MODEL":
        return (
            "MODEL: missing; end the file with MODEL = Model(...) or MODEL = replace(..., name=...)"
        )
    if missing := re.fullmatch(r"(\w+)\.__init__\(\) missing .*?argument.*?: (.*)", str(error)):
        return f"{missing[1]}: {missing[2]} missing; state it"
    if unknown := re.fullmatch(
        r"(?:(\w+)\.)?__init__\(\) got an unexpected keyword argument '(.*)'", str(error)
    ):
        return f"{unknown[1]}: has no {unknown[2]}; leave it out"
    if isinstance(error, UnknownSymbol):
        return (
            f"symbol {error} is not in the notation table; declare it by setting({error}, 'what "
            "it is') of derive.language.setting"
        )
    if isinstance(error, ImportError):
        return f"import: {error}; correct the name"
    return (
        f"raises {type(error).__name__}: {error}; correct it, or compare "
        "derive/models/tied_attention.py"
    )
