"""Digests of the code that computes results: stored results of other code are not used."""

from __future__ import annotations

import ast
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Any

from attention_erm.runtime.model_files import FILES

PACKAGES = ("attention_erm", "derive", "generated", "numeric", "verify")
_DATA_FILE = "structure.json"  # its content determines what code does with a generated package
#: Distributions of the libraries that results depend on, by import name.
_LIBRARIES = {
    "flint": "python-flint",
    "mpmath": "mpmath",
    "numba": "numba",
    "numpy": "numpy",
    "scipy": "scipy",
    "torch": "torch",
}


def digest(text: str) -> str:
    """Return the first 64 bits of the SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def checksum(values: Mapping[str, Any]) -> int:
    """Return the CRC-32 of values in the form in which JSON writes them."""
    return zlib.crc32(json.dumps(values, sort_keys=True).encode())


@cache
def code_digest(*names: str) -> str:
    """Return a digest of modules, of all modules of the project that they import, and of libraries.

    Comments and docstrings do not change it. A package stands for all its modules. Modules that
    are imported by a name computed at run time, such as generated ones, must be listed
    (`numeric.model.packages` does).
    """
    return digest(
        "".join(f"{name}\n{code}\n" for name, code in sorted(reachable_code(names).items()))
    )


def reachable_code(names: tuple[str, ...]) -> dict[str, str]:
    """Return the code of the given modules and their imports, and library versions, by name."""
    pending = [
        module
        for name in names
        for module in _modules(name.partition(".")[0])
        if module == name or module.startswith(f"{name}.")
    ]
    found: dict[str, str] = {}
    while pending:
        name = pending.pop()
        if name in found:
            continue
        found[name], imported = _cached_source(_modules(name.partition(".")[0])[name])
        pending += [module for module in imported if module in _modules(module.partition(".")[0])]
        found |= {library: version(_LIBRARIES[library]) for library in imported & _LIBRARIES.keys()}
    return found


def executable_content(source: str) -> str:
    """Return Python source as a text that comments, docstrings and formatting do not change."""
    return _canonical_text(ast.parse(source))


def _source(path: Path) -> tuple[str, frozenset[str]]:
    """Return the executable content of a file, and the modules that it imports."""
    if path.name == _DATA_FILE:
        return path.read_text(), frozenset()
    tree = ast.parse(path.read_text())
    return _canonical_text(tree), frozenset(_imported(tree))


#: Source files are assumed not to change while the process runs.
_cached_source = cache(_source)


def model_sources(model: str, file: Path | None = None) -> dict[str, str]:
    """Return digests of a model file and of the model files that it imports.

    Args:
        model: name of the model.
        file: its file outside the package; default: the registered one, if there is any.

    The keys are paths such as "derive/models/tied_attention.py", or the name of a file outside
    the package. The result is empty if there is no such file, or if `derive` is not installed.
    """
    pending, found = [f"derive.models.{model}"], dict[str, str]()
    while pending:
        module = pending.pop()
        own = (file or FILES.get(model)) if module == f"derive.models.{model}" else None
        key = own.name if own else f"{module.replace('.', '/')}.py"
        path = own or _modules("derive").get(module)
        if key in found or path is None:
            continue
        try:
            content, imported = _source(path)
        except (SyntaxError, ValueError):  # the file was changed and is not valid Python
            found[key] = "no Python"
            continue
        found[key] = digest(content)
        pending += sorted(name for name in imported if name.startswith("derive.models."))
    return found


def _imported(tree: ast.Module) -> Iterator[str]:
    """Iterate over all names that may be imported modules, and the packages that contain them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            yield from accumulate(name.split("."), "{}.{}".format)


def forget_modules() -> None:
    """Look for modules anew, after a folder was added to the path."""
    _modules.cache_clear()


@cache
def _modules(package: str) -> dict[str, Path]:
    """Return the files of a package of the project by module name, in the order of imports."""
    spec = find_spec(package) if package in PACKAGES else None
    found: dict[str, Path] = {}
    for folder in map(Path, (spec and spec.submodule_search_locations) or ()):
        for path in (*folder.rglob("*.py"), *folder.rglob(_DATA_FILE)):
            parts = path.relative_to(folder).with_suffix("").parts
            found.setdefault(".".join((package, *parts)).removesuffix(".__init__"), path)
    return found


def _canonical_text(node: object) -> str:
    """Return a syntax tree as text that is the same for every version of Python.

    Empty fields, which newer versions add, and statements that are only a string are left out.
    """
    if isinstance(node, list):
        return f"[{', '.join(_canonical_text(part) for part in node if not _is_docstring(part))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = (
        f"{name}={_canonical_text(value)}"
        for name, value in ast.iter_fields(node)
        if value not in (None, [])
    )
    return f"{type(node).__name__}({', '.join(fields)})"


def _is_docstring(node: object) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
