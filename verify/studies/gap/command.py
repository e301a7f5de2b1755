"""`python -m verify gap`: the universality gap of power-law targets on token sequences, along d and gamma."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from pathlib import Path
from typing import Any

from numeric.cli.arguments import BadInput, add_problem_arguments, grid, positive, print_json
from numeric.laws.power_law import power_law
from verify.core.options import add_execution, execution_fields, integers, result_store, size_counts, stated_problem
from verify.core.output import write_figures
from verify.core.run import MINIMUM_DIM, Run
from verify.studies.gap.figure import gap_figure
from verify.studies.gap.study import gap_trends
from verify.studies.gap.text import gap_lines

_PARAMETERS = ("noise", "beta", "beta0")


def add(commands: Any) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "gap",
        help="how far the theory is from token sequences whose target has leading features",
        description="Measure how far the theory of Gaussian indices is from training on token sequences, along d, for "
        "each gamma, and fit the trend. Prints a line a gamma: the gap at each size, its limit with an error, "
        "and whether it vanishes where it must. Writes gap.png and gap.json.",
        epilog="example: python -m verify gap --power-law 1/4,3/4 --dim 24,36,56,84 --runs 48,32,24,16",
    )
    parser.add_argument("--power-law", type=grid("--power-law"), default="1/4,3/4", metavar="GRID",
                        help="exponents of the eigenvalues k^-gamma; below 1/2 the gap must vanish (default 1/4,3/4)")  # fmt: skip
    parser.add_argument("--dim", type=integers("--dim", MINIMUM_DIM), default="24,36,56,84", metavar="N,N",
                        help="sizes d, at least three to extrapolate from (default 24,36,56,84)")  # fmt: skip
    parser.add_argument("--runs", type=integers("--runs", 2), default="24", metavar="N",
                        help="runs per size, one number or one for each (default 24)")  # fmt: skip
    parser.add_argument("--alpha", type=positive("--alpha", "try 1"), default="1", metavar="X",
                        help="sample ratio n/d^2 (default 1)")  # fmt: skip
    add_problem_arguments(parser, "lambda_", *_PARAMETERS, defaults={"lambda_": "0.5", "noise": "0.5"})
    add_execution(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Train, fit, write figure and JSON, print."""
    started, folder = time.perf_counter(), Path(arguments.out)
    sizes = size_counts(arguments.dim, arguments.runs)
    if len(sizes) < 3:
        shown = ",".join(map(str, arguments.dim))
        raise BadInput("--dim", shown, "fewer than three sizes show no trend", "try --dim 24,36,56")
    target = power_law(float(arguments.power_law[0]), sizes[0][0])
    base = Run(
        stated_problem(arguments, target, alpha=float(arguments.alpha)), sizes[0][0], **execution_fields(arguments)
    )
    store = result_store(folder)
    trends = gap_trends(base, [float(gamma) for gamma in arguments.power_law], sizes, store, arguments.workers)
    agrees = all(trend.agrees for trend in trends)
    document = {
        "parameters": {name: getattr(base.problem, name) for name in ("alpha", "lambda_", *_PARAMETERS)},
        "agrees": agrees,
        "trends": [
            {**dataclasses.asdict(trend), "z": trend.z, "must_vanish": trend.must_vanish, "agrees": trend.agrees}
            for trend in trends
        ],
        "seed": arguments.seed,
        "seconds": time.perf_counter() - started,
    }
    write_figures(folder, "gap", document, {"gap": lambda: gap_figure(trends, base.problem)})
    if arguments.json:
        print_json(document)
    else:
        sys.stdout.write("".join(gap_lines(trends)) + f"see {folder / 'gap.png'} and {folder / 'gap.json'}\n")
    return 0 if agrees else 1
