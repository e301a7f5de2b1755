"""`python -m verify curve`: heads trained along alpha, compared with the theory."""

from __future__ import annotations

import argparse

from attention_erm.runtime.errors import InvalidParameter
from numeric.cli.arguments import GRID, grid
from numeric.cli.output import TABLE, add_figure
from numeric.model import DEFAULT
from verify.core.campaign import Campaign
from verify.core.options import (
    integers,
    require_decay,
    require_defaults,
    size_counts,
    warn_of_repeated_pairs,
)
from verify.core.output import PNG_OR_PDF
from verify.core.run import MINIMUM_DIM
from verify.core.study import Study
from verify.core.training_options import add_training_problem, base_run, given
from verify.studies.learning_curves.campaigns import CurvePlan, study_curve
from verify.studies.learning_curves.section import curve_section


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        default=DEFAULT,
        metavar="NAME",
        help="another model, on Gaussian-equivalent data at full width; as `verify models`, with a "
        "page and a "
        "CSV table in --out in place of --csv and --plot",
    )
    parser.add_argument(
        "--settings", metavar="LIST", help="settings that only this model has, e.g. mu=1/20"
    )
    parser.add_argument(
        "--alpha", type=grid("--alpha"), default="0.5,1,2", metavar="GRID", help=GRID
    )
    parser.add_argument(
        "--dim",
        type=integers("--dim", MINIMUM_DIM),
        default="40,60",
        metavar="N,N",
        help="sizes d; at least two for a finite-size estimate (default 40,60)",
    )
    parser.add_argument(
        "--runs",
        type=integers("--runs", 2),
        default="8",
        metavar="N",
        help="runs per point, one number or one for each size (default 8)",
    )
    parser.add_argument("--csv", metavar="F", help=TABLE)
    add_figure(parser, PNG_OR_PDF)
    add_training_problem(parser)


def _plan(arguments: argparse.Namespace) -> CurvePlan:
    sizes = size_counts(arguments.dim, arguments.runs)
    base = base_run(arguments, sizes[0][0], float(arguments.alpha[0]))
    alphas = tuple(dict.fromkeys(float(alpha) for alpha in arguments.alpha))
    campaign = Campaign(base.data, sizes, alphas, (base.problem.width,))
    warn_of_repeated_pairs(base.varied(dim=dim, alpha=max(alphas)) for dim, _ in sizes)
    return CurvePlan(base, campaign, arguments.plot is not None, _settings_line(arguments))


def _settings_line(arguments: argparse.Namespace) -> str:
    """Return the parameters that no column states."""
    stated = {"T" if name == "tokens" else name: value for name, value in given(arguments).items()}
    problem = ", ".join(
        f"{name} {stated[name]}"
        for name in ("kappa0", "width", "lambda", "noise", "T", "beta", "beta0")
    )
    return f"{problem}; {stated['data']}, {stated['parametrisation']}"


def _other_study(arguments: argparse.Namespace) -> str | None:
    """Return the study of other models where one is requested.

    Raises:
        InvalidParameter: an option that only tied attention has.
    """
    if arguments.model == DEFAULT:
        return None
    for name in ("csv", "plot"):
        if (path := getattr(arguments, name)) is not None:
            rule = "is for tied attention"
            raise InvalidParameter(
                f"--{name}",
                path,
                rule,
                "leave it out: a page with its figure and a table go to --out",
            )
    neutral = {
        "width": 1,
        "tokens": 2,
        "beta": 1,
        "beta0": 1,
        "data": "sequences",
        "parametrisation": "factorised",
        "device": "cpu",
        "target": "deterministic",
        "minimiser": "lbfgs",
        "covariance": None,
    }
    require_defaults(arguments, neutral, "is for tied attention", "--model")
    require_decay(arguments)
    return "models"


STUDY = Study(
    name="curve",
    help="runs along alpha against the theory, with a verdict",
    description="Train heads at each alpha and size d and compare them with the theory. Prints "
    "one row per quantity, point and size: the trained value, its standard error, the theory, "
    "and z, the score of the point's residual extrapolated in d; then one line per quantity: "
    "the verdict, the largest z over points, and the mean extrapolated residual in per cent; "
    "then the runs left out.",
    example="python -m verify curve --alpha 0.5,1,2 --dim 40,60 --runs 8 --noise 1 --csv curve.csv "
    "--plot curve.png",
    add_options=_add_options,
    plan=_plan,
    steps=study_curve,
    show=curve_section,
    parameters=lambda arguments: {"parameters": given(arguments)},
    writes=False,
    delegate=_other_study,
)
