"""Command `optimal-lambda`: the weight decay of least test error."""

import argparse
import logging
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from attention_erm.runtime.progress import progress
from numeric.cli.command import Command, Result
from numeric.cli.output import add_outputs, run_or_return_partial, warn_of_values, with_kinks
from numeric.cli.problem_arguments import (
    add_decay_search,
    add_parametrisation,
    add_sample_minimum,
    problem_of_any_decay,
)
from numeric.engines.interrupted import attach_partial_result

_LOG = logging.getLogger(__name__)


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_decay_search(parser)
    parser.add_argument(
        "--for",
        dest="error",
        choices=("test-error", "misclassification"),
        default="test-error",
        help="error to be minimised: the mean loss (default), or the share of wrong labels, for "
        "labels that are classes",
    )
    add_parametrisation(parser)
    add_sample_minimum(parser)
    add_outputs(parser)


def _compute(arguments: argparse.Namespace) -> Result:
    problem, parameters = problem_of_any_decay(arguments)
    from numeric.problem.solution import NotConverged
    from numeric.studies.optimal_decay import optimal_lambda, optimum_between, require_error

    error = arguments.error.replace("-", "_")
    require_error(problem, error)
    if error != "test_error":
        parameters["for"] = arguments.error
    found, points, unsolved = [], list[dict[str, object]](), list[str]()
    tolerance = float(arguments.tolerance)

    def search(alphas: Iterable[Fraction]) -> list[dict[str, object]]:
        with attach_partial_result(lambda: points):
            for alpha in map(float, alphas):
                try:
                    found.append(optimal_lambda(problem.at(alpha), tolerance, for_=error))
                    points.append(_record(found[-1]))
                except NotConverged as reason:
                    unsolved.append(str(reason))
                    names = _columns(error)
                    points.append(
                        {"alpha": alpha, **dict.fromkeys(names), "status": "not converged"}
                    )
        return points

    run_or_return_partial(search, progress(arguments.alpha, desc="alpha"))

    def draw(plotting: Any) -> tuple[Any, Mapping[str, object]]:
        between = partial(optimum_between, tolerance=tolerance)
        drawn = with_kinks(found, plotting.optimum_coordinates, between)
        return plotting.optimal_figure(drawn), {"points": list(map(_record, drawn))}

    def finish() -> int:
        warn_of_values([best.solution for best in found])
        for line in unsolved:
            _LOG.error(line)
        return int(bool(unsolved))

    document = {"parameters": parameters, "points": points}
    return Result(document, points, draw=draw, finish=finish)


def _columns(error: str) -> tuple[str, ...]:
    from numeric.problem.solution import ERROR_BAR  # slow import

    return "lambda", "relative_uncertainty", error, f"{error}{ERROR_BAR}"


def _record(best: Any) -> dict[str, object]:
    solution = best.solution
    uncertainty = best.uncertainty if best.uncertainty < float("inf") else None
    values = (best.decay, uncertainty, best.least, solution.errors[best.error])
    return {
        "alpha": solution.problem.alpha,
        **dict(zip(_columns(best.error), values, strict=True)),
        "status": solution.status.name.lower(),
    }


COMMAND = Command(
    "optimal-lambda",
    help="weight decay of least test error along alpha, for factors or direct training",
    description="Find the weight decay of least test error, or of the fewest wrong labels (--for "
    "misclassification), at each alpha: the search starts at the "
    "largest weight decay at which anything is learned and narrows the bracket to --tolerance. "
    "Prints one row per point: the weight decay with its relative uncertainty, the error "
    "there with its error bar, the status.",
    example="python -m numeric optimal-lambda --alpha 0.1:4:10 --kappa0 .05 --noise .05 "
    "--plot optimal.png",
    add_options=_add_options,
    compute=_compute,
)
