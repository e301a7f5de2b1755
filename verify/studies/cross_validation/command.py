"""`python -m verify cross-validate`: weight decay chosen by cross-validation, factors against direct training of S."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

from numeric.cli.arguments import GRID, BadInput, add_problem_arguments, grid, integer, print_json
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Parametrisation
from verify.core.cross_validation import SEEDING_DECAY, DecaySearch, choose
from verify.core.decay_choice import ChoiceGroup, against_factors, choice_store
from verify.core.draw import require_memory
from verify.core.minimise import DescentStatus
from verify.core.options import add_execution, execution_fields, integers, opened, stated_problem
from verify.core.pool import execute_all
from verify.core.run import MINIMUM_DIM, Run
from verify.studies.cross_validation.text import choice_line

_LOG = logging.getLogger(__name__)

_PARAMETERS = ("kappa0", "noise", "tokens", "beta", "beta0")
_PAPER = {"kappa0": "0.05", "noise": "0.05"}  #: Figure 2


def add(commands: Any) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "cross-validate",
        help="weight decay chosen by cross-validation, factors against direct training",
        description="Choose the weight decay by cross-validation on held-out samples, for factors and for direct training "
        "of S. Prints a line a point, size and parametrisation: the mean test error at the weight decays "
        "chosen, with its standard error, and these. The exit code is 1 where direct training does better "
        "than factors.",
        epilog="example: python -m verify cross-validate --alpha 0.1,0.3,1 --dim 40 --runs 4 --json",
    )
    parser.add_argument("--alpha", type=grid("--alpha"), default="0.1,0.3,1", metavar="GRID", help=GRID)
    parser.add_argument("--dim", type=integers("--dim", MINIMUM_DIM), default="40", metavar="N,N",
                        help="sizes d (default 40)")  # fmt: skip
    parser.add_argument("--runs", type=integer("--runs", 2, 10_000, "try 4"), default="4", metavar="N",
                        help="draws of the data per point (default 4)")  # fmt: skip
    parser.add_argument("--decays", type=grid("--decays"), default="0.001:1:10", metavar="GRID",
                        help="weight decays to choose from (default 0.001:1:10)")  # fmt: skip
    parser.add_argument("--folds", type=integer("--folds", 2, 1000, "try 5"), default="5", metavar="N",
                        help="parts into which the samples are cut (default 5)")  # fmt: skip
    parser.add_argument("--parametrisation", type=_parametrisations, default="factorised,symmetric,general",
                        metavar="P,P", help="what to train (default factorised,symmetric,general)")  # fmt: skip
    add_problem_arguments(parser, *_PARAMETERS, defaults=_PAPER)
    add_execution(parser)
    parser.set_defaults(run=run)


def _parametrisations(text: str) -> tuple[Parametrisation, ...]:
    known = [str(p) for p in Parametrisation]
    for part in text.split(","):
        if part not in known:
            raise BadInput("--parametrisation", part, "is unknown", f"use one or more of {','.join(known)}")
    return tuple(dict.fromkeys(Parametrisation(part) for part in text.split(",")))


def run(arguments: argparse.Namespace) -> int:
    """Search, print, and judge whether direct training is ever better than factors."""
    started = time.perf_counter()
    points = {(a, d, p): _searches(arguments, a, d, p) for a, d, p in _points(arguments)}
    flat = [search for searches in points.values() for search in searches]
    require_memory(search.base for search in flat)
    store = opened(choice_store, Path(arguments.out))
    choices = dict(zip(flat, execute_all(flat, store, workers=arguments.workers, task=choose), strict=True))
    groups = [ChoiceGroup(*point, tuple(choices[search] for search in searches)) for point, searches in points.items()]
    comparisons = [compared for group in groups if (compared := against_factors(group, groups)) is not None]
    holds = all(choice.status is DescentStatus.CONVERGED for group in groups for choice in group.choices)
    holds &= all(item["agrees"] for item in comparisons)
    if arguments.json:
        print_json({
            "parameters": {name: str(getattr(arguments, name)) for name in _PARAMETERS},
            "points": [group.document() for group in groups],
            "direct_against_factorised": comparisons,
            "agrees": holds,
            "seed": arguments.seed,
            "seconds": time.perf_counter() - started,
        })  # fmt: skip
    else:
        sys.stdout.write("".join(map(choice_line, groups)))
    for group in groups:
        if not all(choice.inside for choice in group.choices):
            _LOG.warning(
                f"alpha {group.alpha:g}, {group.parametrisation}: a choice lies at the end of the grid; widen --decays"
            )
    return 0 if holds else 1


def _points(arguments: argparse.Namespace) -> list[tuple[float, int, Parametrisation]]:
    alphas = dict.fromkeys(float(alpha) for alpha in arguments.alpha)
    return list(product(alphas, dict.fromkeys(arguments.dim), arguments.parametrisation))


def _searches(arguments: argparse.Namespace, alpha: float, dim: int, what: Parametrisation) -> list[DecaySearch]:
    target = MarchenkoPastur(float(arguments.kappa0))
    problem = stated_problem(arguments, target, alpha=alpha, lambda_=SEEDING_DECAY, parametrisation=what)
    base = Run(problem, dim, **execution_fields(arguments))
    decays = tuple(float(decay) for decay in arguments.decays)
    return [DecaySearch(base.varied(index=i), decays, arguments.folds) for i in range(arguments.runs)]
