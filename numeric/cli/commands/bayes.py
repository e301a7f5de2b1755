"""Command `bayes`: the Bayes optimum compared with the best weight decay."""

import argparse
import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

from attention_erm.runtime.progress import progress
from numeric.cli.command import Command, Result
from numeric.cli.output import add_outputs, run_or_return_partial, warn_of_values
from numeric.cli.problem_arguments import add_decay_search, problem_of_any_decay

_LOG = logging.getLogger(__name__)


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_decay_search(parser)
    add_outputs(parser)


def _compute(arguments: argparse.Namespace) -> Result:
    problem, parameters = problem_of_any_decay(arguments)
    from numeric.prediction.prediction import best_prediction
    from numeric.studies.bayes_comparison import bayes_curve

    alphas = [float(alpha) for alpha in arguments.alpha]
    watch = partial(progress, desc="alpha")
    found = run_or_return_partial(bayes_curve, problem, alphas, watch, float(arguments.tolerance))
    points = [_record(point) for point in found]

    def finish() -> int:
        warn_of_values([point.learned.solution for point in found if point.learned])
        return print_missing(points)

    return Result(
        {
            "parameters": parameters,
            "least_test_error": best_prediction(problem).least_test_error(),
            "points": points,
        },
        points,
        draw=lambda plotting: (plotting.bayes_figure(found), {}),
        finish=finish,
    )


def _record(point: Any) -> dict[str, object]:
    status = point.learned.solution.status.name.lower() if point.learned else "not converged"
    return {**point.record(), "status": status}


def print_missing(points: Sequence[dict[str, object]]) -> int:
    """Log one line for each point with missing values, and return the exit code."""
    code = 0
    for point in points:
        if names := [name for name, value in point.items() if value is None]:
            code = 1
            _LOG.error(
                "alpha = %g: %s beyond double precision or not converged",
                point["alpha"],
                ", ".join(names),
            )
    return code


COMMAND = Command(
    "bayes",
    help="Bayes-optimal estimation and test error along alpha, compared with the best weight decay",
    description="Solve for the Bayes-optimal estimate of the target at each alpha and compare it "
    "with the factors trained at the weight decay of least test error. Prints one row per point: "
    "estimation errors of both, test errors of both, the weight decay, the status; with --json "
    "also the least test error of any predictor. If labels are classes, wrong labels and agreement "
    "of both follow. Missing values are null and listed on stderr.",
    example="python -m numeric bayes --alpha 0.1:4:8 --kappa0 .5 --noise .5 --plot bayes.png",
    add_options=_add_options,
    compute=_compute,
)
