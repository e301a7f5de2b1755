"""`python -m verify exponents`: slopes of narrow students at large d, slopes of the theory, and
their exponents.
"""

from __future__ import annotations

import argparse

from attention_erm.runtime.errors import InvalidParameter
from numeric.cli.arguments import add_problem_arguments, grid, integer
from numeric.cli.power_laws.exponents import covariance_exponent
from numeric.studies.regimes import LEAST_GAMMA
from verify.core.options import (
    add_sizes,
    add_task,
    add_theory_perturbation,
    require_defaults,
    size_counts,
    theory_perturbation,
)
from verify.core.study import Study
from verify.studies.exponents.plan import PATHS, ExponentPlan
from verify.studies.exponents.section import exponent_section
from verify.studies.exponents.study import study_exponents

#: Smallest d at which a feature is learned at the smaller number of samples of each path.
LEAST_DIM = 100
_BEYOND = (10**4, 10**8, 10**12)  #: sizes d of the theory alone


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--gamma",
        type=grid("--gamma"),
        default="3/4",
        metavar="GRID",
        help="eigenvalues of the target proportional to k^-GAMMA, above 1/2 (default 3/4)",
    )
    parser.add_argument(
        "--cell",
        default=",".join(PATHS),
        metavar="NAME,NAME",
        help="decay: limited by weight decay of order one; noise: by label noise (default both)",
    )
    add_sizes(parser, "200,400,800", "6", LEAST_DIM, "sizes d; three or more give a limit")
    parser.add_argument(
        "--hidden",
        type=integer("--hidden", 1, 10_000, "leave it out"),
        metavar="N",
        help="columns of the students (default 16 for decay, 3 d^0.6 for noise)",
    )
    parser.add_argument(
        "--covariance",
        type=covariance_exponent,
        metavar="power:A",
        help="covariance of the tokens; as `verify covariance-exponents`",
    )
    add_problem_arguments(parser, "noise", defaults={"noise": "0.5"})
    add_theory_perturbation(parser)
    add_task(parser)


def exponent_plan(arguments: argparse.Namespace) -> ExponentPlan:
    """Return the requested plan. Raises InvalidParameter if options do not fit together."""
    names = tuple(dict.fromkeys(arguments.cell.split(",")))
    if unknown := [name for name in names if name not in PATHS]:
        raise InvalidParameter("--cell", unknown[0], "is not a cell", f"use {' or '.join(PATHS)}")
    if low := [gamma for gamma in arguments.gamma if gamma <= LEAST_GAMMA]:
        raise InvalidParameter("--gamma", str(low[0]), "must exceed 1/2", "try 3/4")
    sizes = size_counts(arguments.dim, arguments.runs)
    counts = tuple(
        (name, gamma, dim, runs)
        for name in names
        for gamma in arguments.gamma
        for dim, runs in sizes
    )
    return ExponentPlan(
        counts,
        float(arguments.noise),
        arguments.seed,
        arguments.device,
        arguments.shuffle_labels,
        arguments.hidden,
        theory_perturbation(arguments, arguments.gamma),
        _BEYOND,
    )


def _delegate(arguments: argparse.Namespace) -> str | None:
    """Return the study of tokens with a covariance where one is stated.

    Raises:
        InvalidParameter: an option that only isotropic tokens have.
    """
    if arguments.covariance is None:
        return None
    isotropic = {
        "cell": ",".join(PATHS),
        "hidden": None,
        "theory_gamma_off": 0,
        "theory_noise_factor": 1,
    }
    require_defaults(arguments, isotropic, "is for isotropic tokens", "--covariance")
    return "covariance_exponents"


STUDY = Study(
    name="exponents",
    help="scaling exponents of trained students at large d, with intervals, compared with the "
    "derived ones",
    description="Train narrow students of power-law targets at large d along paths inside a "
    "scaling regime and fit "
    "their slopes. Prints one line per slope: trained, with an interval, and the theory at the "
    "same d, "
    "then the limit of both, the derived exponent, and a verdict. Writes exponents.png and "
    "exponents.json.",
    example="python -m verify exponents --gamma 3/4 --cell decay --dim 200,400 --runs 6",
    add_options=_add_options,
    plan=exponent_plan,
    steps=study_exponents,
    show=exponent_section,
    delegate=_delegate,
)
