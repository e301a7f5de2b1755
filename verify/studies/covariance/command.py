"""`python -m verify covariance`: heads trained on tokens with a covariance."""

from __future__ import annotations

import argparse

from attention_erm.runtime.errors import InvalidParameter
from numeric.cli.arguments import GRID, grid
from verify.core.campaign import Campaign
from verify.core.options import (
    add_sizes,
    require_distinct_samples,
    size_counts,
    warn_of_repeated_pairs,
)
from verify.core.study import Study
from verify.core.training_options import add_training_problem, base_run, given
from verify.studies.covariance.section import covariance_section
from verify.studies.covariance.study import CovariancePlan, study_covariance

DEFAULT_COVARIANCE = "atoms:1/10:1/2,19/10:1/2"  #: default: half of the directions 19 times as long


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--alpha", type=grid("--alpha"), default="0.2,0.8", metavar="GRID", help=GRID
    )
    add_sizes(parser, "32,64", "12,8")
    add_training_problem(parser, DEFAULT_COVARIANCE)


def _plan(arguments: argparse.Namespace) -> CovariancePlan:
    if arguments.covariance is None:
        raise InvalidParameter("--covariance", "", "is required", f"try {DEFAULT_COVARIANCE}")
    sizes = size_counts(arguments.dim, arguments.runs, 2)
    alphas = tuple(dict.fromkeys(map(float, arguments.alpha)))
    require_distinct_samples(alphas, [dim for dim, _ in sizes])
    base = base_run(arguments, sizes[0][0], alphas[0])
    warn_of_repeated_pairs(base.varied(dim=dim, alpha=max(alphas)) for dim, _ in sizes)
    return CovariancePlan(base, Campaign(base.data, sizes, alphas, (base.problem.width,)))


STUDY = Study(
    name="covariance",
    help="heads trained on tokens with a covariance against the theory",
    description="Train heads on tokens with a covariance that is independent of the target, and "
    "compare with the theory of this covariance. The theory of isotropic tokens is the control: a "
    "strong covariance rejects it. With --norms fixed all tokens have one norm, as after RMS "
    "normalisation, and the theory of Gaussian norms is a second control.",
    example="python -m verify covariance --alpha 0.2 --dim 24,40 --runs 8 --json",
    add_options=_add_options,
    plan=_plan,
    steps=study_covariance,
    show=covariance_section,
    parameters=lambda arguments: {"parameters": given(arguments)},
)
