"""Command `samples`: the sample ratio at which the learning curve reaches an error."""

import argparse
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from numeric.cli.arguments import PARAMETERS, exact_text, integer, positive
from numeric.cli.command import Command, Result
from numeric.cli.output import add_json, warn_of_values
from numeric.cli.problem_arguments import (
    PROBLEM,
    add_parametrisation,
    add_problem,
    add_sample_minimum,
    problem_of,
)

BEST = "best"
MOST_FEATURES = 10**4


def _decay(parse: Callable[[str], Any]) -> Callable[[str], Fraction | str]:
    """Return the argument type of --lambda, which may be "best"."""
    return lambda text: BEST if text.strip() == BEST else parse(text)


def _add_options(parser: argparse.ArgumentParser) -> None:
    wanted = parser.add_argument_group("what is to be reached, one of these")
    group = wanted.add_mutually_exclusive_group(required=True)
    for name, text in (
        ("--test-error", "mean test loss of a sample"),
        ("--estimation-error", "||S - S0||^2/d"),
        ("--excess", "test error above that of the best predictor E[y | X]"),
    ):
        group.add_argument(name, type=positive(name, "give e.g. 0.1"), metavar="X", help=text)
    group.add_argument(
        "--recovered",
        type=integer("--recovered", 1, MOST_FEATURES, "give e.g. 3"),
        metavar="K",
        help="number of eigenvalues of S outside its bulk, for a target of listed eigenvalues",
    )
    add_problem(parser, *(name for name in PROBLEM if name != "lambda_"))
    parser.add_argument(
        "--lambda",
        dest="lambda_",
        type=_decay(PARAMETERS["lambda_"][1]),
        required=True,
        metavar="X",
        help="weight decay, or best: that of least test error at each sample ratio",
    )
    add_parametrisation(parser)
    add_sample_minimum(parser)
    add_json(parser)


def _compute(arguments: argparse.Namespace) -> Result:
    best = arguments.lambda_ == BEST
    if best:
        arguments.lambda_ = Fraction(1)
    dim = arguments.dim
    if arguments.kappa0 is not None:  # a law of any dimension: d is for the number of samples alone
        arguments.dim = None
    problem, parameters = problem_of(arguments, Fraction(1))
    from numeric.studies.samples import samples_for

    if best:
        parameters["lambda"] = BEST
    stated = {
        name: value
        for name in ("test_error", "estimation_error", "excess", "recovered")
        if (value := getattr(arguments, name)) is not None
    }
    ((name, value),) = stated.items()
    wanted: Any = value if name == "recovered" else float(value)
    found = samples_for(problem, **{name: wanted}, best_decay=best)
    solution = found.solution
    row: dict[str, object] = {"alpha": found.alpha, "alpha_error_bar": found.error}
    if dim is not None:
        row["samples"] = found.samples(dim)
    row |= {"lambda": solution.problem.lambda_, "test_error": solution.test_error}
    row |= {"estimation_error": solution.estimation_error, "status": solution.status.name.lower()}

    def finish() -> int:
        warn_of_values([solution])
        return 0

    shown = value if name == "recovered" else exact_text(value)
    document = {"parameters": {**parameters, name: shown}, **row}
    return Result(document, [row], finish=finish)


COMMAND = Command(
    "samples",
    help="sample ratio at which the learning curve reaches an error",
    description="Find the smallest sample ratio alpha = n/d^2 at which the learning curve reaches "
    "a test error, an estimation error, an excess or a number of recovered eigenvalues, at the "
    "given weight decay or at the best one for each alpha. Prints alpha with its error bar, n if "
    "--dim is given, and the solution there; if no number of samples is enough, the limit.",
    example="python -m numeric samples --test-error 0.1 --kappa0 .5 --lambda .05 --noise .5",
    add_options=_add_options,
    compute=_compute,
)
