"""The arrows between packages and between their rooms, and what a threshold command may import."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: Rooms of each package, from the ground up: a room imports rooms before it only, whatever the purpose of the import.
FLOORS = {
    "derive": (
        *("derive.language", "derive.models", "derive.passes.spectral_function", "derive.passes.free_entropy"),
        *("derive.passes.channel", "derive.passes.limits", "derive.scaling", "derive.pipeline"),
        *("derive.code", "derive.tools", "derive.__main__"),
    ),
    "numeric": (
        *(
            "numeric.maths",
            "numeric.model",
            "numeric.proven_laws",
            "numeric.laws",
            "numeric.thresholds",
            "numeric.problem",
        ),
        *(
            "numeric.channel",
            "numeric.prediction",
            "numeric.saddle",
            "numeric.studies",
            "numeric.cli",
            "numeric.cli.commands",
        ),
        "numeric.__main__",
    ),
    "verify": (
        *("verify.training", "verify.jobs", "verify.judging", "verify.studies", "verify.figures", "verify.report"),
        *("verify.cli", "verify.__main__"),
    ),
}
BELOW = {"derive": set(), "numeric": set(), "verify": {"numeric"}}
ONLY_IN = {"torch": "verify", "sympy": "derive", "numba": "numeric"}
MOST_FILES = 12


def modules(package: str) -> dict[str, Path]:
    """Every module of a package by its dotted name."""
    found = {}
    for path in (ROOT / package).rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = {name: path for package in FLOORS for name, path in modules(package).items()}


def imported(path: Path) -> set[str]:
    """Modules that a file names in imports, at any level and under any condition."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {member if member in MODULES else str(node.module) for member in members}
    return names


def room(module: str, floors: tuple[str, ...]) -> str:
    """The room that a module stands in."""
    holders = [name for name in floors if module == name or module.startswith(f"{name}.")]
    assert holders, f"{module} stands in no room: give it one in FLOORS"
    return max(holders, key=len)


@pytest.mark.parametrize("package", FLOORS)
def test_packages_import_only_what_lies_below(package):
    for name, path in modules(package).items():
        tops = {target.split(".")[0] for target in imported(path)}
        assert tops & set(FLOORS) <= BELOW[package] | {package}, name
        for library, owner in ONLY_IN.items():
            assert library not in tops or package == owner, f"{name} imports {library}"
        assert "generated" not in tops, f"{name} names a generated package: only numeric.model does, by name"


@pytest.mark.parametrize("package", FLOORS)
def test_rooms_import_only_rooms_below_them(package):
    floors = FLOORS[package]
    for name, path in modules(package).items():
        if name not in floors and any(floor.startswith(f"{name}.") for floor in floors):  # a folder of rooms
            assert not imported(path) & set(MODULES), f"{name} imports rooms"
            continue
        level = floors.index(room(name, floors))
        for target in imported(path) & set(MODULES):
            if target.split(".")[0] == package:
                assert floors.index(room(target, floors)) <= level, f"{name} imports {target}, which stands above it"


def test_no_module_imports_itself_through_others():
    arrows = {name: imported(path) & set(MODULES) for name, path in MODULES.items()}
    open_ends = dict(arrows)
    while free := [name for name, targets in open_ends.items() if not targets & set(open_ends) - {name}]:
        for name in free:
            del open_ends[name]
    assert not open_ends, f"circle among {sorted(open_ends)}"


def test_folders_are_small():
    folders = {path.parent for package in (*FLOORS, "tests", "benchmarks") for path in (ROOT / package).rglob("*.py")}
    crowded = {str(folder.relative_to(ROOT)): len(list(folder.glob("*.py"))) for folder in folders}
    assert {folder: count for folder, count in crowded.items() if count > MOST_FILES} == {}


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
