"""Manifests of generated files, and whether the files on disk are up to date. This module does not
import SymPy.
"""

import json
from functools import cache
from importlib.metadata import version
from os.path import normpath
from pathlib import Path

from attention_erm.runtime.digests import digest, executable_content, model_sources
from attention_erm.runtime.model_files import ROOTS

SOURCE = Path(__file__).parents[1]
GENERATED = SOURCE.parent / "generated"
MANIFEST, EQUATIONS = "MANIFEST.json", "equations.json"
_EXCLUDED = {
    "models",
    "cli",
    "tools",
    "__main__.py",
}  # in derive/, without effect on generated files


@cache
def generator_digest() -> str:
    """Return a hash of the generator's code, without models, commands, comments and docstrings."""
    names = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))
    return digest(
        "\n".join(
            f"{name.as_posix()}\n{executable_content((SOURCE / name).read_text())}"
            for name in names
            if name.parts[0] not in _EXCLUDED
        )
    )


def library_versions() -> str:
    """Return the versions of the libraries of the generator.

    Manifests state those that generated the files. Others may generate the same files, so that
    they make none stale.
    """
    libraries = ("sympy", "mpmath", "python-flint")
    return ", ".join(f"{package} {version(package)}" for package in libraries)


def model_folder(model_name: str) -> Path:
    """Return the folder of a model: in the package, or where its file's code is generated."""
    root = ROOTS.get(model_name)
    return (root / "generated" if root else GENERATED) / model_name


def file_path(target: Path, name: str) -> Path:
    """Return the path of a file of a model.

    Args:
        target: folder of the model.
        name: name relative to this folder; shared files begin with "..".
    """
    return Path(normpath(target / name))


def read(path: Path) -> str | None:
    """Return the text of a file; None if there is none."""
    return path.read_text() if path.is_file() else None


def read_manifest(target: Path) -> dict[str, object]:
    """Return the manifest in a folder; empty if it is missing or unreadable."""
    text = read(target / MANIFEST)
    try:
        return dict(json.loads(text)) if text else {}
    except (ValueError, TypeError):
        return {}


def recorded_hashes(target: Path) -> dict[str, str]:
    """Return the hash of each file in the manifest of a folder; files outside generated/ are
    ignored.
    """
    files = read_manifest(target).get("files")
    return {
        name: value
        for name, value in (files.items() if isinstance(files, dict) else ())
        if file_path(target, name).is_relative_to(target.parent)
    }


def file_names(target: Path) -> list[str]:
    """Return the names of the files in a folder of generated code."""
    return sorted(path.name for path in target.glob("*") if path.is_file())


def is_current(model_name: str) -> bool:
    """Return whether the files of a model are up to date: as recorded, and from current sources."""
    target = model_folder(model_name)
    files = recorded_hashes(target)
    names = {*files, *file_names(target)} - {MANIFEST}
    texts = {name: read(file_path(target, name)) for name in names}
    on_disk = {name: digest(text) for name, text in texts.items() if text is not None}
    return on_disk == files and _sources_match(model_name)


def current_records(model_name: str) -> list[dict[str, str]] | None:
    """Return the formulas and equations recorded for a model; None if its files are stale."""
    target = model_folder(model_name)
    text = read(target / EQUATIONS)
    is_recorded = text is not None and digest(text) == recorded_hashes(target).get(EQUATIONS)
    if text is None or not is_recorded or not _sources_match(model_name):
        return None
    return list(json.loads(text))


def _sources_match(model_name: str) -> bool:
    """Return whether model file and generator are those of the manifest."""
    current = {"sources": model_sources(model_name), "generator": generator_digest()}
    return current.items() <= read_manifest(model_folder(model_name)).items()
