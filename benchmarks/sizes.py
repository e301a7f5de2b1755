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
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef


def imported(node: ast.Import, root: Path) -> set[str]:
    """Return the modules of our packages that a statement imports."""
    parent = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
    paths = {parent + a.name: root / (parent + a.name).replace(".", "/") for a in node.names}
    files = {n: path if path.is_dir() else path.with_suffix(".py") for n, path in paths.items()}
    modules = {name if path.exists() else parent[:-1] for name, path in files.items()}
    return {name for name in modules if name.split(".")[0] in PACKAGES}


def has_literal(node: ast.AST) -> bool:
    """Return whether a node is a comparison (==, != or in) with a string literal."""
    sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
    values = (getattr(x, "value", None) for side in sides for x in getattr(side, "elts", [side]))
    return any(isinstance(value, str) for value in values)


def sizes(root: Path, packages: tuple[str, ...]) -> dict[str, float]:
    """Return the sizes of some packages together."""
    total, imports = Counter[str](), []
    for path in [p for package in packages for p in (root / package).rglob("*.py")]:
        nodes = list(ast.walk(ast.parse(path.read_text())))
        uses = Counter(getattr(node, "id", getattr(node, "attr", "")) for node in nodes)
        docs = [n.body[0] for n in nodes if isinstance(n, DOCUMENTED) and ast.get_docstring(n)]
        total.update(files=1, lines=len(path.read_text().splitlines()), Any=uses["Any"])
        total["docstrings"] += sum(node.end_lineno - node.lineno + 1 for node in docs)
        total["statements"] += sum(isinstance(node, ast.stmt) for node in nodes)
        functions = (node.name for node in nodes if isinstance(node, ast.FunctionDef))
        total["called once"] += sum(uses[f] == 1 for f in functions if re.match("_[^_]", f))
        total["literals"] += sum(map(has_literal, nodes))
        found = (imported(n, root) for n in nodes if isinstance(n, ast.Import | ast.ImportFrom))
        imports.append(len(set().union(*found)))
    median, high, maximum = np.quantile(imports, (0.5, 0.9, 1))
    return {**total, "imports": median, "90 %": high, "maximum": maximum}


if __name__ == "__main__":
    roots = [Path(name) for name in sys.argv[1:3]] or [Path(__file__).parents[1]]
    print(" " * 15 + "".join(f"{name:>12}" for name in sizes(roots[0], PACKAGES)))
    for label, packages in {**{name: (name,) for name in PACKAGES}, "total": PACKAGES}.items():
        first, *others = (sizes(root, packages) for root in roots)
        ratios = [{k: other[k] / max(first[k], 1) for k in first} for other in others]
        for row in (first, *others, *ratios):
            print(f"{label:15}" + "".join(f"{value:>12.5g}" for value in row.values()))
