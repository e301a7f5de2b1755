"""Arguments that state a problem and how to train it, shared by `curve`, `spectrum` and `thresholds`."""

from __future__ import annotations

import argparse
from pathlib import Path

from numeric.cli.arguments import BadInput, add_problem_arguments
from numeric.problem.problem import Parametrisation
from verify.cli.arguments import add_execution, execution_fields, result_store
from verify.jobs.pool import execute_all
from verify.judging.theory import problem_of
from verify.training.data import DataKind, require_memory
from verify.training.measure import RunResult
from verify.training.run import Run

PROBLEM = ("kappa0", "width", "lambda_", "noise", "tokens", "beta", "beta0")
PAPER = {"kappa0": "0.5", "width": "1", "lambda_": "0.01", "noise": "0.5"}  #: Figure 1


def add_problem(parser: argparse.ArgumentParser) -> None:
    """Add the parameters of a problem, what is trained on which data, and how."""
    add_problem_arguments(parser, *PROBLEM, defaults=PAPER)
    parser.add_argument("--data", choices=[str(k) for k in DataKind], default="sequences",
                        help="what the indices are made of (default sequences)")  # fmt: skip
    parser.add_argument("--parametrisation", choices=[str(p) for p in Parametrisation], default="factorised",
                        help="train factors W of S, or S itself (default factorised)")  # fmt: skip
    add_execution(parser)


def base_run(arguments: argparse.Namespace, dim: int, alpha: float) -> Run:
    """The first of the runs that the arguments ask for.

    Raises BadInput for what the theory does not cover.
    """
    if arguments.lambda_ == 0:
        raise BadInput("--lambda", 0, "the theory needs weight decay > 0", "use a small value such as 1e-3")
    kappa0, width, decay, noise, _, beta, beta0 = (float(getattr(arguments, name)) for name in PROBLEM)
    base = Run(
        dim=dim, alpha=alpha, kappa0=kappa0, width=width, lambda_=decay, noise=noise, beta=beta, beta0=beta0,
        tokens=arguments.tokens, parametrisation=Parametrisation(arguments.parametrisation), data=DataKind(arguments.data),
        **execution_fields(arguments),
    )  # fmt: skip
    problem_of(base)  # so that what the theory does not cover is refused before an hour of training
    return base


def train(runs: list[Run], arguments: argparse.Namespace) -> list[RunResult]:
    """Their results, in order, trained where the store has none.

    Raises InvalidParameter, before anything is trained, if the data of one would not fit into memory.
    """
    for item in runs:
        require_memory(item.data, item.samples, item.tokens, item.dim)
    return execute_all(runs, result_store(Path(arguments.out)), workers=arguments.workers)


def given(arguments: argparse.Namespace) -> dict[str, str]:
    """What was asked for, as JSON values."""
    return {
        name.rstrip("_"): str(getattr(arguments, name))
        for name in (*PROBLEM, "target", "data", "minimiser", "parametrisation")
    }
