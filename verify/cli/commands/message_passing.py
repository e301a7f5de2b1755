"""`python -m verify message-passing`: approximate message passing beside a descent and the order parameters of the theory."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from numeric.cli.arguments import add_problem_arguments, exact_texts, grid, print_json
from numeric.laws.marchenko_pastur import MarchenkoPastur
from verify.cli.arguments import add_execution, execution_fields, integers, opened, size_counts, stated_problem
from verify.report.documents import message_passing_document
from verify.report.lines import message_passing_lines
from verify.studies.message_passing import message_store, study_message_passing
from verify.training.data import DataKind
from verify.training.run import MINIMUM_DIM, Run

_PARAMETERS = ("kappa0", "width", "lambda_", "noise", "tokens", "beta", "beta0")


def add(commands: Any) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "message-passing",
        help="approximate message passing on Gaussian-equivalent data beside a descent and the theory",
        epilog="example: python -m verify message-passing --alpha 0.5,1 --dim 20,36 --runs 6 --json",
    )
    parser.add_argument("--alpha", type=grid("--alpha"), default="1", metavar="GRID",
                        help="0.2,0.5,1 or first:last:count (geometric) (default 1)")  # fmt: skip
    parser.add_argument("--dim", type=integers("--dim", MINIMUM_DIM), default="20,36", metavar="N,N",
                        help="sizes d; at least two for a finite-size estimate (default 20,36)")  # fmt: skip
    parser.add_argument("--runs", type=integers("--runs", 2), default="6", metavar="N",
                        help="runs per point, one number or one for each size (default 6)")  # fmt: skip
    add_problem_arguments(parser, *_PARAMETERS, defaults={"kappa0": "0.5", "lambda_": "0.05", "noise": "0.5"})
    add_execution(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Minimise both ways, compare and print."""
    started = time.perf_counter()
    sizes = size_counts(arguments.dim, arguments.runs)
    problem = stated_problem(arguments, MarchenkoPastur(float(arguments.kappa0)))
    base = Run(problem, sizes[0][0], data=DataKind.GAUSSIAN_EQUIVALENT, **execution_fields(arguments))
    store = opened(message_store, Path(arguments.out))
    alphas = tuple(dict.fromkeys(float(alpha) for alpha in arguments.alpha))
    points = study_message_passing(base, alphas, sizes, store, arguments.workers)
    agrees = all(point.agrees for point in points)
    if arguments.json:
        print_json({
            "parameters": exact_texts(arguments, *_PARAMETERS),
            "points": [message_passing_document(point) for point in points],
            "agrees": agrees,
            "seed": arguments.seed,
            "seconds": time.perf_counter() - started,
        })  # fmt: skip
    else:
        sys.stdout.write("".join(line for point in points for line in message_passing_lines(point)))
    return 0 if agrees else 1
