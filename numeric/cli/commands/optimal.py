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

OPTIMUM = ("lambda", "relative_uncertainty", "test_error", "test_error_error_bar")


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_decay_search(parser)
    add_parametrisation(parser)
    add_sample_minimum(parser)
    add_outputs(parser)


def _compute(arguments: argparse.Namespace) -> Result:
    problem, parameters = problem_of_any_decay(arguments)
    from numeric.problem.solution import NotConverged
    from numeric.studies.optimal_decay import optimal_lambda, optimum_between

    found, points, unsolved = [], list[dict[str, object]](), list[str]()
    tolerance = float(arguments.tolerance)

    def search(alphas: Iterable[Fraction]) -> list[dict[str, object]]:
        with attach_partial_result(lambda: points):
            for alpha in map(float, alphas):
                try:
                    found.append(optimal_lambda(problem.at(alpha), tolerance))
                    points.append(_record(found[-1]))
                except NotConverged as error:
                    unsolved.append(str(error))
                    points.append(
                        {"alpha": alpha, **dict.fromkeys(OPTIMUM), "status": "not converged"}
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


def _record(best: Any) -> dict[str, object]:
    solution = best.solution
    uncertainty = best.uncertainty if best.uncertainty < float("inf") else None
    values = (best.decay, uncertainty, solution.test_error, solution.errors["test_error"])
    return {
        "alpha": solution.problem.alpha,
        **dict(zip(OPTIMUM, values, strict=True)),
        "status": solution.status.name.lower(),
    }


COMMAND = Command(
    "optimal-lambda",
    help="weight decay of least test error along alpha, for factors or direct training",
    description="Find the weight decay of least test error at each alpha: the search starts at the "
    "largest weight decay at which anything is learned and narrows the bracket to --tolerance. "
    "Prints one row per point: the weight decay with its relative uncertainty, the test error "
    "there with its error bar, the status.",
    example="python -m numeric optimal-lambda --alpha 0.1:4:10 --kappa0 .05 --noise .05 "
    "--plot optimal.png",
    add_options=_add_options,
    compute=_compute,
)
