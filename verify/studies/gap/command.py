"""`python -m verify gap`: universality gap of power-law targets on token sequences, along d and
gamma.
"""

from __future__ import annotations

import argparse
import dataclasses
from functools import partial

from numeric.cli.arguments import add_problem_arguments, grid, positive
from numeric.laws.power_law import power_law
from verify.core.options import (
    add_execution,
    add_sizes,
    execution_fields,
    problem_from_arguments,
    size_counts,
)
from verify.core.run import Run
from verify.core.section import Section, ShownFigure
from verify.core.study import Study
from verify.studies.gap.figure import gap_figure
from verify.studies.gap.study import GapOutcome, GapPlan, study_gap
from verify.studies.gap.text import gap_lines

_PARAMETERS = ("noise", "beta", "beta0")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--power-law",
        type=grid("--power-law"),
        default="1/4,3/4",
        metavar="GRID",
        help="exponents of the eigenvalues k^-gamma; below 1/2 the gap must vanish (default "
        "1/4,3/4)",
    )
    add_sizes(parser, "24,36,56,84", "24", note="sizes d, at least three to extrapolate from")
    parser.add_argument("--alpha", type=positive("--alpha", "try 1"), default="1", metavar="X",
                        help="sample ratio n/d^2 (default 1)")  # fmt: skip
    add_problem_arguments(
        parser, "lambda_", *_PARAMETERS, defaults={"lambda_": "0.5", "noise": "0.5"}
    )
    add_execution(parser)


def _plan(arguments: argparse.Namespace) -> GapPlan:
    sizes = size_counts(arguments.dim, arguments.runs, minimum=3)
    target = power_law(float(arguments.power_law[0]), sizes[0][0])
    problem = problem_from_arguments(arguments, target, alpha=float(arguments.alpha))
    base = Run(problem, sizes[0][0], **execution_fields(arguments))
    return GapPlan(base, tuple(float(gamma) for gamma in arguments.power_law), sizes)


def _show(outcome: GapOutcome) -> Section:
    problem = outcome.plan.base.problem
    document = {
        "parameters": {name: getattr(problem, name) for name in ("alpha", "lambda_", *_PARAMETERS)},
        "trends": [
            {
                **dataclasses.asdict(trend),
                "z": trend.z,
                "must_vanish": trend.must_vanish,
                "agrees": trend.agrees,
            }
            for trend in outcome.trends
        ],
    }
    caption = "Ratio of the measured excess error to the theory, along d."
    figures = {"gap": ShownFigure(caption, partial(gap_figure, outcome.trends, problem))}
    lines = tuple(gap_lines(outcome.trends))
    return Section("Universality gap", outcome.agrees, lines, document, figures=figures)


STUDY = Study(
    name="gap",
    help="how far the theory is from token sequences whose target has leading features",
    description="Measure how far the theory of Gaussian indices is from training on token "
    "sequences, along d, for "
    "each gamma, and fit the trend. Prints one line per gamma: the gap at each size, its limit "
    "with an error, "
    "and whether it vanishes where it must. Writes gap.png and gap.json.",
    example="python -m verify gap --power-law 1/4,3/4 --dim 24,36,56,84 --runs 48,32,24,16",
    add_options=_add_options,
    plan=_plan,
    steps=study_gap,
    show=_show,
)
