"""`python -m verify curve`: runs along alpha against the theory, with a verdict."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from numeric.cli.arguments import GRID, BadInput, grid, print_json
from numeric.model import DEFAULT
from verify.cli.arguments import integers, require_decay, size_counts
from verify.cli.commands import models
from verify.cli.problem import add_training_problem, base_run, given, stored_results
from verify.judging.scores import compare_with_theory
from verify.judging.theory import watched_predictions
from verify.report.documents import comparison_document
from verify.report.lines import comparison_lines
from verify.studies.main_job import Campaign
from verify.training.run import MINIMUM_DIM


def add(commands: Any) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "curve",
        help="runs along alpha against the theory, with a verdict",
        description="Train heads at each alpha and size d and set what they do beside the theory. Prints a line a "
        "quantity: the verdict, the worst distance over points in standard errors, and the mean deviation in "
        "per cent; then the runs left out. --json holds every point.",
        epilog="example: python -m verify curve --alpha 0.5,1,2 --dim 40,60 --runs 8 --noise 1 --json",
    )
    parser.add_argument("--model", default=DEFAULT, metavar="NAME",
                        help="another model, on Gaussian-equivalent data at full width; as `verify models`")  # fmt: skip
    parser.add_argument("--settings", metavar="LIST", help="settings that only this model has, e.g. mu=1/20")
    parser.add_argument("--alpha", type=grid("--alpha"), default="0.5,1,2", metavar="GRID", help=GRID)
    parser.add_argument("--dim", type=integers("--dim", MINIMUM_DIM), default="40,60", metavar="N,N",
                        help="sizes d; at least two for a finite-size estimate (default 40,60)")  # fmt: skip
    parser.add_argument("--runs", type=integers("--runs", 2), default="8", metavar="N",
                        help="runs per point, one number or one for each size (default 8)")  # fmt: skip
    add_training_problem(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Train along alpha, compare and print."""
    if arguments.model != DEFAULT:
        return _other_model(arguments)
    started = time.perf_counter()
    sizes = size_counts(arguments.dim, arguments.runs)
    base = base_run(arguments, sizes[0][0], float(arguments.alpha[0]))
    campaign = Campaign(
        base.data, sizes, tuple(dict.fromkeys(float(a) for a in arguments.alpha)), (base.problem.width,)
    )
    results = stored_results(campaign.runs(base), arguments)
    comparison = compare_with_theory(results, watched_predictions)
    if arguments.json:
        document = {"parameters": given(arguments), **comparison_document(comparison)}
        print_json({**document, "seed": arguments.seed, "seconds": time.perf_counter() - started})
    else:
        sys.stdout.write("".join(comparison_lines(arguments.data, comparison)))
    return 0 if comparison.agrees else 1


def _other_model(arguments: argparse.Namespace) -> int:
    """The same of another model.

    Raises:
        BadInput: an argument that only tied attention has.
    """
    neutral = {
        "width": 1, "tokens": 2, "beta": 1, "beta0": 1, "data": "sequences", "parametrisation": "factorised", "device": "cpu",
        "target": "deterministic", "minimiser": "lbfgs",
    }  # fmt: skip
    for name, value in neutral.items():
        if (given := getattr(arguments, name)) != value:
            raise BadInput(f"--{name}", given, "is for tied attention", f"leave it at {value}, or leave out --model")
    require_decay(arguments)
    return models.run(arguments)
