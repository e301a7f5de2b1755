"""Command `curve`: order parameters and errors along the sample ratio alpha."""

import argparse
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from attention_erm.runtime.progress import progress
from numeric.cli import digits
from numeric.cli.arguments import exact_text, number
from numeric.cli.command import Command, Result
from numeric.cli.output import (
    add_outputs,
    print_unsolved,
    run_or_return_partial,
    warn_inexact,
    warn_of_statuses,
    with_kinks,
)
from numeric.cli.problem_arguments import (
    add_alpha_grid,
    add_parametrisation,
    add_problem,
    add_sample_minimum,
    problem_of,
)

_COLUMNS = ("m", "q", "train_error", "test_error", "estimation_error")


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_alpha_grid(parser)
    add_problem(parser)
    add_parametrisation(parser)
    add_sample_minimum(parser)
    parser.add_argument(
        "--accuracy",
        type=number(
            "--accuracy",
            "must lie from 1e-8 to 1e-2",
            lambda value: Fraction(1, 10**8) <= value <= Fraction(1, 100),
            "try 1e-3",
        ),
        metavar="X",
        help="target relative error of every quantity (default 1e-4 for two tokens, 5e-3 where the "
        "channel is sampled); the achieved error is printed",
    )
    digits.add_digits(parser)
    add_outputs(parser)


def _compute(arguments: argparse.Namespace) -> Result:
    if arguments.digits:
        return digits.compute(arguments)
    problem, parameters = problem_of(arguments, arguments.alpha[0])
    from numeric.channel.rules import default_accuracy
    from numeric.saddle.curve import learning_curve, solve_between

    if aim := arguments.accuracy or default_accuracy(problem):
        parameters["accuracy"] = exact_text(Fraction(str(aim)))
    alphas = [float(alpha) for alpha in arguments.alpha]
    accuracy = float(arguments.accuracy) if arguments.accuracy else None
    watch = partial(progress, desc="alpha")
    solutions = run_or_return_partial(learning_curve, problem, alphas, watch, accuracy)
    points = [solution.record() for solution in solutions]

    def draw(plotting: Any) -> tuple[Any, Mapping[str, object]]:
        drawn = with_kinks(solutions, plotting.curve_coordinates, solve_between)
        return plotting.curve_figure(drawn), {"points": [one.record() for one in drawn]}

    def finish() -> int:
        warn_of_statuses(solutions)
        warn_inexact(solutions, accuracy, where="")
        return print_unsolved(solutions)

    return Result(
        {"parameters": parameters, "points": points},
        points,
        text=_text(solutions),
        draw=draw,
        finish=finish,
    )


def _text(solutions: Sequence[Any]) -> str:
    heads, columns = ["alpha", "m", "q", "train", "test", "estimation"], [*_COLUMNS]
    if solutions and solutions[0].problem.has_vocabulary:
        heads.insert(-1, "same vocab")
        columns.insert(-1, "vocabulary_test_error")
    if solutions and "misclassification" in solutions[0].problem.label_quantities:
        heads.insert(-1, "wrong")
        columns.insert(-1, "misclassification")
    lines = [" ".join(f"{head:>10}" for head in heads) + f" {'rel.error':>9}  status"]
    decimals = 6
    alphas = [solution.problem.alpha for solution in solutions]
    while decimals < 15 and len({f"{alpha:.{decimals}f}" for alpha in alphas}) < len(set(alphas)):
        decimals += 1
    for solution in solutions:
        values = " ".join(
            f"{getattr(solution, name):10.6f}" if solution.trusted else f"{'-':>10}"
            for name in columns
        )
        lines.append(
            f"{solution.problem.alpha:10.{decimals}f} {values} {solution.error_estimate:9.1e}  "
            f"{solution.status.name.lower()}"
        )
    return "\n".join(lines) + "\n"


COMMAND = Command(
    "curve",
    help="order parameters and errors along alpha",
    description="Solve the saddle-point equations at each alpha, each point from its neighbours. "
    "Prints one row per point: overlaps m and q, training, test and estimation error, the largest "
    "relative error estimate, the status. --json and --csv give every order parameter with its "
    "error bar and the replicon; with --vocabulary the column `same vocab` has the test error of "
    "new sequences of the same tokens. If labels are classes, `wrong` has the share of new labels "
    "that are not predicted. --digits gives decimal strings with proven digits.",
    example="python -m numeric curve --alpha 0.05:4:30 --kappa0 .5 --lambda .01 --noise .5 "
    "--plot curve.png",
    add_options=_add_options,
    compute=_compute,
)
