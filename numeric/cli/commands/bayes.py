"""Command `python -m numeric bayes`: the Bayes optimum, in estimation and in prediction, beside the best weight decay."""

import argparse
import logging
import time

from attention_erm.runtime.progress import progress
from numeric.cli.output import add_outputs, deliver, outputs, run_or_return_partial, warn_of_values
from numeric.cli.problem_arguments import add_decay_search, problem_of_any_decay

_LOG = logging.getLogger(__name__)


def add(commands) -> None:  # type: ignore[no-untyped-def]  # argparse hides the type
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "bayes",
        help="Bayes-optimal estimation and test error along alpha, beside the best weight decay",
        description="Solve for the Bayes-optimal estimate of the target at each alpha and set it beside the factors "
        "trained at the weight decay of least test error. Prints a row a point: estimation errors of both, "
        "test errors of both, the weight decay, the status; with --json also the least test error that any "
        "predictor has. What was not reached is null and named on stderr.",
        epilog="example: python -m numeric bayes --alpha 0.1:4:8 --kappa0 .5 --noise .5 --plot bayes.png",
    )
    parser.set_defaults(run=run)
    add_decay_search(parser)
    add_outputs(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print optimal and learned errors; exit 1 if one was not reached."""
    outputs(arguments)  # refused before any work
    started = time.perf_counter()
    asked, given = problem_of_any_decay(arguments)
    from numeric.prediction.prediction import best_prediction
    from numeric.studies.bayes_comparison import bayes_curve

    alphas = [float(alpha) for alpha in arguments.alpha]
    tolerance = float(arguments.tolerance)
    found = run_or_return_partial(
        bayes_curve, asked, alphas, lambda values: progress(values, desc="alpha"), tolerance
    )
    points = [point(item) for item in found]
    deliver(
        arguments,
        points,
        lambda plotting: plotting.bayes_figure(found),
        lambda: {
            "parameters": given,
            "least_test_error": best_prediction(asked).least_test_error(),
            "points": points,
            "seconds": time.perf_counter() - started,
        },
    )
    warn_of_values([item.learned.solution for item in found if item.learned])
    return print_missing(points)


def point(item) -> dict[str, object]:  # type: ignore[no-untyped-def]  # the import is deferred
    """One sample ratio as a JSON object; what was not reached is null."""
    status = item.learned.solution.status.name.lower() if item.learned else "not converged"
    return {**item.record(), "status": status}


def print_missing(points: list[dict[str, object]]) -> int:
    """One line on stderr for each point where something was not reached; the exit code, 1 if there is one."""
    missing = [
        (found["alpha"], [name for name, value in found.items() if value is None])
        for found in points
    ]
    for alpha, names in missing:
        if names:
            _LOG.error(
                "alpha = %g: %s beyond double precision or not converged", alpha, ", ".join(names)
            )
    return 1 if any(names for _, names in missing) else 0
