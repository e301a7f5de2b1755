"""Command `cost`: learned and Bayes-optimal estimation errors."""

import argparse
from collections.abc import Mapping
from functools import partial
from typing import Any

from attention_erm.runtime.progress import progress
from numeric.cli.command import Command, Result
from numeric.cli.output import add_outputs, run_or_return_partial, warn_of_values, with_kinks
from numeric.cli.problem_arguments import (
    add_alpha_grid,
    add_problem,
    add_sample_minimum,
    problem_of,
)


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_alpha_grid(parser)
    add_problem(parser)
    add_sample_minimum(parser)
    add_outputs(parser)


def _compute(arguments: argparse.Namespace) -> Result:
    problem, parameters = problem_of(arguments, arguments.alpha[0])
    from numeric.studies.bayes_comparison import cost_between, cost_curve

    alphas = [float(alpha) for alpha in arguments.alpha]
    found = run_or_return_partial(cost_curve, problem, alphas, partial(progress, desc="alpha"))
    points = list(map(_record, found))

    def draw(plotting: Any) -> tuple[Any, Mapping[str, object]]:
        drawn = with_kinks(found, plotting.cost_coordinates, cost_between)
        return plotting.cost_figure(drawn), {"points": list(map(_record, drawn))}

    def finish() -> int:
        warn_of_values([point.solution for point in found])
        return int(any(not point.solution.trusted or point.bayes_error is None for point in found))

    document = {"parameters": parameters, "points": points}
    return Result(document, points, draw=draw, finish=finish)


def _record(point: Any) -> dict[str, object]:
    trusted = point.solution.trusted
    return {
        "alpha": point.solution.problem.alpha,
        "estimation_error": point.solution.estimation_error if trusted else None,
        "bayes_error": point.bayes_error,
        "ratio": point.ratio if trusted and point.bayes_error else None,
        "status": "optimum beyond double precision"
        if point.bayes_error is None
        else point.solution.status.name.lower(),
    }


COMMAND = Command(
    "cost",
    help="estimation error along alpha compared with the Bayes optimum",
    description="Solve the learning curve at fixed weight decay, and the Bayes optimum. Prints one "
    "row per point: the estimation error of the learned S, the estimation error of the optimum, "
    "their ratio and a status; missing values are printed as a dash.",
    example="python -m numeric cost --alpha 0.1:4:20 --kappa0 .5 --lambda .01 --noise .5 "
    "--plot cost.png",
    add_options=_add_options,
    compute=_compute,
)
