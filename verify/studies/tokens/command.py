"""`python -m verify tokens`: heads trained on token vectors of a file."""

from __future__ import annotations

import argparse

from attention_erm.runtime.errors import InvalidParameter
from numeric.cli.arguments import GRID, add_problem_arguments, grid
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.real.tokens import TokenFile
from verify.core.options import (
    add_execution,
    add_sizes,
    execution_fields,
    problem_from_arguments,
    require_distinct_samples,
    size_counts,
    warn_of_repeated_pairs,
)
from verify.core.run import Run
from verify.core.study import Study
from verify.core.training_options import PROBLEM_SETTINGS
from verify.studies.tokens.section import tokens_section
from verify.studies.tokens.study import Tokens, TokensPlan, study_tokens

_DEFAULTS = {"kappa0": "0.5", "width": "1", "lambda_": "0.02", "noise": "0.5"}


def _rows(text: str) -> tuple[int, int]:
    first, colon, end = text.partition(":")
    if not (colon and first.isdecimal() and end.isdecimal()):
        raise InvalidParameter("--rows", text, "is not FIRST:END", "try 1000:30000")
    return int(first), int(end)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="token vectors: .safetensors, .npz or .npy")
    parser.add_argument(
        "--tensor", metavar="NAME", help="name of the matrix in the file, one token in each row"
    )
    parser.add_argument(
        "--rows", type=_rows, metavar="FIRST:END", help="rows that are used (default all)"
    )
    parser.add_argument(
        "--project",
        choices=("leading", "random"),
        default="leading",
        help="directions that the vectors are projected on: of largest variance, or random "
        "(default leading)",
    )
    parser.add_argument(
        "--keep-norms",
        action="store_true",
        help="leave the norms of the vectors as they are; by default all are scaled to one, as "
        "before an attention layer",
    )
    parser.add_argument(
        "--alpha", type=grid("--alpha"), default="0.3,0.6,1.2", metavar="GRID", help=GRID
    )
    add_sizes(parser, "32", "4", note="numbers of directions d")
    add_problem_arguments(parser, *PROBLEM_SETTINGS, defaults=_DEFAULTS)
    add_execution(parser)


def _plan(arguments: argparse.Namespace) -> TokensPlan:
    sizes = size_counts(arguments.dim, arguments.runs)
    alphas = tuple(sorted(dict.fromkeys(map(float, arguments.alpha))))
    require_distinct_samples(alphas, [dim for dim, _ in sizes])
    file = TokenFile(
        arguments.file,
        arguments.tensor,
        arguments.rows,
        None,
        arguments.project == "leading",
        not arguments.keep_norms,
    )
    problem = problem_from_arguments(arguments, MarchenkoPastur(float(arguments.kappa0)))
    plan = TokensPlan(file, Run(problem, sizes[0][0], **execution_fields(arguments)), sizes, alphas)
    for dim, _ in sizes:
        _ = plan.file_at(dim).table  # unusable vectors are refused before anything is trained
    warn_of_repeated_pairs(plan.run(Tokens.REAL, dim, alphas[-1], 0) for dim, _ in sizes)
    return plan


def _given(arguments: argparse.Namespace) -> dict[str, str | None]:
    names = ("file", "tensor", "rows", "project", "keep_norms", *PROBLEM_SETTINGS)
    return {name.rstrip("_"): str(getattr(arguments, name)) for name in names}


STUDY = Study(
    name="tokens",
    help="heads trained on token vectors of a trained network against the theory",
    description="Train heads on sequences of real token vectors with the labels of a teacher head, "
    "and compare with the theory of their covariance and norms, with that of their covariance "
    "alone, and with that of isotropic tokens. Drawn tokens with the same covariance, of the same "
    "norms and Gaussian, are controls. The vectors lose their mean and are scaled to one norm. The "
    "verdict is negative if the isotropic theory is nearer to the test error than the theory with "
    "covariance and norms.",
    example="python -m verify tokens model.safetensors --rows 1000:30522 --dim 64,128 --runs 4",
    add_options=_add_options,
    plan=_plan,
    steps=study_tokens,
    show=tokens_section,
    parameters=lambda arguments: {"parameters": _given(arguments)},
)
