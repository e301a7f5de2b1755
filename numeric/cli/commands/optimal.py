"""Command `python -m numeric optimal-lambda`: the weight decay of least test error."""

import argparse
import logging
import time
from functools import partial

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
    add_decay_search,
    add_parametrisation,
    add_sample_minimum,
    problem_of_any_decay,
)
from numeric.engines.interrupted import attach_partial_result

_LOG = logging.getLogger(__name__)

OPTIMUM = ("lambda", "relative_uncertainty", "test_error", "test_error_error_bar")


def add(commands) -> None:  # type: ignore[no-untyped-def]  # argparse hides the type
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "optimal-lambda",
        help="weight decay of least test error along alpha, for factors or direct training",
        description="Find the weight decay of least test error at each alpha: decays fall from the largest at which "
        "anything is learned, then the bracket is narrowed to --tolerance. Prints a row a point: the weight "
        "decay with its relative uncertainty, the test error there with its error bar, the status.",
        epilog="example: python -m numeric optimal-lambda --alpha 0.1:4:10 --kappa0 .05 --noise .05 --plot optimal.png",
    )
    parser.set_defaults(run=run)
    add_decay_search(parser)
    add_parametrisation(parser)
    add_sample_minimum(parser)
    add_outputs(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the optimal weight decay along alpha; exit 1 if a point was not solved."""
    outputs(arguments)  # refused before any work
    started = time.perf_counter()
    asked, given = problem_of_any_decay(arguments)
    from numeric.problem.solution import NotConverged
    from numeric.studies.optimal_decay import optimal_lambda as search
    from numeric.studies.optimal_decay import optimum_between

    found, points, unsolved = [], list[dict[str, object]](), list[str]()

    def along(alphas):  # type: ignore[no-untyped-def]
        with attach_partial_result(lambda: points):
            for alpha in alphas:
                try:
                    best = search(asked.at(float(alpha)), float(arguments.tolerance))
                except NotConverged as error:
                    unsolved.append(str(error))
                    points.append(
                        {"alpha": float(alpha), **dict.fromkeys(OPTIMUM), "status": "not converged"}
                    )
                else:
                    found.append(best)
                    points.append(record(float(alpha), best))

    run_or_return_partial(along, progress(arguments.alpha, desc="alpha"))
    drawn = found
    if arguments.plot:
        from numeric.plotting.optimal import optimum_coordinates

        drawn = with_kinks(
            found,
            optimum_coordinates,
            partial(optimum_between, tolerance=float(arguments.tolerance)),
        )
    deliver(
        arguments,
        points,
        lambda plotting: plotting.optimal_figure(drawn),
        lambda: {
            "parameters": given,
            "points": points,
            "seconds": time.perf_counter() - started,
        },
        {"points": [record(best.solution.problem.alpha, best) for best in drawn]},
    )
    warn_of_values([best.solution for best in found])
    for line in unsolved:
        _LOG.error(line)
    return 1 if unsolved else 0


def record(alpha: float, best) -> dict[str, object]:  # type: ignore[no-untyped-def]  # the import is deferred
    """One sample ratio as a JSON object."""
    uncertainty = best.uncertainty if best.uncertainty < float("inf") else None
    values = (best.decay, uncertainty, best.solution.test_error, best.solution.errors["test_error"])
    status = best.solution.status.name.lower()
    return {"alpha": alpha, **dict(zip(OPTIMUM, values, strict=True)), "status": status}
