"""Sizes of the packages of a source tree, or of two trees with their ratios.

Run: python -m benchmarks.sizes [ROOT [ROOT]]        (default: this tree)
"""

import ast
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np

PACKAGES = ("numeric", "verify", "derive", "attention_erm", "benchmarks")
DOCUMENTED, IMPORT = ast.Module | ast.ClassDef | ast.FunctionDef, ast.Import | ast.ImportFrom


def imported(node: ast.Import, root: Path) -> set[str]:
    """Return the modules of our packages that a statement imports."""
    prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
    paths = {name: root / name.replace(".", "/") for name in (prefix + a.name for a in node.names)}
    is_module = {name: p.is_dir() or p.with_suffix(".py").exists() for name, p in paths.items()}
    modules = {name if is_module[name] else prefix.rstrip(".") for name in paths}
    return {name for name in modules if name.split(".")[0] in PACKAGES}


def has_literal(node: ast.Compare) -> bool:
    """Return whether a comparison by ==, != or in has a string literal on one side."""
    sides = [x for side in (node.left, *node.comparators) for x in getattr(side, "elts", [side])]
    is_equality = isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.In | ast.NotIn)
    return is_equality and any(isinstance(getattr(x, "value", None), str) for x in sides)


def sizes(root: Path, packages: tuple[str, ...]) -> dict[str, float]:
    """Return the sizes of some packages together."""
    total, imports = Counter[str](), []
    for path in [p for package in packages for p in (root / package).rglob("*.py")]:
        nodes = list(ast.walk(ast.parse(path.read_text())))
        uses = Counter(getattr(node, "id", getattr(node, "attr", "")) for node in nodes)
        docs = [n.body[0] for n in nodes if isinstance(n, DOCUMENTED) and ast.get_docstring(n)]
        total["files"] += 1
        total["lines"] += len(path.read_text().splitlines())
        total["docstrings"] += sum(node.end_lineno - node.lineno + 1 for node in docs)
        total["statements"] += sum(isinstance(node, ast.stmt) for node in nodes)
        functions = (node.name for node in nodes if isinstance(node, ast.FunctionDef))
        total["called once"] += sum(uses[f] == 1 for f in functions if re.match("_[^_]", f))
        total["literals"] += sum(isinstance(n, ast.Compare) and has_literal(n) for n in nodes)
        total["Any"] += uses["Any"]
        imports.append(
            len(set().union(*(imported(n, root) for n in nodes if isinstance(n, IMPORT))))
        )
    return {**total, **dict(quantiles)}


if __name__ == "__main__":
    roots = [Path(name) for name in sys.argv[1:3]] or [Path(__file__).parents[1]]
    for label, packages in {**{name: (name,) for name in PACKAGES}, "total": PACKAGES}.items():
        rows = [sizes(root, packages) for root in roots]
        if label == PACKAGES[0]:
            print(" " * 15 + "".join(f"{name:>12}" for name in rows[0]))
        ratio = {name: rows[-1][name] / max(value, 1) for name, value in rows[0].items()}
        for row in (*rows, *([ratio] if len(rows) > 1 else [])):
            print(f"{label:15}" + "".join(f"{value:>12.5g}" for value in row.values()))
