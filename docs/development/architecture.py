"""Draw the layers of the packages and the imports between them.

Run: python -m docs.development.architecture
It writes docs/development/architecture.svg; tests/test_layers.py fails if the file is stale.
"""

import ast
import html
import math
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURE = Path(__file__).with_name("architecture.svg")

#: Layers of each package, lowest first: a layer may import earlier layers only.
LAYERS = {
    "attention_erm": ("attention_erm", "attention_erm.runtime", "attention_erm.cli"),
    "derive": (
        *(
            "derive.language",
            "derive.models",
            "derive.passes.spectral_function",
            "derive.passes.free_entropy",
        ),
        *(
            "derive.passes.channel",
            "derive.passes.softmax",
            "derive.passes.limits",
            "derive.scaling",
            "derive.pipeline",
        ),
        *("derive.code.expression", "derive.code.printers", "derive.code.proofs", "derive.code"),
        *("derive.tools", "derive.cli", "derive.cli.commands", "derive.__main__"),
    ),
    "numeric": (
        *(
            "numeric.maths",
            "numeric.engines",
            "numeric.model",
            "numeric.model_files",
            "numeric.proven_laws",
            "numeric.laws",
            "numeric.real",
            "numeric.thresholds",
            "numeric.problem",
            "numeric.exact",
        ),
        *(
            "numeric.channel.softmax",
            "numeric.channel",
            "numeric.prediction",
            "numeric.saddle",
            "numeric.proven_saddle",
            "numeric.studies",
            "numeric.messages",
            "numeric.sweeps",
            "numeric.plotting",
            "numeric.cli",
            "numeric.cli.power_laws",
            "numeric.cli.commands",
        ),
        "numeric.__main__",
    ),
    "verify": (
        *("verify.core", "verify.batches", "verify.report", "verify.studies", "verify.sweeps"),
        *("verify.main_job", "verify.cli", "verify.__main__"),
    ),
}
#: The package that each drawn package imports; attention_erm, imported by all, is not drawn.
BELOW = {"derive": None, "numeric": "generated", "verify": "numeric"}

WIDTH, HEIGHT, STEP, GAP, TOP, MARGIN = (
    215,
    34,
    52,
    210,
    70,
    30,
)  # pixels
COLUMNS = ("derive", "numeric", "verify")


def modules(package: str) -> dict[str, Path]:
    """Return the modules of a package by dotted name."""
    found = {}
    for path in (ROOT / package).rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = {name: path for package in LAYERS for name, path in modules(package).items()}


def imported(path: Path) -> set[str]:
    """Return the modules that a file imports, at any level and under any condition.

    Raises:
        ValueError: a relative import.
    """
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{path}: relative import; write the full module name")
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {member if member in MODULES else str(node.module) for member in members}
    return names


def layer(module: str) -> str:
    """Return the layer of a module, or the module itself if it is a folder of layers.

    Raises:
        LookupError: the module belongs to no layer.
    """
    layers = LAYERS[module.split(".")[0]]
    matches = [name for name in layers if module == name or module.startswith(f"{name}.")]
    if matches:
        return max(matches, key=len)
    if any(name.startswith(f"{module}.") for name in layers):
        return module
    raise LookupError(
        f"{module} belongs to no layer: add it to LAYERS in docs/development/architecture.py"
    )


def arrows() -> Counter[tuple[str, str]]:
    """Count the imports from one layer to another of the same package."""
    found: Counter[tuple[str, str]] = Counter()
    for name, path in MODULES.items():
        for target in imported(path) & set(MODULES):
            ends = layer(name), layer(target)
            if ends[0] != ends[1] and ends[0].split(".")[0] == ends[1].split(".")[0] in COLUMNS:
                found[ends] += 1
    return found


def picture() -> str:
    """Return the SVG: packages side by side, layers from the bottom up, imports as arrows."""
    tallest = max(map(len, LAYERS.values()))
    height, width = (
        TOP + tallest * STEP + MARGIN,
        MARGIN + len(COLUMNS) * WIDTH + len(COLUMNS) * GAP,
    )
    ground = height - MARGIN - STEP
    places = {
        name: (MARGIN + column * (WIDTH + GAP), ground - level * STEP)
        for column, package in enumerate(COLUMNS)
        for level, name in enumerate(LAYERS[package])
    }
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="13">',
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto" '
        'markerUnits="userSpaceOnUse"><path d="M0,0 L8,4 L0,8 z" fill="#567"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for column, package in enumerate(COLUMNS):
        x, below = MARGIN + column * (WIDTH + GAP), BELOW[package]
        note = f"imports {below}" if below else "writes generated/"
        lines.append(f'<text x="{x}" y="30" font-size="20" font-weight="bold">{package}</text>')
        lines.append(f'<text x="{x}" y="50" fill="#567">{note}</text>')
    lines += [
        _arrow(places[source], places[target], count)
        for (source, target), count in sorted(arrows().items())
    ]
    lines += [_box(name, *place) for name, place in places.items()]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _box(name: str, x: int, y: int) -> str:
    files = sum(
        1
        for module, path in MODULES.items()
        if layer(module) == name and path.name != "__init__.py"
    )
    label = name.split(".", 1)[1] + (f"  ({files})" if files > 1 else "")
    return (
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#eef3f8" '
        'stroke="#567"/>'
        f'<text x="{x + 10}" y="{y + 22}">{html.escape(label)}</text>'
    )


def _arrow(source: tuple[int, int], target: tuple[int, int], count: int) -> str:
    """Return an arc on the right of a column between two layers; wider if it passes more layers."""
    x, start, end = source[0] + WIDTH, source[1] + HEIGHT * 0.65, target[1] + HEIGHT * 0.35
    reach = 18 + 15 * (abs(target[1] - source[1]) / STEP)
    weight = 0.8 + 0.5 * math.log2(count)
    return (
        f'<path d="M{x},{start:.1f} C{x + reach:.1f},{start:.1f} {x + reach:.1f},{end:.1f} '
        f'{x + 2},{end:.1f}" fill="none" '
        f'stroke="#567" stroke-opacity="0.6" stroke-width="{weight:.2f}" marker-end="url(#head)"/>'
    )


if __name__ == "__main__":
    PICTURE.write_text(picture())
