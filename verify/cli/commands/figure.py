"""`python -m verify figure`: a learning curve of the paper, theory beside trained heads, as PNG and PDF, with a verdict."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numeric.cli.arguments import BadInput, print_json, write_atomically
from verify.cli.arguments import add_execution, execution_fields, integers, note, result_store, size_counts
from verify.cli.power_laws import scaling as scaling_command
from verify.figures.learning_curves import preset_figure
from verify.report.documents import learning_curve_document
from verify.report.lines import learning_curve_lines
from verify.studies import learning_curves as gallery
from verify.studies.learning_curves import Preset
from verify.studies.main_job import FIGURE_ONE
from verify.training.run import MINIMUM_DIM

_NAMES = {
    **{name: preset.title for name, preset in gallery.FIGURE_PRESETS.items()},
    **{name: title for name, (title, _) in scaling_command.DRAWINGS.items()},
}


def add(commands: Any) -> None:
    """Add the command and its arguments."""
    listed = "; ".join(f"{name}: {title}" for name, title in _NAMES.items())
    parser = commands.add_parser(
        "figure",
        help="a learning curve of the paper, theory beside trained heads",
        description=f"Presets: {listed}.",
        epilog="example: python -m verify figure 6 --out report",
    )
    parser.add_argument("preset", type=_preset, metavar=f"{{{','.join(_NAMES)}}}", help="which figure")
    parser.add_argument("--dim", type=integers("--dim", MINIMUM_DIM), metavar="N,N",
                        help="sizes d, at least two to extrapolate from (default: the preset's)")  # fmt: skip
    parser.add_argument("--runs", type=integers("--runs", 2), metavar="N",
                        help="runs per point, one number or one for each size (default 8)")  # fmt: skip
    add_execution(parser)
    parser.set_defaults(run=run)


def _preset(name: str) -> str:
    if name not in _NAMES:
        raise BadInput("figure", name, "is unknown", f"use one of {','.join(_NAMES)}")
    return name


def run(arguments: argparse.Namespace) -> int:
    """Carry a preset out, write its figure and its JSON, print the scores."""
    if arguments.preset in scaling_command.DRAWINGS:
        return scaling_command.figure(arguments)
    started = time.perf_counter()
    preset = sized(gallery.FIGURE_PRESETS[arguments.preset], arguments.dim, arguments.runs)
    folder = Path(arguments.out)
    result_store(folder)  # an unwritable folder is refused before an hour of training
    base = FIGURE_ONE.varied(**execution_fields(arguments))
    outcome = gallery.study_learning_curves(preset, base, folder, note, arguments.workers)
    name = f"figure_{arguments.preset}"
    for suffix, content in preset_figure(outcome.curves, preset.quantities).items():
        write_atomically(folder / f"{name}.{suffix}", content)
    if arguments.json:
        print_json(learning_curve_document(arguments.preset, outcome, time.perf_counter() - started))
    else:
        sys.stdout.write("".join(learning_curve_lines(outcome)) + f"see {folder / name}.png and .pdf\n")
    return 0 if outcome.agrees else 1


def sized(preset: Preset, dims: Sequence[int] | None, runs: Sequence[int] | None) -> Preset:
    """The preset at other sizes, other numbers of runs, or both."""
    own_dims, own_runs = zip(*preset.sizes, strict=True)
    return dataclasses.replace(preset, sizes=size_counts(dims or own_dims, runs or own_runs))
