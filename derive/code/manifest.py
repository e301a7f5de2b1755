"""What manifests record of generated files, and whether the files on disk are those that the model files give now: without SymPy."""

import json
from functools import cache
from importlib.metadata import version
from os.path import normpath
from pathlib import Path

from attention_erm.runtime.digests import digest, executable_content, model_sources

SOURCE = Path(__file__).parents[1]
GENERATED = SOURCE.parent / "generated"
MANIFEST, EQUATIONS = "MANIFEST.json", "equations.json"
_EXCLUDED = {
    "models",
    "cli",
    "tools",
    "__main__.py",
}  # of derive/: they write nothing into generated files


@cache
def generator_digest() -> str:
    """Return a hash of the generator's code, without models, commands, comments and docstrings."""
    paths = sorted(
        path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0] not in _EXCLUDED
    )
    return digest(
        "\n".join(
            f"{path.relative_to(SOURCE).as_posix()}\n{executable_content(path.read_text())}"
            for path in paths
        )
    )


def generator_record() -> dict[str, str]:
    """What writes the files of every model."""
    libraries = (f"{package} {version(package)}" for package in ("sympy", "mpmath", "python-flint"))
    return {"generator": generator_digest(), "versions": ", ".join(libraries)}


def model_folder(model_name: str) -> Path:
    """Where the files of a model lie."""
    return GENERATED / model_name


def file_path(target: Path, name: str) -> Path:
    """Where a file of the model in this folder lies, one that it shares too."""
    return Path(normpath(target / name))


def read(path: Path) -> str | None:
    """Text of a file, None if there is none."""
    return path.read_text() if path.is_file() else None


def read_manifest(target: Path) -> dict[str, object]:
    """The manifest on disk, empty if there is none or it cannot be read."""
    text = read(target / MANIFEST)
    try:
        return dict(json.loads(text)) if text else {}
    except (ValueError, TypeError):
        return {}


def recorded_hashes(target: Path) -> dict[str, str]:
    """Hashes by file name as the manifest on disk records them, of files in generated/ alone, whatever else it names."""
    files = read_manifest(target).get("files")
    names = files if isinstance(files, dict) else {}
    return {
        name: digest
        for name, digest in names.items()
        if file_path(target, name).is_relative_to(target.parent)
    }


def file_names(target: Path) -> list[str]:
    """Names of the files in a folder of generated code, caches apart."""
    return (
        sorted(path.name for path in target.glob("*") if path.is_file()) if target.is_dir() else []
    )


def is_current(model_name: str) -> bool:
    """Whether the files of a model are those that its manifest records, and these what its model file gives now."""
    target = model_folder(model_name)
    files = recorded_hashes(target)
    names = {*files, *file_names(target)} - {MANIFEST}
    on_disk = {
        name: digest(text) for name in names if (text := read(file_path(target, name))) is not None
    }
    return on_disk == files and _sources_match(model_name)


def current_records(model_name: str) -> list[dict[str, str]] | None:
    """Formulas and equations as the files of a model record them; None where these are not what its model file gives now."""
    target = model_folder(model_name)
    text = read(target / EQUATIONS)
    if (
        text is None
        or digest(text) != recorded_hashes(target).get(EQUATIONS)
        or not _sources_match(model_name)
    ):
        return None
    return list(json.loads(text))


def _sources_match(model_name: str) -> bool:
    """Whether a manifest was written from the model file, and by the generator and the libraries, that there are now."""
    known, now = (
        read_manifest(model_folder(model_name)),
        {"sources": model_sources(model_name), **generator_record()},
    )
    return all(known.get(key) == value for key, value in now.items())
