"""A page for each model: what it is, its thresholds, and training beside the theory as `verify
models` found it.

Run: python -m verify models && python -m docs.development.model_pages report/models
It writes docs/explanation/models/NAME.md and NAME.png.
"""

import json
import shutil
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

from attention_erm.runtime.errors import InvalidParameter
from numeric.model import ChannelKind, ModelStructure, call, functions, structure
from numeric.proven_laws.rational import rational_law
from numeric.thresholds.bayes_recovery import bayes_recovery
from numeric.thresholds.interpolation import interpolation
from numeric.thresholds.recovery import recovery

PAGES = Path(__file__).parents[1] / "explanation" / "models"
KINDS = {
    "positive": "positive, S = W Wᵀ/√(m d)",
    "symmetric": "symmetric of either sign, S = (W₊ W₊ᵀ − W₋ W₋ᵀ)/√(m d)",
    "general": "general, S = Q Kᵀ/√(m d)",
}
DIGITS = 12
NOISE = Fraction(1, 2)
_NOISY = (
    "- Training and test errors are against labels with their noise, whose variance each "
    "number of a label adds to both."
)
SETTINGS = {"kappa0": Fraction(1, 2), "scale": Fraction(1), "positive": Fraction(1, 2)}


def page(found: dict[str, Any]) -> str:
    """The page of one model."""
    name = str(found["model"])
    shape = structure(name)
    kind = KINDS[shape.matrix] if shape.has_linear_penalty else f"{shape.matrix}, trained itself"
    numbers = call(functions("balls", name).label_numbers, (), {"T": Fraction(2)})
    quantities = dict.fromkeys(point["quantity"] for point in found["points"])
    worst = max((abs(point["z"]), point["quantity"]) for point in found["points"])
    return "\n".join(
        [
            f"# {name}",
            "",
            f"{shape.title}. File `derive/models/{name}.py`, equations "
            f"`generated/{name}/equations.tex`.",
            "",
            f"- Matrix: {kind}; settings of the penalty {', '.join(shape.penalty_settings)}.",
            f"- A label carries D = {numbers} numbers; channel: {_channel(shape)}.",
            *((_NOISY,) if shape.has_noise_on_label else ()),
            *(f"- {line}" for line in _thresholds(name)),
            "",
            f"![Learning curve]({name}.png)",
            "",
            "Theory beside training on Gaussian-equivalent data, as "
            f"`python -m verify models --model {name}` found it: means of the runs at the largest "
            "d with standard errors, "
            "and the score z of the residual extrapolated to infinite d.",
            "",
            "| alpha | lambda | noise | "
            + " | ".join(f"{q}: theory | trained | z" for q in quantities)
            + " |",
            "| --- " * (3 + 3 * len(quantities)) + "|",
            *_rows(found["points"]),
            "",
            f"Largest |z|: {worst[0]:.1f} ({worst[1]}), of {len(found['points'])}; agreement is "
            "|z| < 4.",
            "",
        ]
    )


def _channel(shape: ModelStructure) -> str:
    if shape.channel is ChannelKind.CLOSED:
        return "averaged in closed form"
    blocks = ", ".join(f"{block.copies} × {block.indices}" for block in shape.blocks)
    if shape.channel is ChannelKind.SAMPLED_BLOCKS:
        return (
            f"by quasi-Monte Carlo over fields and label noise, blocks × visible indices {blocks}"
        )
    return f"sample by sample, blocks × visible indices {blocks}"


def _thresholds(name: str) -> list[str]:
    shape = structure(name)
    law = rational_law(name, **{key: SETTINGS[key] for key in shape.target_settings})
    lines = []
    for kind, ask in (
        ("interpolation", lambda: interpolation(law, NOISE, digits=DIGITS)),
        ("recovery", lambda: recovery(law, digits=DIGITS)),
        ("bayes", lambda: bayes_recovery(law, digits=DIGITS)),
    ):
        try:
            lines.append(
                f"Threshold `{kind}` at kappa0 = 1/2{', noise 1/2' * (kind == 'interpolation')}: "
                f"{ask().value}."
            )
        except InvalidParameter:
            lines.append(f"No threshold `{kind}`: {shape.missing_thresholds[kind]}.")
    return lines


def _rows(points: list[dict[str, Any]]) -> list[str]:
    places = list(dict.fromkeys((p["alpha"], p["lambda"], p["noise"], p["target"]) for p in points))
    rows = []
    for place in places:
        at = {
            p["quantity"]: p
            for p in points
            if (p["alpha"], p["lambda"], p["noise"], p["target"]) == place
        }
        cells = [f"{place[0]:g}", f"{place[1]:g}", f"{place[2]:g}"]
        for point in at.values():
            last = point["sizes"][-1]
            cells += [
                f"{last['theory']:.5f}",
                f"{last['simulation']:.5f} ± {last['standard_error']:.5f}",
                f"{point['z']:+.1f}",
            ]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def main() -> int:
    """Write them all."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "report/models")
    document = json.loads((folder / "models.json").read_text())
    PAGES.mkdir(exist_ok=True)
    for found in document["models"]:
        name = found["model"]
        (PAGES / f"{name}.md").write_text(page(found))
        shutil.copyfile(folder / f"{name}.png", PAGES / f"{name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
