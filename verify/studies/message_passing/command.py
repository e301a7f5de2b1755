"""`python -m verify message-passing`: approximate message passing compared with its state
evolution, a descent and the theory.
"""

from __future__ import annotations

import argparse

from attention_erm.runtime.errors import InvalidParameter
from numeric.cli.arguments import GRID, add_problem_arguments, exact_texts, grid, integer
from numeric.cli.output import add_figure
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.messages.stages import FirstMessage
from verify.core.data import DataKind
from verify.core.options import (
    add_execution,
    add_sizes,
    execution_fields,
    problem_from_arguments,
    size_counts,
)
from verify.core.output import PNG_OR_PDF
from verify.core.run import Run
from verify.core.study import Study
from verify.core.training_options import PROBLEM_SETTINGS
from verify.studies.message_passing.messages import MessagePlan, study_messages
from verify.studies.message_passing.section import message_section
from verify.studies.message_passing.trajectory import Messages


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--alpha", type=grid("--alpha"), default="1", metavar="GRID", help=f"{GRID} (default 1)"
    )
    add_sizes(parser, "20,36", "6")
    parser.add_argument(
        "--data",
        choices=[str(kind) for kind in DataKind],
        default="gaussian-equivalent",
        help="data that the indices come from; descents require gaussian-equivalent data (the "
        "default)",
    )
    parser.add_argument(
        "--steps",
        type=integer("--steps", 0, 1000, "try 10"),
        default="10",
        metavar="N",
        help="steps compared with state evolution, 0 for none (default 10)",
    )
    parser.add_argument(
        "--start",
        choices=[str(start) for start in FirstMessage],
        help="where these steps start: zero (default), "
        "the mean eigenvalue (default with --bayes), random, or informed by the target itself",
    )
    parser.add_argument(
        "--bayes",
        action="store_true",
        help="Bayes-optimal messages instead of messages of the risk; the weight decay is not used",
    )
    add_figure(parser, f"{PNG_OR_PDF}: the steps")
    add_problem_arguments(
        parser, *PROBLEM_SETTINGS, defaults={"kappa0": "0.5", "lambda_": "0.05", "noise": "0.5"}
    )
    add_execution(parser)


def _plan(arguments: argparse.Namespace) -> MessagePlan:
    if arguments.plot is not None and not arguments.steps:
        raise InvalidParameter(
            "--plot", arguments.plot, "shows steps, and --steps is 0", "leave one of them out"
        )
    sizes = size_counts(arguments.dim, arguments.runs)
    problem = problem_from_arguments(arguments, MarchenkoPastur(float(arguments.kappa0)))
    base = Run(problem, sizes[0][0], data=DataKind(arguments.data), **execution_fields(arguments))
    alphas = tuple(dict.fromkeys(float(alpha) for alpha in arguments.alpha))
    start = FirstMessage(
        arguments.start or (FirstMessage.MEAN if arguments.bayes else FirstMessage.ZERO)
    )
    messages = Messages(arguments.bayes, start, arguments.steps) if arguments.steps else None
    return MessagePlan(base, alphas, sizes, messages, arguments.bayes)


STUDY = Study(
    name="message-passing",
    help="approximate message passing compared with state evolution at each step, and with a "
    "descent and the theory at its end",
    description="Run approximate message passing and compare each step with state evolution, "
    "and its end with a descent from the same data and with the theory. Prints one line per "
    "step and point with distances in standard errors, and a verdict. --bayes runs "
    "Bayes-optimal messages.",
    example="python -m verify message-passing --alpha 0.5,1 --dim 20,36 --runs 6 --json",
    add_options=_add_options,
    plan=_plan,
    steps=study_messages,
    show=message_section,
    parameters=lambda arguments: {"parameters": exact_texts(arguments, *PROBLEM_SETTINGS)},
    writes=False,
)
