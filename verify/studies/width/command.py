"""`python -m verify width`: quadratic networks trained along their width, compared with the theory
at finite d.
"""

from __future__ import annotations

import argparse
from functools import partial

from attention_erm.runtime.errors import InvalidParameter
from numeric.cli.arguments import add_problem_arguments, grid, integer
from numeric.cli.power_laws.scaling import decay_law
from numeric.laws.power_law import power_law
from numeric.problem.problem import Problem
from verify.core.options import add_output, add_power_law
from verify.core.run import MINIMUM_DIM
from verify.core.section import Section, ShownFigure
from verify.core.study import Study
from verify.studies.width.figure import width_figure
from verify.studies.width.study import MODEL, Samples, WidthOutcome, WidthPlan, study_width
from verify.studies.width.text import width_document, width_lines


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_power_law(parser, "1")
    parser.add_argument(
        "--dim",
        type=integer("--dim", MINIMUM_DIM, 10_000, "e.g. 100"),
        default="100",
        metavar="N",
        help="dimension of the inputs (default 100)",
    )
    parser.add_argument(
        "--alpha", type=grid("--alpha"), default="1/2", metavar="X", help="n/d^2 (default 1/2)"
    )
    parser.add_argument(
        "--width",
        type=grid("--width"),
        default="0.01:1:7",
        metavar="GRID",
        help="width ratios m/d, rounded to whole hidden units (default 0.01:1:7)",
    )
    parser.add_argument("--lambda", dest="lambda_", default="1/2", metavar="X",
                        help="weight decay: a number, 1/d, sqrt(d), d^p (default 1/2)")  # fmt: skip
    parser.add_argument(
        "--runs",
        type=integer("--runs", 2, 10_000, "try 4"),
        default="4",
        metavar="N",
        help="runs at each width (default 4)",
    )
    parser.add_argument(
        "--data",
        choices=[str(kind) for kind in Samples],
        default="inputs",
        help="inputs x, or Gaussian matrices in place of x x^T (default inputs)",
    )
    add_problem_arguments(parser, "noise", defaults={"noise": "1/2"})
    add_output(parser, "figure and JSON")


def _plan(arguments: argparse.Namespace) -> WidthPlan:
    if len(arguments.alpha) > 1:
        raise InvalidParameter(
            "--alpha",
            ",".join(f"{float(alpha):g}" for alpha in arguments.alpha),
            "cannot vary together with the width",
            "give one",
        )
    dim, (alpha,) = arguments.dim, arguments.alpha
    target, decay = power_law(float(arguments.power_law), dim), decay_law(arguments.lambda_).at(dim)
    problem = Problem(float(alpha), target, decay, float(arguments.noise), model=MODEL)
    hidden = sorted({max(1, round(ratio * dim)) for ratio in arguments.width})
    return WidthPlan(problem, tuple(hidden), arguments.runs, Samples(arguments.data))


def _show(outcome: WidthOutcome) -> Section:
    figure = ShownFigure(
        "Estimation error and its slope along the width.", partial(width_figure, outcome.points)
    )
    return Section(
        "Networks along their width", outcome.agrees, tuple(width_lines(outcome.points)),
        width_document(outcome.plan.problem, outcome.points), figures={"width": figure},
    )  # fmt: skip


STUDY = Study(
    name="width",
    help="quadratic networks of a power-law target along their width: errors and slopes "
    "compared with the theory",
    description="Train quadratic networks of every width on one power-law target at a fixed number "
    "of samples. Prints one line per width: estimation error and its slope along the width "
    "compared with the theory at the same d, in "
    "standard errors, and how many widths agree. Writes width.png and width.json.",
    example="python -m verify width --dim 60 --alpha 0.3 --width 0.02,0.1,1 --lambda 0.5 --data "
    "gaussian-equivalent",
    add_options=_add_options,
    plan=_plan,
    steps=study_width,
    show=_show,
)
