"""`python -m verify emergence`: single features of a power law along the number of samples,
compared with the theory.
"""

from __future__ import annotations

import argparse
from functools import partial
from itertools import pairwise

from attention_erm.runtime.errors import InvalidParameter
from numeric.cli.arguments import add_problem_arguments, grid, integer
from numeric.cli.power_laws.scaling import decay_law
from numeric.laws.power_law import power_law
from verify.core.data import DataKind
from verify.core.measure import LEADING_OVERLAPS
from verify.core.options import (
    add_data,
    add_execution,
    add_power_law,
    add_sizes,
    execution_fields,
    problem_from_arguments,
    size_counts,
)
from verify.core.run import Run
from verify.core.section import Section, ShownFigure
from verify.core.study import Study
from verify.studies.emergence.figure import emergence_figure
from verify.studies.emergence.location import OCTAVE
from verify.studies.emergence.plan import EmergencePlan
from verify.studies.emergence.study import EmergenceOutcome, study_emergence
from verify.studies.emergence.text import emergence_document, emergence_lines

LEAST_POINTS = 4  #: numbers of samples; n_k must not be next to an end
LEAST_SIZE = 20  #: smallest d at which features and noise have separate scales


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_power_law(parser, "3/4")
    add_sizes(parser, "60,100", "8", LEAST_SIZE, "sizes d")
    parser.add_argument("--alpha", type=grid("--alpha"), default="0.1:1.6:13", metavar="GRID",
                        help="n/d^2, the same at every size (default 0.1:1.6:13)")  # fmt: skip
    parser.add_argument(
        "--features",
        type=integer("--features", 1, LEADING_OVERLAPS, f"runs store {LEADING_OVERLAPS}"),
        default="6",
        metavar="K",
        help="features followed (default 6)",
    )
    parser.add_argument("--lambda", dest="decay", default="1", metavar="X",
                        help="weight decay: a number, 1/d, sqrt(d), d^p (default 1)")  # fmt: skip
    add_data(parser, DataKind.GAUSSIAN_EQUIVALENT)
    add_problem_arguments(parser, "noise", "beta", "beta0", defaults={"noise": "0.5"})
    add_execution(parser)


def emergence_plan(arguments: argparse.Namespace) -> EmergencePlan:
    """Return the requested plan. Raises InvalidParameter if options do not fit together."""
    alphas = tuple(sorted({float(alpha) for alpha in arguments.alpha}))
    shown = ",".join(f"{float(alpha):g}" for alpha in arguments.alpha)
    if len(alphas) < LEAST_POINTS:
        rule = f"must have at least {LEAST_POINTS} values to locate n_k between them"
        raise InvalidParameter("--alpha", shown, rule, "try 0.1:1.6:13")
    if any(high > OCTAVE * low for low, high in pairwise(alphas)):
        rule = "has steps beyond a factor of two, in which n_k cannot be located"
        raise InvalidParameter("--alpha", shown, rule, "add values")
    sizes, decay = size_counts(arguments.dim, arguments.runs), decay_law(arguments.decay)
    dim = sizes[0][0]
    target = power_law(float(arguments.power_law), dim)
    problem = problem_from_arguments(arguments, target, lambda_=decay.at(dim))
    base = Run(problem, dim, data=DataKind(arguments.data), **execution_fields(arguments))
    return EmergencePlan(base, decay, alphas, sizes, arguments.features)


def _show(outcome: EmergenceOutcome) -> Section:
    caption = "Overlaps of single features along the number of samples."
    return Section(
        "Features emerging along the number of samples",
        outcome.agrees,
        tuple(emergence_lines(outcome)),
        emergence_document(outcome),
        figures={"emergence": ShownFigure(caption, partial(emergence_figure, outcome))},
    )


STUDY = Study(
    name="emergence",
    help="overlaps of single features of a power law along the number of samples, and the n_k at "
    "which they emerge",
    description="Train on a power-law target along the number of samples and measure how much of "
    "each single feature "
    "the trained S contains. Prints one line per feature: the n at which it emerges, with an "
    "interval, the n "
    "of the theory, and a verdict. Writes emergence.png and emergence.json.",
    example="python -m verify emergence --dim 60 --lambda 1/d --alpha 0.02:1.6:14 --features 6",
    add_options=_add_options,
    plan=emergence_plan,
    steps=study_emergence,
    show=_show,
)
