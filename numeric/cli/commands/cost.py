"""Command `python -m numeric cost`: learned and Bayes-optimal estimation errors."""

import argparse
import time

from attention_erm.runtime.progress import progress
from numeric.cli.output import (
    add_outputs,
    deliver,
    outputs,
    run_or_return_partial,
    warn_of_values,
    with_kinks,
)
from numeric.cli.problem_arguments import (
    add_alpha_grid,
    add_problem,
    add_sample_minimum,
    problem_of,
)


def add(commands) -> None:  # type: ignore[no-untyped-def]  # argparse hides the type
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "cost",
        help="estimation error along alpha against the Bayes optimum",
        description="Solve the learning curve at fixed weight decay and the Bayes optimum beside it. Prints a row a "
        "point: the estimation error of the learned S, that of the optimum, their ratio and a status; a point "
        "without one of them has a dash.",
        epilog="example: python -m numeric cost --alpha 0.1:4:20 --kappa0 .5 --lambda .01 --noise .5 --plot cost.png",
    )
    parser.set_defaults(run=run)
    add_alpha_grid(parser)
    add_problem(parser)
    add_sample_minimum(parser)
    add_outputs(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print learned and optimal estimation errors; exit 1 if a point was not solved."""
    outputs(arguments)  # refused before any work
    started = time.perf_counter()
    asked, given = problem_of(arguments, arguments.alpha[0])
    from numeric.studies.bayes_comparison import cost_between, cost_curve

    alphas = [float(alpha) for alpha in arguments.alpha]
    found = run_or_return_partial(
        cost_curve, asked, alphas, lambda values: progress(values, desc="alpha")
    )

    drawn = found
    if arguments.plot:
        from numeric.plotting.optimal import cost_coordinates

        drawn = with_kinks(found, cost_coordinates, cost_between)
    points = [_point(item) for item in found]
    deliver(
        arguments,
        points,
        lambda plotting: plotting.cost_figure(drawn),
        lambda: {"parameters": given, "points": points, "seconds": time.perf_counter() - started},
        {"points": [_point(item) for item in drawn]},
    )
    warn_of_values([item.solution for item in found])
    return 0 if all(item.solution.trusted and item.bayes_error is not None for item in found) else 1


def _point(item) -> dict[str, object]:  # type: ignore[no-untyped-def]
    return {
        "alpha": item.solution.problem.alpha,
        "estimation_error": item.solution.estimation_error if item.solution.trusted else None,
        "bayes_error": item.bayes_error,
        "ratio": item.ratio if item.solution.trusted and item.bayes_error else None,
        "status": item.solution.status.name.lower()
        if item.bayes_error is not None
        else "optimum beyond double precision",
    }
