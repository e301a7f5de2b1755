"""Options that state a problem and its training, shared by `curve` and `spectrum`."""

from __future__ import annotations

import argparse

from numeric.cli.arguments import GRID, add_problem_arguments, grid
from numeric.cli.covariance_arguments import covariance_form, covariance_of_directions
from numeric.cli.problem_arguments import add_norms, add_vocabulary, stated_vocabulary
from numeric.laws.covariance.independent import IndependentCovariance
from numeric.laws.law import Target
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.norms import GAUSSIAN_NORMS
from numeric.problem.problem import Parametrisation
from verify.core.campaign import Campaign
from verify.core.data import DataKind
from verify.core.options import (
    add_data,
    add_execution,
    add_sizes,
    execution_fields,
    problem_from_arguments,
    require_distinct_samples,
    size_counts,
    warn_of_repeated_pairs,
)
from verify.core.run import Run

#: settings of a problem that is trained, by the names of their options
PROBLEM_SETTINGS = ("kappa0", "width", "lambda_", "noise", "tokens", "beta", "beta0")
#: values of Figure 1 of the paper
_PAPER = {"kappa0": "0.5", "width": "1", "lambda_": "0.01", "noise": "0.5"}


#: Directions of a covariance that an exponent states. Its means over d equal masses are used.
DIRECTIONS = 1000


def add_training_problem(
    parser: argparse.ArgumentParser, covariance: str | None = None, vocabulary: str | None = None
) -> None:
    """Add the options of a problem, of the data, and of the training.

    Args:
        parser: parser of the command.
        covariance: default covariance of the tokens; None for isotropic tokens.
        vocabulary: default number of tokens over d^2; None for new tokens in every sample.
    """
    add_problem_arguments(parser, *PROBLEM_SETTINGS, defaults=_PAPER)
    add_data(parser, DataKind.SEQUENCES)
    parser.add_argument(
        "--parametrisation",
        choices=[str(p) for p in Parametrisation],
        default="factorised",
        help="train factors W of S, or S itself (default factorised)",
    )
    parser.add_argument(
        "--covariance",
        type=covariance_form,
        default=covariance,
        metavar="C",
        help="covariance of the tokens, independent of the target: power:A, atoms:C1:W1,C2:W2 or a "
        f"file .npy, .npz, .csv of a matrix (default {covariance or 'isotropic'})",
    )
    add_norms(parser)
    add_vocabulary(parser, vocabulary)
    add_execution(parser)


def add_campaign(parser: argparse.ArgumentParser, alphas: str, **defaults: str) -> None:
    """Add the options of runs at several sizes and sample ratios.

    Args:
        parser: parser of the command.
        alphas: default sample ratios.
        defaults: further defaults of `add_training_problem`.
    """
    parser.add_argument("--alpha", type=grid("--alpha"), default=alphas, metavar="GRID", help=GRID)
    add_sizes(parser, "32,64", "12,8")
    add_training_problem(parser, **defaults)


def base_and_campaign(arguments: argparse.Namespace) -> tuple[Run, Campaign]:
    """Return the runs that the options of `add_campaign` state.

    Args:
        arguments: parsed arguments.

    Raises:
        InvalidParameter: the theory does not cover the problem, or sizes do not fit.
    """
    sizes = size_counts(arguments.dim, arguments.runs, 2)
    alphas = tuple(dict.fromkeys(map(float, arguments.alpha)))
    require_distinct_samples(alphas, [dim for dim, _ in sizes])
    base = base_run(arguments, sizes[0][0], alphas[0])
    warn_of_repeated_pairs(base.varied(dim=dim, alpha=max(alphas)) for dim, _ in sizes)
    return base, Campaign(base.data, sizes, alphas, (base.problem.width,))


def base_run(arguments: argparse.Namespace, dim: int, alpha: float) -> Run:
    """Return the run of the arguments at one size and sample ratio.

    Args:
        arguments: parsed arguments.
        dim: d.
        alpha: sample ratio.

    Raises:
        InvalidParameter: the theory does not cover the problem.
    """
    what = Parametrisation(arguments.parametrisation)
    target: Target = MarchenkoPastur(float(arguments.kappa0))
    if arguments.covariance is not None:
        values, weights = covariance_of_directions(arguments.covariance, DIRECTIONS)
        target = IndependentCovariance(MarchenkoPastur(float(arguments.kappa0)), values, weights)
    problem = problem_from_arguments(
        arguments,
        target,
        alpha=alpha,
        parametrisation=what,
        norms=float(arguments.norms),
        vocabulary=stated_vocabulary(arguments),
    )
    return Run(problem, dim, data=DataKind(arguments.data), **execution_fields(arguments))


def given(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the stated training options as JSON values."""
    names = (*PROBLEM_SETTINGS, "target", "data", "minimiser", "parametrisation")
    stated = {name.rstrip("_"): str(getattr(arguments, name)) for name in names}
    stated |= {"covariance": arguments.covariance} if arguments.covariance else {}
    stated |= {} if arguments.norms == GAUSSIAN_NORMS else {"norms": str(arguments.norms)}
    return stated | ({"vocabulary": str(arguments.vocabulary)} if arguments.vocabulary else {})
