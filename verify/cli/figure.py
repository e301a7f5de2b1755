"""`python -m verify figure`: a learning curve of the paper, theory beside trained heads, as PNG and PDF, with a verdict."""

from __future__ import annotations

import argparse
import dataclasses
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from numeric.cli.arguments import BadInput, print_json, write_atomically
from verify.cli import scaling as scaling_command
from verify.cli.arguments import add_execution, integers, note, opened, size_counts
from verify.figures.main_job import draw_preset
from verify.jobs.store import Store
from verify.judging.realised import QUANTITIES
from verify.report import page as report
from verify.studies import learning_curves as gallery
from verify.studies.learning_curves import Outcome, Preset
from verify.studies.main_job import figure_one
from verify.training.data import TargetKind
from verify.training.measure import RunResult
from verify.training.run import MINIMUM_DIM

NAMES = {
    **{name: preset.title for name, preset in gallery.PRESETS.items()},
    **{name: title for name, (title, _) in scaling_command.DRAWINGS.items()},
}


def add_parser(commands: Any) -> None:
    """Add the command and its arguments."""
    listed = "; ".join(f"{name}: {title}" for name, title in NAMES.items())
    parser = commands.add_parser(
        "figure",
        help="a learning curve of the paper, theory beside trained heads",
        description=f"Presets: {listed}.",
        epilog="example: python -m verify figure 6 --out report",
    )
    parser.add_argument("preset", type=_preset, metavar=f"{{{','.join(NAMES)}}}", help="which figure")
    parser.add_argument("--dim", type=integers("--dim", MINIMUM_DIM), metavar="N,N",
                        help="sizes d, at least two to extrapolate from (default: the preset's)")  # fmt: skip
    parser.add_argument("--runs", type=integers("--runs", 2), metavar="N",
                        help="runs per point, one number or one for each size (default 8)")  # fmt: skip
    add_execution(parser)


def _preset(name: str) -> str:
    if name not in NAMES:
        raise BadInput("figure", name, "is unknown", f"use one of {','.join(NAMES)}")
    return name


def figure(arguments: argparse.Namespace) -> int:
    """Carry a preset out, write its figure and its JSON, print the scores."""
    if arguments.preset in scaling_command.DRAWINGS:
        return scaling_command.figure(arguments)
    started = time.perf_counter()
    preset = sized(gallery.PRESETS[arguments.preset], arguments.dim, arguments.runs)
    folder = Path(arguments.out)
    opened(lambda path: Store(path, RunResult), folder)  # an unwritable folder is refused before an hour of training
    base = dataclasses.replace(
        figure_one(arguments.minimiser, arguments.seed, TargetKind(arguments.target), arguments.device),
        shuffle_labels=arguments.shuffle_labels,
    )
    outcome = gallery.carry_out(preset, base, folder, note, arguments.workers)
    name = f"figure_{arguments.preset}"
    for suffix, content in draw_preset(outcome.curves, preset.quantities).items():
        write_atomically(folder / f"{name}.{suffix}", content)
    if arguments.json:
        print_json(document(arguments.preset, outcome, time.perf_counter() - started))
    else:
        sys.stdout.write("".join(lines(outcome)) + f"see {folder / name}.png and .pdf\n")
    return 0 if outcome.agrees else 1


def sized(preset: Preset, dims: Sequence[int] | None, runs: Sequence[int] | None) -> Preset:
    """The preset at other sizes, other numbers of runs, or both."""
    own_dims, own_runs = zip(*preset.sizes, strict=True)
    return dataclasses.replace(preset, sizes=size_counts(dims or own_dims, runs or own_runs))


def lines(outcome: Outcome) -> Iterator[str]:
    """The scores of every curve at every sample ratio, the runs left out, what direct training lost to factors, and the verdict."""
    yield f"{'curve':<26} {'alpha':>6}" + "".join(f"{'z ' + name:>15}" for name in QUANTITIES) + "\n"
    for curve in outcome.curves:
        for alpha in sorted({score.setting.alpha for score in curve.scores}):
            at = {score.quantity: score for score in curve.scores if score.setting.alpha == alpha}
            yield f"{curve.label:<26} {alpha:>6g}" + "".join(f"{at[name].z:>+15.2f}" for name in QUANTITIES) + "\n"
    for solution in (s for curve in outcome.curves for s in curve.solutions if not s.trusted):
        yield f"no theory at alpha {solution.problem.alpha:g}: {solution.status.value}\n"
    yield from report.excluded_lines(outcome.comparison)
    for item in outcome.training_order:
        yield (
            f"trained {item['parametrisation']} minus factors, alpha {item['alpha']:g}, d {item['dim']}: test error "
            f"{item['excess_test_error']:+.5f} +- {item['standard_error']:.5f}, {_never_better(item)}\n"
        )
    for item in outcome.theory_order:
        least = f"{item['least_excess_test_error']:+.5f}"
        yield f"theory, {item['curve']} minus factors: test error {least} or more, {_never_better(item)}\n"
    yield from report.verdict_lines(outcome.comparison)


def _never_better(item: Mapping[str, Any]) -> str:
    return "not better" if item["agrees"] else "BETTER than factors"


def document(name: str, outcome: Outcome, seconds: float) -> dict[str, Any]:
    """The outcome as JSON values; numbers that do not exist are null."""
    return {
        "figure": name,
        "title": outcome.preset.title,
        "agrees": outcome.agrees,
        "curves": [
            {
                "label": curve.label,
                "theory": [
                    {
                        "alpha": s.problem.alpha,
                        "lambda": s.problem.lambda_,
                        "status": s.status.name.lower(),
                        "replicon": s.replicon if math.isfinite(s.replicon) else None,
                        **{quantity: s.value(quantity) for quantity in QUANTITIES},
                        "error_estimates": {quantity: s.errors.get(quantity) for quantity in QUANTITIES},
                    }
                    for s in curve.solutions
                ],
            }
            for curve in outcome.curves
        ],
        "comparison": report.comparison_document(outcome.comparison),
        "training_order": list(outcome.training_order),
        "theory_order": list(outcome.theory_order),
        "seconds": seconds,
    }
