"""`python -m verify cross-validate`: weight decay chosen by cross-validation, factors against
direct training of S.
"""

from __future__ import annotations

import argparse
import logging
from itertools import product

from attention_erm.runtime.errors import InvalidParameter
from numeric.cli.arguments import GRID, add_problem_arguments, grid, integer
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Parametrisation
from verify.core.cross_validation import SEEDING_DECAY, DecaySearch
from verify.core.options import add_execution, execution_fields, integers, problem_from_arguments
from verify.core.run import MINIMUM_DIM, Run
from verify.core.section import Section
from verify.core.study import Study
from verify.studies.cross_validation.study import ChoiceOutcome, ChoicePlan, study_choices
from verify.studies.cross_validation.text import choice_line

_LOG = logging.getLogger(__name__)

_PARAMETERS = ("kappa0", "noise", "tokens", "beta", "beta0")
_PAPER = {"kappa0": "0.05", "noise": "0.05"}  #: values of Figure 2 of the paper


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--alpha", type=grid("--alpha"), default="0.1,0.3,1", metavar="GRID", help=GRID
    )
    parser.add_argument("--dim", type=integers("--dim", MINIMUM_DIM), default="40", metavar="N,N",
                        help="sizes d (default 40)")  # fmt: skip
    parser.add_argument(
        "--runs",
        type=integer("--runs", 2, 10_000, "try 4"),
        default="4",
        metavar="N",
        help="draws of the data per point (default 4)",
    )
    parser.add_argument("--decays", type=grid("--decays"), default="0.001:1:10", metavar="GRID",
                        help="weight decays to choose from (default 0.001:1:10)")  # fmt: skip
    parser.add_argument(
        "--folds",
        type=integer("--folds", 2, 1000, "try 5"),
        default="5",
        metavar="N",
        help="parts into which the samples are cut (default 5)",
    )
    parser.add_argument(
        "--parametrisation",
        type=_parametrisations,
        default="factorised,symmetric,general",
        metavar="P,P",
        help="what to train (default factorised,symmetric,general)",
    )
    add_problem_arguments(parser, *_PARAMETERS, defaults=_PAPER)
    add_execution(parser)


def _parametrisations(text: str) -> tuple[Parametrisation, ...]:
    known = [str(p) for p in Parametrisation]
    for part in text.split(","):
        if part not in known:
            raise InvalidParameter(
                "--parametrisation", part, "is unknown", f"use one or more of {','.join(known)}"
            )
    return tuple(dict.fromkeys(Parametrisation(part) for part in text.split(",")))


def _plan(arguments: argparse.Namespace) -> ChoicePlan:
    alphas = dict.fromkeys(float(alpha) for alpha in arguments.alpha)
    points = product(alphas, dict.fromkeys(arguments.dim), arguments.parametrisation)
    return ChoicePlan({point: _searches(arguments, *point) for point in points})


def _searches(
    arguments: argparse.Namespace, alpha: float, dim: int, what: Parametrisation
) -> tuple[DecaySearch, ...]:
    target = MarchenkoPastur(float(arguments.kappa0))
    problem = problem_from_arguments(
        arguments, target, alpha=alpha, lambda_=SEEDING_DECAY, parametrisation=what
    )
    base = Run(problem, dim, **execution_fields(arguments))
    decays = tuple(float(decay) for decay in arguments.decays)
    return tuple(
        DecaySearch(base.varied(index=i), decays, arguments.folds) for i in range(arguments.runs)
    )


def _show(outcome: ChoiceOutcome) -> Section:
    for group in outcome.groups:
        if not all(choice.inside for choice in group.choices):
            _LOG.warning(
                f"alpha {group.alpha:g}, {group.parametrisation}: a choice lies at the end of the "
                "grid; widen --decays"
            )
    document = {
        "points": [group.document() for group in outcome.groups],
        "direct_against_factorised": list(outcome.comparisons),
    }
    return Section(
        "Chosen weight decays", outcome.agrees, tuple(map(choice_line, outcome.groups)), document
    )


STUDY = Study(
    name="cross-validate",
    help="weight decay chosen by cross-validation, factors against direct training",
    description="Choose the weight decay by cross-validation on held-out samples, for factors and "
    "for direct training "
    "of S. Prints a line a point, size and parametrisation: the mean test error at the weight "
    "decays "
    "chosen, with its standard error, and these. The exit code is 1 where direct training does "
    "better "
    "than factors.",
    example="python -m verify cross-validate --alpha 0.1,0.3,1 --dim 40 --runs 4 --json",
    add_options=_add_options,
    plan=_plan,
    steps=study_choices,
    show=_show,
    parameters=lambda arguments: {
        "parameters": {name: str(getattr(arguments, name)) for name in _PARAMETERS}
    },
    writes=False,
)
