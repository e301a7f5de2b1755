"""`python -m verify covariance-exponents`: slopes of heads trained on tokens with a power-law
covariance.
"""

from __future__ import annotations

import argparse
from typing import Any

from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.text_table import table_text
from numeric.cli.arguments import add_problem_arguments, grid
from numeric.cli.power_laws.exponents import covariance_exponent
from verify.core.options import add_sizes, add_task, size_counts
from verify.core.section import Claim, Section
from verify.core.study import Study
from verify.studies.covariance_exponents.study import (
    CovarianceSlope,
    CovarianceSlopeOutcome,
    CovarianceSlopePlan,
    study_covariance_slopes,
)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--gamma",
        type=grid("--gamma"),
        default="3/4",
        metavar="X",
        help="eigenvalues of the target proportional to k^-X, above 1/2 (default 3/4)",
    )
    parser.add_argument(
        "--covariance",
        type=covariance_exponent,
        default="power:1/2",
        metavar="power:A",
        help="covariance k^-A of the tokens on the eigenvectors of the target (default power:1/2)",
    )
    add_sizes(parser, "28,40", "8")
    add_problem_arguments(parser, "noise", defaults={"noise": "0.5"})
    add_task(parser)


def _plan(arguments: argparse.Namespace) -> CovarianceSlopePlan:
    if len(arguments.gamma) != 1:
        shown = ",".join(map(str, arguments.gamma))
        raise InvalidParameter("--gamma", shown, "must be one number with a covariance", "try 3/4")
    return CovarianceSlopePlan(
        arguments.gamma[0],
        arguments.covariance,
        size_counts(arguments.dim, arguments.runs),
        float(arguments.noise),
        arguments.seed,
        arguments.device,
        arguments.shuffle_labels,
    )


def covariance_slope_section(outcome: CovarianceSlopeOutcome) -> Section:
    """Return every slope with the theory's, the estimate of the exponent, and the verdict."""
    plan, exponent = outcome.plan, float(outcome.plan.exponent)
    word = "excluded" if outcome.excludes_isotropic else "NOT excluded"
    lines = (
        f"gamma {plan.gamma}, covariance k^-{plan.a}: slope of the estimation error, exponent "
        f"{plan.exponent}\n",
        *(f"  {line}\n" for line in table_text(list(map(_row, outcome.slopes))).splitlines()),
        f"  exponent {exponent:.3f}: {'agrees' if outcome.agrees else 'DISAGREES'}; estimate "
        f"{outcome.estimate:.3f}\n",
        f"  exponent of isotropic tokens {plan.isotropic} = {float(plan.isotropic):.3f}: {word}\n",
    )
    claim = Claim(
        f"exponent {plan.exponent}, covariance k^-{plan.a}",
        f"{exponent:.4f}",
        f"{outcome.estimate:.3f}",
        f"z {outcome.estimate.z(exponent):+.1f}",
        outcome.agrees,
    )
    document: dict[str, Any] = {
        "agrees": outcome.agrees,
        "gamma": str(plan.gamma),
        "covariance": f"power:{plan.a}",
        "noise": plan.noise,
        "seed": plan.entropy,
        "shuffle_labels": plan.shuffle_labels,
        "exponent": str(plan.exponent),
        "isotropic": str(plan.isotropic),
        "excludes_isotropic": outcome.excludes_isotropic,
        "estimate": outcome.estimate._asdict(),
        "slopes": [
            {
                "dim": slope.dim,
                "samples": list(slope.samples),
                "runs": slope.runs,
                "trained": slope.trained._asdict(),
                "theory": slope.theory,
                "level": slope.level,
                "agrees": slope.agrees,
            }
            for slope in outcome.slopes
        ],
    }
    title = "Exponent with a power-law covariance"
    return Section(title, outcome.agrees, lines, document, (claim,))


def _row(slope: CovarianceSlope) -> dict[str, object]:
    return {
        "d": slope.dim,
        "n": f"{slope.samples[0]} to {slope.samples[1]}",
        "trained slope": f"{slope.trained:.3f}",
        "theory": f"{slope.theory:.3f}",
        "error/theory": f"{slope.level:.3f}",
        "verdict": "agrees" if slope.agrees else "DISAGREES",
    }


STUDY = Study(
    name="covariance-exponents",
    help="scaling exponent of heads trained on tokens with a power-law covariance",
    description="Train heads at two numbers of samples on tokens with a covariance k^-A on the "
    "eigenvectors of a power-law target, in the regime that weight decay limits. Prints the slope "
    "of the estimation error and that of the theory at each size, and the exponent with an "
    "interval, which must exclude that of isotropic tokens.",
    example="python -m verify covariance-exponents --gamma 3/4 --covariance power:1/2 --dim 20,28",
    add_options=_add_options,
    plan=_plan,
    steps=study_covariance_slopes,
    show=covariance_slope_section,
)
