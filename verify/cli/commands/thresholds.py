"""`python -m verify thresholds`: where training loss and estimation error vanish, against the proven thresholds."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from numeric.cli.arguments import BadInput, add_problem_arguments, print_json, write_atomically
from numeric.laws.marchenko_pastur import MarchenkoPastur
from verify.cli.arguments import add_execution, execution_fields, integers, note, opened, size_counts, stated_problem
from verify.figures.thresholds import threshold_figure
from verify.report.lines import descent_line, sighting_line
from verify.studies.descents import compare_descents
from verify.studies.thresholds import DECAY, observe, vanishing_store
from verify.training.run import MINIMUM_DIM, Run

COMPARISON_DECAY = 0.01  #: at which descents over W and over S are compared


def add(commands: Any) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "thresholds",
        help="where training loss and estimation error vanish, against the proven thresholds",
        epilog="example: python -m verify thresholds --dim 24,36,48 --runs 24,16,10 --out report --json",
    )
    parser.add_argument("--dim", type=integers("--dim", MINIMUM_DIM), default="24,36,48", metavar="N,N",
                        help="sizes d, at least two to extrapolate from (default 24,36,48)")  # fmt: skip
    parser.add_argument("--runs", type=integers("--runs", 2), default="24,16,10", metavar="N",
                        help="runs per point, one number or one for each size (default 24,16,10)")  # fmt: skip
    add_problem_arguments(
        parser, "kappa0", "width", "noise", "tokens", "beta", "beta0", defaults={"kappa0": "0.5", "noise": "0.25"}
    )
    add_execution(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Locate both thresholds in training, compare with the proven values, write figure and JSON."""
    started = time.perf_counter()
    sizes = _sizes(arguments)
    folder = Path(arguments.out)
    problem = stated_problem(arguments, MarchenkoPastur(float(arguments.kappa0)), lambda_=DECAY)
    base = Run(problem, sizes[0][0], **execution_fields(arguments))
    sightings = observe(base, sizes, opened(vanishing_store, folder), note, arguments.workers)
    note("descents over W and over S")
    same = [
        compare_descents(base.varied(alpha=multiple * float(sighting.proven), lambda_=COMPARISON_DECAY))
        for sighting in sightings[:1]
        for multiple in (0.8, 2.0)
    ]
    agrees = all(item.agrees for item in sightings) and all(item.agrees for item in same)
    document = {
        "parameters": {
            name: str(getattr(arguments, name)) for name in ("kappa0", "width", "noise", "tokens", "beta", "beta0")
        },
        "decay": DECAY,
        "thresholds": [sighting.document() for sighting in sightings],
        "parametrisations": [item.document() for item in same],
        "agrees": agrees,
        "seed": arguments.seed,
        "seconds": time.perf_counter() - started,
    }
    write_atomically(folder / "thresholds.png", threshold_figure(sightings))
    write_atomically(folder / "thresholds.json", (json.dumps(document, indent=1) + "\n").encode())
    if arguments.json:
        print_json(document)
    else:
        for sighting in sightings:
            sys.stdout.write(sighting_line(sighting))
        for item in same:
            sys.stdout.write(descent_line(item))
        sys.stdout.write(f"see {folder / 'thresholds.png'} and {folder / 'thresholds.json'}\n")
    return 0 if agrees else 1


def _sizes(arguments: argparse.Namespace) -> tuple[tuple[int, int], ...]:
    """Sizes with their numbers of runs; refuses settings whose thresholds are not defined or not sharp."""
    sizes = size_counts(arguments.dim, arguments.runs)
    if len(sizes) < 2:
        raise BadInput(
            "--dim", sizes[0][0], "one size cannot be extrapolated", "give at least two, e.g. --dim 24,36,48"
        )
    if arguments.noise == 0:
        raise BadInput("--noise", 0, "the interpolation threshold needs label noise > 0", "use --noise 0.25")
    if arguments.width < 1:
        raise BadInput(
            "--width", arguments.width, "below 1 the threshold is replica symmetric only", "use --width 1 or more"
        )
    if arguments.beta != arguments.beta0:
        raise BadInput(
            "--beta", arguments.beta, f"recovery needs beta = beta0 (here {arguments.beta0})", "give both the same"
        )
    return sizes
