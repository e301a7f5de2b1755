"""Command `capacity`: the sample ratio up to which all labels of classes can be predicted."""

import argparse
from fractions import Fraction
from typing import Any

from numeric.cli.command import Command, Result
from numeric.cli.output import add_json
from numeric.cli.problem_arguments import PROBLEM, add_problem, problem_of


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_problem(parser, *(name for name in PROBLEM if name != "lambda_"))
    parser.add_argument(
        "--random-labels",
        action="store_true",
        help="labels are drawn without regard to the target, each class as likely",
    )
    add_json(parser)


def _compute(arguments: argparse.Namespace) -> Result:
    arguments.lambda_ = Fraction(1)  # drops out
    problem, given = problem_of(arguments, Fraction(1))
    del given["lambda"]
    from numeric.studies.capacity import capacity, require_capacity

    require_capacity(problem)
    found = capacity(problem, arguments.random_labels)
    document = {"parameters": {**given, "random_labels": arguments.random_labels}}
    return Result({**document, **found._asdict()}, text=_text(found))


def _text(found: Any) -> str:
    lines = [f"capacity    {found.alpha:.8g} +- {found.error:.1e}"]
    if found.correlation:
        lines.append(f"correlation {found.correlation:.8g}, of S there with the target")
    return "".join(f"{line}\n" for line in lines)


COMMAND = Command(
    "capacity",
    help="sample ratio up to which all labels of classes can be predicted",
    description="Compute the sample ratio n/d^2 above which no S predicts the labels of all "
    "training samples, for labels with noise or flips, or for random labels. Below it the training "
    "loss vanishes with the weight decay. Prints the value with an error bound, and the "
    "correlation m/sqrt(q q0) of S with the target there.",
    example="python -m numeric capacity --model sign_quadratic_hinge --kappa0 .5 --noise .5",
    add_options=_add_options,
    compute=_compute,
)
