"""`python -m verify message-passing`: approximate message passing beside its state evolution, a descent and the theory."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from numeric.cli.arguments import (
    GRID,
    BadInput,
    add_problem_arguments,
    exact_texts,
    grid,
    integer,
)
from numeric.cli.output import add_figure, figure_asked, printed
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.messages.stages import FirstMessage
from numeric.studies.against_bayes import bayes_curve
from verify.core.data import DataKind
from verify.core.options import add_execution, execution_fields, integers, opened, size_counts, stated_problem
from verify.core.output import FORMATS, PNG_OR_PDF, write_figure
from verify.core.run import MINIMUM_DIM, Run
from verify.studies.message_passing.figure import trajectory_figure
from verify.studies.message_passing.study import MessagePassingPoint, message_store, study_message_passing
from verify.studies.message_passing.text import (
    message_passing_document,
    message_passing_lines,
    optimum_line,
    trajectory_document,
    trajectory_lines,
)
from verify.studies.message_passing.trajectories import TrajectoryPoint, study_trajectories
from verify.studies.message_passing.trajectory import Messages, trajectory_store

_PARAMETERS = ("kappa0", "width", "lambda_", "noise", "tokens", "beta", "beta0")


def add(commands: Any) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "message-passing",
        help="approximate message passing step by step beside state evolution, and its end beside a descent and the theory",
        description="Run approximate message passing and set each of its steps beside state evolution, and where it ends "
        "beside a descent from the same data and beside the theory. Prints a line a step and point with "
        "distances in standard errors, and a verdict. --bayes does the same of Bayes-optimal messages.",
        epilog="example: python -m verify message-passing --alpha 0.5,1 --dim 20,36 --runs 6 --json",
    )
    parser.add_argument("--alpha", type=grid("--alpha"), default="1", metavar="GRID", help=f"{GRID} (default 1)")
    parser.add_argument("--dim", type=integers("--dim", MINIMUM_DIM), default="20,36", metavar="N,N",
                        help="sizes d; at least two for a finite-size estimate (default 20,36)")  # fmt: skip
    parser.add_argument("--runs", type=integers("--runs", 2), default="6", metavar="N",
                        help="runs per point, one number or one for each size (default 6)")  # fmt: skip
    parser.add_argument("--data", choices=[str(kind) for kind in DataKind], default="gaussian-equivalent",
                        help="what indices are made of; descents are for gaussian-equivalent data (the default)")  # fmt: skip
    parser.add_argument("--steps", type=integer("--steps", 0, 1000, "try 10"), default="10", metavar="N",
                        help="steps set beside state evolution, 0 for none (default 10)")  # fmt: skip
    parser.add_argument("--start", choices=[str(start) for start in FirstMessage], help="where these steps start: zero (default), "
                        "the mean eigenvalue (default with --bayes), random, or informed by the target itself")  # fmt: skip
    parser.add_argument("--bayes", action="store_true",
                        help="Bayes-optimal messages in place of those of the risk; the weight decay is not used")  # fmt: skip
    add_figure(parser, f"{PNG_OR_PDF}: the steps")
    add_problem_arguments(parser, *_PARAMETERS, defaults={"kappa0": "0.5", "lambda_": "0.05", "noise": "0.5"})
    add_execution(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Pass messages, compare and print."""
    started, figure = time.perf_counter(), figure_asked(arguments, FORMATS)
    if figure and not arguments.steps:
        raise BadInput("--plot", figure, "shows steps, and --steps is 0", "leave one of them out")
    sizes = size_counts(arguments.dim, arguments.runs)
    problem = stated_problem(arguments, MarchenkoPastur(float(arguments.kappa0)))
    base = Run(problem, sizes[0][0], data=DataKind(arguments.data), **execution_fields(arguments))
    alphas = tuple(dict.fromkeys(float(alpha) for alpha in arguments.alpha))
    trajectories = _trajectories(arguments, base, alphas, sizes)
    points = _fixed_points(arguments, base, alphas, sizes)
    optima = bayes_curve(problem, alphas) if arguments.bayes else []
    agrees = all(point.agrees for point in points) and all(point.agrees for point in trajectories)
    document = {
        "parameters": exact_texts(arguments, *_PARAMETERS),
        "points": [message_passing_document(point) for point in points],
        "trajectories": [trajectory_document(point) for point in trajectories],
        "optima": [point.record() for point in optima],
        "agrees": agrees,
        "seed": arguments.seed,
        "seconds": time.perf_counter() - started,
    }

    def show() -> None:
        sys.stdout.write("".join(line for point in trajectories for line in trajectory_lines(point)))
        sys.stdout.write("".join(line for point in points for line in message_passing_lines(point)))
        sys.stdout.write("".join(optimum_line(point) for point in optima))

    with printed(arguments, document, show):
        if figure:
            write_figure(figure, lambda: trajectory_figure(trajectories, base.data), document)
    return 0 if agrees else 1


def _trajectories(
    arguments: argparse.Namespace, base: Run, alphas: tuple[float, ...], sizes: tuple[tuple[int, int], ...]
) -> tuple[TrajectoryPoint, ...]:
    if not arguments.steps:
        return ()
    start = FirstMessage(arguments.start or (FirstMessage.MEAN if arguments.bayes else FirstMessage.ZERO))
    messages = Messages(arguments.bayes, start, arguments.steps)
    store = opened(lambda folder: trajectory_store(folder, messages), Path(arguments.out))
    return study_trajectories(base, alphas, sizes, messages, store, arguments.workers)


def _fixed_points(
    arguments: argparse.Namespace, base: Run, alphas: tuple[float, ...], sizes: tuple[tuple[int, int], ...]
) -> tuple[MessagePassingPoint, ...]:
    """Where messages of the risk end; on sequences of small d they need not end, and `verify curve` trains there."""
    if arguments.bayes or base.data is not DataKind.GAUSSIAN_EQUIVALENT:
        return ()
    store = opened(message_store, Path(arguments.out))
    return study_message_passing(base, alphas, sizes, store, arguments.workers)
