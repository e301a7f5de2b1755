"""Imports between packages and layers, and the modules that a threshold command may import."""

import ast
import re
import subprocess
import sys

import pytest

from docs.development.architecture import (
    LAYERS,
    MODULES,
    PICTURE,
    ROOT,
    imported,
    layer,
    modules,
    picture,
)

BELOW = {
    "attention_erm": set(),
    "derive": {"attention_erm"},
    "numeric": {"attention_erm"},
    "verify": {"attention_erm", "numeric"},
}
ONLY_IN = {"torch": "verify", "sympy": "derive", "numba": "numeric"}


@pytest.mark.parametrize("package", LAYERS)
def test_packages_import_only_what_lies_below(package):
    for name, path in modules(package).items():
        tops = {target.split(".")[0] for target in imported(path)}
        assert tops & set(LAYERS) <= BELOW[package] | {package}, name
        for library, owner in ONLY_IN.items():
            assert library not in tops or package == owner, f"{name} imports {library}"
        assert "generated" not in tops, (
            f"{name} imports a generated package; only numeric.model may, by name"
        )


@pytest.mark.parametrize("package", LAYERS)
def test_a_layer_imports_only_lower_layers(package):
    layers = LAYERS[package]
    for name, path in modules(package).items():
        if name not in layers and any(
            one.startswith(f"{name}.") for one in layers
        ):  # a folder of layers
            assert not imported(path) & set(MODULES), f"{name} imports layers"
            continue
        level = layers.index(layer(name))
        for target in imported(path) & set(MODULES):
            if target.split(".")[0] == package:
                assert layers.index(layer(target)) <= level, (
                    f"{name} imports {target}, a higher layer"
                )


#: Modules of verify.core that parse options and write what commands print: as close to the command
#: line as commands.
COMMAND_SUPPORT = ("verify.core.options", "verify.core.training_options", "verify.core.output")


def is_command_module(name):
    return name.startswith(("verify.cli", "verify.__main__", *COMMAND_SUPPORT)) or name.endswith(
        ".command"
    )


def test_only_command_modules_import_the_command_line():
    """Training, judging and drawing work without a command line, that of numeric included."""
    for name, path in modules("verify").items():
        if name != "verify" and not is_command_module(name):
            found = {
                target
                for target in imported(path)
                if target.startswith(("numeric.cli", "numeric.__main__"))
            }
            found |= {
                target
                for target in imported(path)
                if target in MODULES and is_command_module(target)
            }
            assert not found, f"{name} imports {found}"


def study_of(module):
    parts = module.split(".")
    return parts[2] if parts[:2] == ["verify", "studies"] and len(parts) > 2 else None


def test_a_study_imports_no_other_study():
    """What two studies share is in verify.core."""
    for name, path in modules("verify").items():
        if study := study_of(name):
            others = {
                target
                for target in imported(path) & set(MODULES)
                if study_of(target) not in (None, study)
            }
            assert not others, f"{name} imports {others}"


def test_the_report_knows_no_study():
    for name, path in modules("verify").items():
        if name.startswith("verify.report"):
            assert not {target for target in imported(path) if target.startswith("verify.studies")}


#: What every command offers under the same name, and every package's command line.
INTERFACE = {"add", "run", "main", "command_line", "build_parser", "COMMANDS", "COMMAND", "STUDY"}


def public_names(path):
    """Classes, functions and constants that a file defines for others."""
    for node in ast.parse(path.read_text()).body:
        match node:
            case (
                ast.ClassDef(name=name)
                | ast.FunctionDef(name=name)
                | ast.AnnAssign(target=ast.Name(id=name))
            ):
                names = [name]
            case ast.Assign(targets=targets):
                names = [
                    part.id
                    for target in targets
                    for part in ast.walk(target)
                    if isinstance(part, ast.Name)
                ]
            case _:
                names = []
        yield from (name for name in names if not name.startswith("_"))


def test_a_public_name_of_verify_is_defined_once():
    """Within verify and numeric, so that a reader knows which one is meant."""
    homes = {}
    for module, path in (modules("numeric") | modules("verify")).items():
        for name in set(public_names(path)) - INTERFACE:
            homes.setdefault(name, []).append(module)
    shared = {name: found for name, found in homes.items() if len(found) > 1}
    assert not {
        name: found for name, found in shared.items() if any(m.startswith("verify") for m in found)
    }


def test_no_module_imports_itself_through_others():
    arrows = {name: imported(path) & set(MODULES) for name, path in MODULES.items()}
    open_ends = dict(arrows)
    while free := [
        name for name, targets in open_ends.items() if not targets & set(open_ends) - {name}
    ]:
        for name in free:
            del open_ends[name]
    assert not open_ends, f"import cycle among {sorted(open_ends)}"


def test_the_picture_is_up_to_date():
    assert PICTURE.read_text() == picture(), "stale; run python -m docs.development.architecture"


def test_documents_and_comments_name_files_that_exist():
    path = re.compile(r"(?:derive|numeric|verify|docs|benchmarks|tests)/[\w./]*\.(?:py|md|json)")
    texts = [*ROOT.glob("docs/**/*.md"), ROOT / "README.md", *MODULES.values()]
    named = {(text.name, found) for text in texts for found in path.findall(text.read_text())}
    assert len(named) > 20
    assert {(text, found) for text, found in named if not (ROOT / found).exists()} == set()


def test_generated_modules_import_only_their_numerical_library():
    libraries = {"float64": {"numpy"}, "balls": {"flint"}}
    for language, library in libraries.items():
        shared = list((ROOT / "generated/shared" / language).glob("*.py"))
        assert shared
        for path in (*shared, *ROOT.glob(f"generated/*/{language}.py")):
            outside = {
                name
                for name in imported(path)
                if not name.startswith(f"generated.shared.{language}.")
            }
            assert outside == library, path
            assert outside == imported(path) or path not in shared, (
                f"{path} imports what others share"
            )


def loaded_by(arguments):
    """Modules that a command loads."""
    command = [sys.executable, "-X", "importtime", "-m", "numeric", *arguments.split()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {line.split("|")[-1].strip() for line in done.stderr.splitlines() if "|" in line}


def test_a_threshold_command_imports_no_heavy_package():
    loaded = {name.split(".")[0] for name in loaded_by("threshold recovery --kappa0 1/2")}
    assert "flint" in loaded
    assert not loaded & {"mpmath", "sympy", "torch", "scipy", "numba", "numpy", "matplotlib"}


def test_a_point_of_two_tokens_loads_what_it_calls():
    """After its kernels are compiled and its Sobol points are cached."""
    for _ in range(2):
        loaded = loaded_by("curve --alpha .5 --kappa0 .5 --lambda .01 --noise .5")
    assert "numba" in loaded
    assert not loaded & {
        "scipy.stats",
        "scipy.optimize",
        "pandas",
        "matplotlib",
        "mpmath",
        "sympy",
        "torch",
        "filelock",
    }


def test_no_python_at_the_top():
    assert list(ROOT.glob("*.py")) == []


def test_figures_have_one_style():
    """Figures are drawn on sheets, whose width and text size numeric.plotting sets."""
    names = [
        name
        for name in MODULES
        if name.startswith("verify.") and name.endswith(("figure", "figures", "_panel"))
    ]
    names += [
        name
        for name in MODULES
        if name.startswith("numeric.plotting.") and name != "numeric.plotting.style"
    ]
    drawing = {name: MODULES[name] for name in names}
    assert len(drawing) > 12
    for name, path in drawing.items():
        for call in (
            node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
        ):
            assert not (isinstance(call.func, ast.Name) and call.func.id == "Figure"), (
                f"{name} creates a Figure without a Sheet"
            )
            sizes = [one.value for one in call.keywords if (one.arg or "").endswith("fontsize")]
            assert all(
                isinstance(size, ast.Constant) and isinstance(size.value, str) for size in sizes
            ), name
