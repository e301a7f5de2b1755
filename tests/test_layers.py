"""The arrows between the layers, and what a threshold command may import."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = ("derive", "generated", "numeric", "verify")
ALLOWED = {
    "derive": {"derive"},
    "generated": set(),
    "numeric": {"numeric", "generated"},
    "verify": {"verify", "numeric", "generated"},
}
ONLY_IN = {"torch": {"verify"}, "sympy": {"derive"}, "numba": {"numeric"}}


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add((node.module or "").split(".")[0])
    return names


@pytest.mark.parametrize("layer", LAYERS)
def test_layers_import_only_what_lies_below(layer):
    paths = list((ROOT / layer).rglob("*.py"))
    assert paths
    for path in paths:
        names = imported(path)
        assert names & set(LAYERS) <= ALLOWED[layer], path
        for package, owners in ONLY_IN.items():
            assert package not in names or layer in owners, f"{path} imports {package}"


def test_generated_modules_import_only_their_numerical_library():
    assert imported(ROOT / "generated/tied_attention/float64.py") == {"numpy"}
    assert imported(ROOT / "generated/tied_attention/multiprecision.py") == set()
    assert imported(ROOT / "generated/tied_attention/balls.py") == {"flint"}


def test_a_threshold_command_imports_no_heavy_package():
    command = [sys.executable, "-X", "importtime", "-m", "numeric", "threshold", "recovery", "--kappa0", "1/2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {line.split("|")[-1].strip().split(".")[0] for line in done.stderr.splitlines() if "|" in line}
    assert "flint" in loaded
    assert not loaded & {"mpmath", "sympy", "torch", "scipy", "numba", "numpy", "matplotlib"}


def test_no_python_at_the_top():
    assert list(ROOT.glob("*.py")) == []
