"""One file per model: what it is, nothing that follows."""

import importlib
import pkgutil

from derive.language.errors import ModelError
from derive.language.model import Model


def available() -> tuple[str, ...]:
    """Names of all models, in alphabetical order."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def load(name: str) -> Model:
    """The model of this name.

    Raises:
        KeyError: there is no such model.
        ModelError: the file names its model otherwise, which would put the generated code elsewhere.
    """
    if name not in available():
        raise KeyError(name)
    try:
        model = importlib.import_module(f"{__name__}.{name}").MODEL
    except ModelError as error:
        raise ModelError(f"{name}.py: {error}") from None
    except KeyError as error:
        raise ModelError(
            f"{name}.py: {error} is not in the notation table; add it to derive/language/notation.py"
        ) from None
    except Exception as error:  # whatever a file that is no model raises
        raise ModelError(
            f"{name}.py: cannot be read ({type(error).__name__}: {error}); compare tied_attention.py"
        ) from None
    if not isinstance(model, Model):
        raise ModelError(f"{name}.py: MODEL is a {type(model).__name__}; it must be a Model")
    if model.name != name:
        raise ModelError(f"name {model.name!r} in {name}.py: must be the name of the file; write name={name!r}")
    return model
