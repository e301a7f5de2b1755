"""`python -m verify scaling`: excess error of trained heads along n, the theory at finite d, and
the derived exponents.
"""

from __future__ import annotations

import argparse

from attention_erm.runtime.errors import InvalidParameter
from numeric.cli.arguments import add_problem_arguments, grid
from numeric.cli.power_laws.scaling import decay_law
from numeric.laws.power_law import power_law
from verify.core.data import DataKind
from verify.core.options import (
    add_data,
    add_execution,
    add_power_law,
    add_sizes,
    execution_fields,
    problem_from_arguments,
    size_counts,
)
from verify.core.run import MINIMUM_DIM, Run
from verify.core.study import Study
from verify.studies.scaling.plan import ScalingPlan
from verify.studies.scaling.presets import ALPHAS, DECAYS, TILES
from verify.studies.scaling.section import scaling_command_section
from verify.studies.scaling.study import study_scaling

_PARAMETERS = ("noise", "beta", "beta0")


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_power_law(parser, "3/4")
    add_sizes(parser, "40,56", "8")
    parser.add_argument(
        "--alpha",
        type=grid("--alpha"),
        default=",".join(map(str, ALPHAS)),
        metavar="GRID",
        help="n/d^2, the same at every size (default 0.0125 to 3.2, doubling)",
    )
    parser.add_argument(
        "--lambda",
        dest="decays",
        default=",".join(decay.name for decay in DECAYS),
        metavar="X,X",
        help="weight decays: numbers, 1/d, sqrt(d), d^p (default 1/d,1,sqrt(d))",
    )
    add_data(parser, DataKind.SEQUENCES)
    add_problem_arguments(parser, *_PARAMETERS, defaults={"noise": "0.5"})
    add_execution(parser)


def scaling_plan(arguments: argparse.Namespace) -> ScalingPlan:
    """Return the requested plan, with spectra at the smallest and largest n/d^2.

    Raises:
        InvalidParameter: options do not fit together.
    """
    sizes = size_counts(arguments.dim, arguments.runs)
    alphas = tuple(sorted({float(alpha) for alpha in arguments.alpha}))
    decays = tuple(map(decay_law, dict.fromkeys(arguments.decays.split(","))))
    if any(len({decay.at(dim) for decay in decays}) < len(decays) for dim, _ in sizes):
        raise InvalidParameter(
            "--lambda", arguments.decays, "contains a weight decay twice", "give each once"
        )
    problem = problem_from_arguments(
        arguments, power_law(float(arguments.power_law), MINIMUM_DIM), lambda_=1.0
    )
    base = Run(problem, MINIMUM_DIM, data=DataKind(arguments.data), **execution_fields(arguments))
    ends = dict.fromkeys((alphas[0], alphas[-1]))
    return ScalingPlan(
        base, decays, alphas, sizes, tuple((alpha, sizes[-1][1]) for alpha in ends), TILES
    )


STUDY = Study(
    name="scaling",
    help="excess error of a power-law target along the number of samples, its slopes and spectra",
    description="Train heads on power-law targets along the number of samples at several laws of "
    "weight decay, and compare them with the theory at the same d. Prints one line per point: "
    "excess error and its parts with distances in "
    "standard errors, local slopes with bootstrap intervals, p-values of spectra, the regimes "
    "crossed, "
    "and a verdict. Writes figures and scaling.json.",
    example="python -m verify scaling --dim 40,56 --lambda 1/d,1 --data gaussian-equivalent --json",
    add_options=_add_options,
    plan=scaling_plan,
    steps=study_scaling,
    show=scaling_command_section,
)
