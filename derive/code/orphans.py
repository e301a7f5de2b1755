"""Files in generated/ that belong to no model. This module does not import SymPy."""

import re
from pathlib import Path

from derive.code import manifest

SHARED = "shared"  #: folder of generated/ with the files that models share, by language
IMPORT = re.compile(rf"^from generated\.{SHARED}\.(\w+)\.(\w+) import \(\n[^)]*\)\n", re.M)


def orphaned_folders(model_names: tuple[str, ...]) -> list[str]:
    """Return the folders in generated/ that belong to no model."""
    folders = (path.name for path in manifest.GENERATED.glob("*") if path.is_dir())
    return sorted(name for name in folders if name not in (*model_names, SHARED, "__pycache__"))


def unused_shared_files(generated: Path | None = None) -> list[str]:
    """Return the shared files, relative to generated/, that no model imports.

    Args:
        generated: folder of generated code; default: that of the package.
    """
    generated = generated or manifest.GENERATED
    sources = (path.read_text() for path in generated.glob("*/*.py"))
    imports = (pair for text in sources for pair in IMPORT.findall(text))
    used = {f"{SHARED}/{language}/{module}.py" for language, module in imports}
    paths = generated.glob(f"{SHARED}/*/*.py")
    return sorted({path.relative_to(generated).as_posix() for path in paths} - used)


def delete_unused(generated: Path | None = None) -> list[str]:
    """Delete the shared files that no model imports, and return their names.

    Args:
        generated: folder of generated code; default: that of the package.
    """
    generated = generated or manifest.GENERATED
    names = unused_shared_files(generated)
    for name in names:
        (generated / name).unlink()
    return names
