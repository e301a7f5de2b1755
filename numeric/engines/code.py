"""Digests of the code that makes numbers: results of other code are never taken for those of this one."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

CALCULATES_WITH = ("numpy", "scipy", "numba")


@cache
def code_digest(*packages: str) -> str:
    """64 bits of all modules of `packages`, without comments and docstrings, and of the libraries they calculate with."""
    digest = hashlib.sha256()
    for package in packages:
        for name, path in sorted(_modules(package).items()):
            digest.update(f"{name}\n{_without_words(path.read_text())}\n".encode())
    for library in CALCULATES_WITH:
        digest.update(version(library).encode())
    return digest.hexdigest()[:16]


def _modules(package: str) -> dict[str, Path]:
    """Files by their path in the package: where it stands in several folders, the first has a module, as for an import."""
    spec = find_spec(package)
    assert spec is not None and spec.submodule_search_locations
    found: dict[str, Path] = {}
    for folder in map(Path, spec.submodule_search_locations):
        for path in folder.rglob("*.py"):
            found.setdefault(str(path.relative_to(folder)), path)
    return found


def _without_words(source: str) -> str:
    """The syntax tree as text; docstrings and other statements that are only a string say nothing to the machine."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [part for part in body if not _is_text(part)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
