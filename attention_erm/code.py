"""Digests of the code that makes numbers: results of other code are never taken for those of this one."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path

OWN = ("attention_erm", "derive", "generated", "numeric", "verify")
STATED = (
    "structure.json"  #: what generated code is of, which decides what is done with it as code does
)
#: Distributions of the libraries that numbers depend on, by the names under which they are imported.
CALCULATES_WITH = {
    "flint": "python-flint", "mpmath": "mpmath", "numba": "numba", "numpy": "numpy", "scipy": "scipy", "torch": "torch",
}  # fmt: skip


def digest(text: str) -> str:
    """64 bits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def code_digest(*names: str) -> str:
    """64 bits of the modules `names` and of all of ours that they import, without comments and docstrings, and of the libraries.

    A package stands for all its modules. What is imported by a name made at run time, as generated modules are, has to be named:
    `numeric.model.packages` does.
    """
    return digest(
        "".join(f"{name}\n{content}\n" for name, content in sorted(reached(names).items()))
    )


def reached(names: tuple[str, ...]) -> dict[str, str]:
    """What modules, those of ours that they import, and the versions of libraries say to the machine, by name."""
    left = [
        module
        for name in names
        for module in _modules(name.partition(".")[0])
        if _within(module, name)
    ]
    found: dict[str, str] = {}
    while left:
        name = left.pop()
        if name in found:
            continue
        found[name], imported = _said_once(_modules(name.partition(".")[0])[name])
        left += [module for module in imported if module in _modules(module.partition(".")[0])]
        found |= {
            library: version(CALCULATES_WITH[library])
            for library in imported & CALCULATES_WITH.keys()
        }
    return found


def _said(path: Path) -> tuple[str, frozenset[str]]:
    """What a file says to the machine, and what it imports."""
    if path.name == STATED:
        return path.read_text(), frozenset()
    tree = ast.parse(path.read_text())
    return _without_words(tree), frozenset(_imported(tree))


def executable_content(source: str) -> str:
    """Return Python source as a text that comments, docstrings and formatting do not change."""
    return _without_words(ast.parse(source))


_said_once = cache(
    _said
)  # what a process runs is what its files were: one digest reads what many others do


def model_sources(model: str) -> dict[str, str]:
    """Digests of a model file and of the model files that it imports, by their paths, e.g. "derive/models/tied_attention.py".

    Without comments and docstrings. Empty where there is no such file, or nothing that derives.
    """
    left, found = [f"derive.models.{model}"], dict[str, str]()
    while left:
        module = left.pop()
        place = f"{module.replace('.', '/')}.py"
        if place in found or (path := _modules("derive").get(module)) is None:
            continue
        try:
            words, imported = _said(path)
        except (
            SyntaxError,
            ValueError,
        ):  # the file of no model, but neither what code was generated from
            found[place] = "no Python"
            continue
        found[place] = digest(words)
        left += [name for name in imported if name.startswith("derive.models.")]
    return found


def _within(module: str, name: str) -> bool:
    return module == name or module.startswith(f"{name}.")


def _imported(tree: ast.Module) -> Iterator[str]:
    """What may be a module that a module imports anywhere, and packages that these are in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            yield from accumulate(name.split("."), "{}.{}".format)


@cache
def _modules(package: str) -> dict[str, Path]:
    """Files of a package of ours by name: where it stands in several folders, the first has a module, as for an import."""
    spec = find_spec(package) if package in OWN else None
    found: dict[str, Path] = {}
    for folder in map(Path, (spec and spec.submodule_search_locations) or ()):
        for path in (*folder.rglob("*.py"), *folder.rglob(STATED)):
            parts = path.relative_to(folder).with_suffix("").parts
            found.setdefault(".".join((package, *parts)).removesuffix(".__init__"), path)
    return found


def _without_words(node: ast.AST) -> str:
    """A syntax tree as text, the same for every version of Python: what is empty, which newer ones add to, is left out.

    Docstrings and other statements that are only a string say nothing to the machine.
    """
    parts = (
        (name, _as_text(value)) for name, value in ast.iter_fields(node) if value not in (None, [])
    )
    return f"{type(node).__name__}({', '.join(f'{name}={text}' for name, text in parts)})"


def _as_text(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_as_text(part) for part in value if not _is_text(part))}]"
    return _without_words(value) if isinstance(value, ast.AST) else repr(value)


def _is_text(node: object) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
