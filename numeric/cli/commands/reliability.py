"""Command `reliability`: how often a stated class is right, by its stated probability."""

import argparse
from collections.abc import Iterable
from functools import partial
from typing import Any

from attention_erm.runtime.progress import progress
from numeric.cli.arguments import integer
from numeric.cli.command import Command, Result
from numeric.cli.output import add_outputs, print_unsolved, run_or_return_partial, warn_of_values
from numeric.cli.problem_arguments import add_alpha_grid, add_problem, problem_of
from numeric.maths.domain import finite

_BINS, _MOST_BINS = 10, 100


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_alpha_grid(parser)
    add_problem(parser)
    parser.add_argument(
        "--bins",
        type=integer("--bins", 1, _MOST_BINS, "use 10"),
        default=_BINS,
        metavar="N",
        help=f"bins of the stated probability (default {_BINS})",
    )
    add_outputs(parser)


def _compute(arguments: argparse.Namespace) -> Result:
    problem, parameters = problem_of(arguments, arguments.alpha[0])
    parameters["bins"] = arguments.bins
    from numeric.saddle.curve import learning_curve
    from numeric.studies.reliability import reliability, require_probabilities

    require_probabilities(problem)
    alphas = [float(alpha) for alpha in arguments.alpha]
    watch = partial(progress, desc="alpha")
    solutions = run_or_return_partial(learning_curve, problem, alphas, watch)
    found = [reliability(one, arguments.bins) for one in solutions if one.trusted]
    tables = [(curve.solution.problem.alpha, list(_rows(curve.bins))) for curve in found]
    points = [
        {"alpha": alpha, "calibration_error": curve.calibration_error, "bins": rows}
        for curve, (alpha, rows) in zip(found, tables, strict=True)
    ]

    def finish() -> int:
        warn_of_values(solutions)
        return print_unsolved(solutions)

    return Result(
        {"parameters": parameters, "points": points},
        [{"alpha": alpha, **row} for alpha, rows in tables for row in rows],
        draw=lambda plotting: (plotting.reliability_figure(found), {}),
        finish=finish,
    )


def _rows(bins: Iterable[Any]) -> Iterable[dict[str, float | None]]:
    for one in bins:
        yield {name: finite(value) for name, value in one._asdict().items()}


COMMAND = Command(
    "reliability",
    help="how often the predicted class is right, by its stated probability",
    description="Solve the saddle-point equations at each alpha and divide new labels into bins by "
    "the probability that the student states for the class that it predicts. Prints one row per "
    "bin: its ends, the share of the labels in it, their mean stated probability (confidence) and "
    "the share of them that are predicted (accuracy); --json also the mean distance of both.",
    example="python -m numeric reliability --model drawn_attention_cross_entropy --alpha .5,4 "
    "--kappa0 .5 --lambda .01 --noise .1 --plot reliability.png",
    add_options=_add_options,
    compute=_compute,
)
