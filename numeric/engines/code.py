"""Digests of the code that makes numbers: results of other code are never taken for those of this one."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

OWN = ("attention_erm", "derive", "generated", "numeric", "verify")
WITHOUT_WORDS = "generated."  #: its modules import each other by name alone, and have comments in lines of their own
CALCULATES_WITH = ("numpy", "scipy", "numba")


@cache
def code_digest(*names: str) -> str:
    """64 bits of the modules `names` and of all of ours that they import, without comments and docstrings, and of the libraries.

    A package stands for all its modules. What is imported by a name made at run time, as generated modules are, has to be named.
    """
    digest = hashlib.sha256()
    for name, content in sorted(_reached(names).items()):
        digest.update(f"{name}\n{content}\n".encode())
    for library in CALCULATES_WITH:
        digest.update(version(library).encode())
    return digest.hexdigest()[:16]


def _reached(names: tuple[str, ...]) -> dict[str, str]:
    """What modules and those that they import say to the machine, by name."""
    left = [module for name in names for module in _modules(name.partition(".")[0]) if _within(module, name)]
    found: dict[str, str] = {}
    while left:
        name = left.pop()
        if name in found:
            continue
        source = _modules(name.partition(".")[0])[name].read_text()
        if name.startswith(WITHOUT_WORDS):
            found[name] = _without_comments(source)
        else:
            tree = ast.parse(source)
            left += _imported(tree)
            found[name] = _without_words(tree)
    return found


def _within(module: str, name: str) -> bool:
    return module == name or module.startswith(f"{name}.")


def _imported(tree: ast.Module) -> Iterator[str]:
    """Modules of ours that a module imports anywhere."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        yield from (name for name in names if name in _modules(name.partition(".")[0]))


@cache
def _modules(package: str) -> dict[str, Path]:
    """Files of a package of ours by name: where it stands in several folders, the first has a module, as for an import."""
    spec = find_spec(package) if package in OWN else None
    found: dict[str, Path] = {}
    for folder in map(Path, (spec and spec.submodule_search_locations) or ()):
        for path in folder.rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            found.setdefault(".".join((package, *parts)).removesuffix(".__init__"), path)
    return found


def _without_comments(source: str) -> str:
    """A generated module without its header, which changes with any word of the generator."""
    return "\n".join(line for line in source.splitlines() if not line.lstrip().startswith("#"))


def _without_words(tree: ast.Module) -> str:
    """The syntax tree as text; docstrings and other statements that are only a string say nothing to the machine."""
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [part for part in body if not _is_text(part)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
