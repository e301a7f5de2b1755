"""Command `python -m numeric curve`: order parameters and errors along the sample ratio."""

import argparse
import logging
import sys
import time
from fractions import Fraction
from functools import partial

from attention_erm.runtime.progress import progress
from numeric.cli import digits
from numeric.cli.arguments import exact_text, number
from numeric.cli.output import (
    add_outputs,
    outputs,
    print_unsolved,
    printed,
    run_or_return_partial,
    save,
    warn_inexact,
    warn_of_statuses,
    with_kinks,
    write_table,
)
from numeric.cli.problem_arguments import (
    add_alpha_grid,
    add_parametrisation,
    add_problem,
    add_sample_minimum,
    problem_of,
)

_LOG = logging.getLogger(__name__)


def add(commands) -> None:  # type: ignore[no-untyped-def]  # argparse hides the type
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "curve",
        help="order parameters and errors along alpha",
        description="Solve the saddle-point equations at each alpha, each point from its neighbours. Prints a row a "
        "point: overlaps m and q, training, test and estimation error, the largest relative error estimate, "
        "the status. --json and --csv give every order parameter with its error bar and the replicon; "
        "--digits gives decimal strings with proven digits.",
        epilog="example: python -m numeric curve --alpha 0.05:4:30 --kappa0 .5 --lambda .01 --noise .5 --plot curve.png",
    )
    parser.set_defaults(run=run)
    add_alpha_grid(parser)
    add_problem(parser)
    add_parametrisation(parser)
    add_sample_minimum(parser)
    parser.add_argument(
        "--accuracy",
        type=number("--accuracy", "must lie from 1e-8 to 1e-2", _is_accuracy, "try 1e-3"),
        metavar="X",
        help="relative error to aim at for every quantity (default 1e-4 for two tokens, 5e-3 where the channel is sampled); "
        "what is reached is printed",
    )
    digits.add_digits(parser)
    add_outputs(parser)


def _is_accuracy(value: Fraction) -> bool:
    """Ends included, exactly: the float next to 1e-8 is above it."""
    return Fraction(1, 10**8) <= value <= Fraction(1, 100)


def run(arguments: argparse.Namespace) -> int:
    """Print a learning curve; exit 1 if a point was not solved."""
    if arguments.digits:
        return digits.run(arguments)
    table, figure = outputs(arguments)
    started = time.perf_counter()
    asked, given = problem_of(arguments, arguments.alpha[0])
    from numeric.channel.rules import default_accuracy
    from numeric.saddle.curve import learning_curve, solve_between

    if aim := arguments.accuracy or default_accuracy(asked):
        given["accuracy"] = exact_text(Fraction(str(aim)))

    alphas = [float(alpha) for alpha in arguments.alpha]
    accuracy = float(arguments.accuracy) if arguments.accuracy else None
    solutions = run_or_return_partial(
        learning_curve, asked, alphas, lambda grid: progress(grid, desc="alpha"), accuracy
    )
    points = [solution.record() for solution in solutions]
    document = {
        "parameters": given,
        "points": points,
        "seconds": time.perf_counter() - started,
    }
    with printed(arguments, document, partial(print_points, solutions)):
        if table:
            write_table(table, points, given)
        if figure:
            from numeric.plotting.curves import curve_coordinates, curve_figure

            drawn = with_kinks(solutions, curve_coordinates, solve_between)
            data = [solution.record() for solution in drawn]
            save(curve_figure(drawn), figure, {**document, "points": data})
    warn_of_statuses(solutions)
    warn_inexact(solutions, accuracy, where="")
    return print_unsolved(solutions)


def print_points(solutions) -> None:  # type: ignore[no-untyped-def]  # the import is deferred
    """Print the points as a table for a reader."""
    sys.stdout.write(
        f"{'alpha':>10} {'m':>10} {'q':>10} {'train':>10} {'test':>10} {'estimation':>10} {'rel.error':>9}  status\n"
    )
    for solution in solutions:
        values = (
            solution.m,
            solution.q,
            solution.train_error,
            solution.test_error,
            solution.estimation_error,
        )
        sys.stdout.write(
            f"{solution.problem.alpha:10.6f} "
            + " ".join(f"{value:10.6f}" if solution.trusted else f"{'-':>10}" for value in values)
            + f" {solution.error_estimate:9.1e}  {solution.status.name.lower()}\n"
        )
