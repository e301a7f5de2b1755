"""Models of one's own files: generated where they are first used, and known by name in every
process.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
from difflib import get_close_matches
from pathlib import Path

from attention_erm import __version__
from attention_erm.runtime.digests import (
    code_digest,
    digest,
    forget_modules,
    model_sources,
)
from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.model_files import FILES, file_of, register, require_free
from numeric import model as generated_models

_LOG = logging.getLogger(__name__)


class OwnModel(str):
    """Name of a model of one's own file; a process that unpickles it knows the model too."""

    path: Path

    def __new__(cls, path: Path) -> OwnModel:
        """Return the name of the model in a file."""
        named = super().__new__(cls, path.stem)
        named.path = path
        return named

    def __reduce__(self) -> tuple[object, ...]:
        return resolved, (str(self.path),)


def resolved(model: object) -> str:
    """Return the name of a model that is given by its name, its file, or its module.

    A file outside the package is derived when it is used for the first time, in a folder of the
    cache, unless `python -m derive gen FILE` has written `generated/` beside it.

    Args:
        model: name of a model, path of a model file (a Path, or a text that ends in .py), or
            imported module.

    Raises:
        InvalidParameter: there is no such file, its name is taken, or it is no model.
    """
    path = file_of(model)
    if path is None:
        name = str(model)
        return OwnModel(FILES[name]) if name in FILES else name
    path = path.resolve()
    if FILES.get(path.stem) != path:
        require_free("model", path, generated_models.available())
        root = path.parent if (path.parent / "generated" / path.stem).is_dir() else _cached(path)
        register(path, root)
        forget_modules()
        generated_models.available.cache_clear()
    return OwnModel(path)


def known_model(model: object) -> str:
    """Return the name of a generated model, given as for `resolved`.

    Raises:
        InvalidParameter: there is none; the message names those like it.
    """
    name = resolved(model)
    known = generated_models.available()
    if name not in known:
        words = name.lower()
        containing = [one for one in known if words and words in one]
        near = containing[:3] or get_close_matches(words, known, n=3)
        way_out = f"use {' or '.join(near)}" if near else "use one of `python -m derive list`"
        raise InvalidParameter("model", model, "is not a generated model", way_out)
    return name


def _cached(path: Path) -> Path:
    """Return the folder of the cache that contains the generated code of a file.

    Its name is a digest of the file, of the model files that it imports, and of the generator, so
    that what changed is derived anew.
    """
    sources = model_sources(path.stem, path)
    key = digest(f"{__version__} {sorted(sources.items())} {code_digest('derive.code.files')}")
    folder = cache_folder() / f"{path.stem}-{key}"
    if not folder.is_dir():
        _LOG.info("deriving the equations of %s, once, about 10 to 60 s", path)
        with tempfile.TemporaryDirectory(dir=folder.parent) as unfinished:
            _derive(path, unfinished)
            try:
                Path(unfinished, "done").rename(folder)
            except OSError:
                if not folder.is_dir():  # else another process was faster
                    raise
    return folder


def _derive(path: Path, folder: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "derive", "gen", str(path), "--into", f"{folder}/done"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if not line.startswith("derive: ")]
        reason = " ".join(lines[-1:]).removeprefix(f"{path}: ") or "was not derived"
        raise InvalidParameter("model", str(path), reason, f"see python -m derive gen {path.name}")


def cache_folder() -> Path:
    """Return the folder of generated code, which can be written to."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home, "attention-erm", "models")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    folder = Path(tempfile.gettempdir(), f"attention-erm-{os.getuid()}", "models")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
