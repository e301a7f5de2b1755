"""`python -m verify curve`: runs along alpha against the theory, with a verdict."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from attention_erm.commandline.log import progress
from numeric.cli.arguments import GRID, BadInput, grid
from numeric.cli.output import TABLE, add_figure, outputs, print_rows, printed, write_table
from numeric.model import DEFAULT
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution
from numeric.saddle.curve import learning_curve
from verify.core.campaign import CURVE_POINTS, Campaign
from verify.core.curve_panel import Curve, trained_figure
from verify.core.documents import comparison_document, line_document, score_rows
from verify.core.options import integers, require_decay, size_counts
from verify.core.output import FORMATS, PNG_OR_PDF, write_figure
from verify.core.run import MINIMUM_DIM
from verify.core.scores import compare_with_theory
from verify.core.text import comparison_lines
from verify.core.theory import ACCURACY, watched_predictions
from verify.core.training_options import add_training_problem, base_run, given, stored_results
from verify.studies import command_of

_BEYOND = 1.2  # by which the line of a figure goes beyond the points


def add(commands: Any) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "curve",
        help="runs along alpha against the theory, with a verdict",
        description="Train heads at each alpha and size d and set what they do beside the theory. Prints a row a "
        "quantity, point and size: trained, its standard error, theory, and z, the score of the point, of its residual extrapolated "
        "in d; then a line a quantity: the verdict, the worst z over points, and the mean extrapolated residual in per cent; then "
        "the runs left out.",
        epilog="example: python -m verify curve --alpha 0.5,1,2 --dim 40,60 --runs 8 --noise 1 --csv curve.csv --plot curve.png",
    )
    parser.add_argument("--model", default=DEFAULT, metavar="NAME",
                        help="another model, on Gaussian-equivalent data at full width; as `verify models`, with a page and a "
                        "CSV table in --out in place of --csv and --plot")  # fmt: skip
    parser.add_argument("--settings", metavar="LIST", help="settings that only this model has, e.g. mu=1/20")
    parser.add_argument("--alpha", type=grid("--alpha"), default="0.5,1,2", metavar="GRID", help=GRID)
    parser.add_argument("--dim", type=integers("--dim", MINIMUM_DIM), default="40,60", metavar="N,N",
                        help="sizes d; at least two for a finite-size estimate (default 40,60)")  # fmt: skip
    parser.add_argument("--runs", type=integers("--runs", 2), default="8", metavar="N",
                        help="runs per point, one number or one for each size (default 8)")  # fmt: skip
    parser.add_argument("--csv", metavar="F", help=TABLE)
    add_figure(parser, PNG_OR_PDF)
    add_training_problem(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Train along alpha, compare and print."""
    if arguments.model != DEFAULT:
        return _other_model(arguments)
    started, table, figure = time.perf_counter(), *outputs(arguments, FORMATS)
    sizes = size_counts(arguments.dim, arguments.runs)
    base = base_run(arguments, sizes[0][0], float(arguments.alpha[0]))
    campaign = Campaign(
        base.data, sizes, tuple(dict.fromkeys(float(a) for a in arguments.alpha)), (base.problem.width,)
    )
    results = stored_results(campaign.runs(base), arguments)
    comparison = compare_with_theory(results, watched_predictions)
    rows, stated = score_rows(comparison.scores), {**given(arguments), "seed": arguments.seed}
    line = _line(base.problem, campaign.alphas) if figure else []
    document = {"parameters": given(arguments), **comparison_document(comparison), "seed": arguments.seed}
    document |= {"line": line_document(line)} if figure else {}
    document |= {"seconds": time.perf_counter() - started}

    def show() -> None:
        sys.stdout.write(f"{_settings_line(arguments)}\n")
        shown = [{name: value for name, value in row.items() if name != "theory_status"} for row in rows]
        print_rows(shown)  # a line says the status of the theory
        sys.stdout.write(f"{_residual_line([dim for dim, _ in sizes])}\n")
        sys.stdout.write("".join(comparison_lines(arguments.data, comparison)))

    with printed(arguments, document, show):
        if table:
            write_table(table, rows, stated)
        if figure:
            curve = Curve(rf"$\kappa = {base.problem.width:g}$", tuple(line), comparison.scores)
            write_figure(figure, partial(trained_figure, curve), document)
    return 0 if comparison.agrees else 1


def _settings_line(arguments: argparse.Namespace) -> str:
    """What no column states, asked for or not."""
    stated = {"T" if name == "tokens" else name: value for name, value in given(arguments).items()}
    problem = ", ".join(
        f"{name} {stated[name]}" for name in ("kappa0", "width", "lambda", "noise", "T", "beta", "beta0")
    )
    return f"{problem}; {stated['data']}, {stated['parametrisation']}"


def _residual_line(dims: Sequence[int]) -> str:
    """Of which residual z and mean are."""
    if len(dims) == 1:
        return f"z and mean are of the residual of a point at d = {dims[0]}, finite-size effect and all"
    terms = "a + c/d" if len(dims) == 2 else "a + c/d + e/d^2"
    return f"z and mean are of the residual of a point, extrapolated to infinite d by {terms}"


def _line(problem: Problem, alphas: Sequence[float]) -> list[Solution]:
    """The theory from a little below the sample ratios to a little above, solved or not."""
    grid = np.geomspace(min(alphas) / _BEYOND, max(alphas) * _BEYOND, CURVE_POINTS).tolist()
    return learning_curve(problem, grid, lambda values: progress(values, desc="line of the theory"), ACCURACY)


def _other_model(arguments: argparse.Namespace) -> int:
    """The same of another model.

    Raises:
        BadInput: an argument that only tied attention has.
    """
    for name in ("csv", "plot"):
        if (path := getattr(arguments, name)) is not None:
            rule = "is for tied attention"
            raise BadInput(f"--{name}", path, rule, "leave it out: a page with its figure and a table go to --out")
    neutral = {
        "width": 1, "tokens": 2, "beta": 1, "beta0": 1, "data": "sequences", "parametrisation": "factorised", "device": "cpu",
        "target": "deterministic", "minimiser": "lbfgs",
    }  # fmt: skip
    for name, value in neutral.items():
        if (given := getattr(arguments, name)) != value:
            raise BadInput(f"--{name}", given, "is for tied attention", f"leave it at {value}, or leave out --model")
    require_decay(arguments)
    return command_of("models").run(arguments)
