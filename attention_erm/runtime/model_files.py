"""Model files outside the package: their names, and where their generated code is.

A model file has any place. Its generated code is in a folder `generated` beside it, or in a cache.
All other modules know such a model by its name, the name of the file without ".py".
"""

import sys
from collections.abc import Collection
from pathlib import Path
from types import ModuleType

from attention_erm.runtime.errors import InvalidParameter

#: Files of models outside the package, by name.
FILES: dict[str, Path] = {}
#: Folders that contain `generated/<name>`, by name of the model.
ROOTS: dict[str, Path] = {}


def file_of(model: object) -> Path | None:
    """Return the file that a model is given by: a path, a text that ends in .py, or a module."""
    if isinstance(model, ModuleType):
        return Path(model.__file__) if model.__file__ else None
    if isinstance(model, Path) or (isinstance(model, str) and model.endswith(".py")):
        return Path(model)
    return None


def require_free(name: str, path: Path, taken: Collection[str]) -> None:
    """Check that a model file exists, and that no other model has its name.

    Args:
        name: name of the argument, for the error message.
        path: the model file.
        taken: names of known models.

    Raises:
        InvalidParameter: it does not exist, or its name is taken.
    """
    if not path.is_file():
        rule, hint = "there is no such file", "give the path of a model file"
        raise InvalidParameter(name, str(path), rule, hint)
    other = FILES.get(path.stem, path)
    if other != path or path.stem in taken:
        owner = "a model of the package" if other == path else other
        rule, hint = f"{owner} has this name", "rename the file and its model"
        raise InvalidParameter(name, str(path), rule, hint)


def register(path: Path, root: Path) -> str:
    """Make a model known by its name, and its generated code importable.

    Args:
        path: the model file.
        root: folder that contains `generated/<name>`.

    Returns:
        The name of the model.
    """
    FILES[path.stem], ROOTS[path.stem] = path, root
    if str(root) not in sys.path:
        sys.path.append(str(root))  # at the end: the project's own modules come first
    return path.stem
