"""What lies in generated/ and belongs to no model any more: found, and deleted, without SymPy."""

import re

from derive.code import manifest

SHARED = "shared"  #: folder of generated/ with what models share, in one folder for each language
IMPORT = re.compile(rf"^from generated\.{SHARED}\.(\w+)\.(\w+) import \(\n[^)]*\)\n", re.M)


def orphaned_folders(model_names: tuple[str, ...]) -> list[str]:
    """Folders under generated/ that belong to no model."""
    folders = (path.name for path in manifest.GENERATED.glob("*") if path.is_dir())
    return sorted(name for name in folders if name not in (*model_names, SHARED, "__pycache__"))


def unused_shared_files() -> list[str]:
    """Shared files, relative to generated/, that no model's code imports."""
    sources = (path.read_text() for path in manifest.GENERATED.glob("*/*.py"))
    used = {
        f"{SHARED}/{language}/{module}.py"
        for text in sources
        for language, module in IMPORT.findall(text)
    }
    found = {
        path.relative_to(manifest.GENERATED).as_posix()
        for path in manifest.GENERATED.glob(f"{SHARED}/*/*.py")
    }
    return sorted(found - used)


def delete_unused() -> list[str]:
    """Delete the shared files that no model's code imports; their names."""
    names = unused_shared_files()
    for name in names:
        (manifest.GENERATED / name).unlink()
    return names
