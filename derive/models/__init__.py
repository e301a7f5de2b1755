"""One file per model: what it is, nothing that follows."""

import importlib
import pkgutil

from derive.model import Model, ModelError


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
    model: Model = importlib.import_module(f"{__name__}.{name}").MODEL
    if model.name != name:
        raise ModelError(f"name {model.name!r} in {name}.py: must be the name of the file; write name={name!r}")
    return model
