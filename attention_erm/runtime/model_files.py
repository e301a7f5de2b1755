"""Model files outside the package: their names, and where their generated code is.

A model file has any place. Its generated code is in a folder `generated` beside it, or in a cache.
All other modules know such a model by its name, the name of the file without ".py".
"""

import sys
from pathlib import Path
from types import ModuleType

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
