"""`python -m verify capacity`: up to how many samples training predicts all labels of classes,
compared with the capacity.
"""

from __future__ import annotations

import argparse

from attention_erm.runtime.errors import InvalidParameter
from numeric.cli.arguments import add_problem_arguments
from numeric.cli.model_arguments import require_generated
from numeric.problem.problem import Problem, extra_setting_names
from numeric.studies.capacity import require_capacity
from verify.core.data import DataKind
from verify.core.options import add_data, add_output, add_seed, add_sizes, size_counts
from verify.core.sensing.run import default_target
from verify.core.study import Study
from verify.studies.capacity.section import capacity_section
from verify.studies.capacity.study import CapacityCase, CapacityPlan, study_capacity

_LABELS = {"both": (False, True), "target": (False,), "random": (True,)}


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        default="sign_quadratic_hinge",
        metavar="NAMES",
        help="models of labels that are classes, separated by commas (default "
        "sign_quadratic_hinge); the loss does not matter",
    )
    parser.add_argument(
        "--labels",
        choices=tuple(_LABELS),
        default="both",
        help="labels of the target with noise, random labels, or both (default)",
    )
    add_problem_arguments(parser, "kappa0", "noise", defaults={"kappa0": "1/2", "noise": "1"})
    add_data(parser, DataKind.GAUSSIAN_EQUIVALENT)
    add_sizes(parser, "20,40", "32,16", note="sizes d, at least two to extrapolate from")
    add_seed(parser, 2**31)
    add_output(parser)


def _plan(arguments: argparse.Namespace) -> CapacityPlan:
    sizes = size_counts(arguments.dim, arguments.runs, minimum=2)
    cases = []
    for name in map(require_generated, arguments.model.split(",")):
        if own := extra_setting_names(name):
            rule = f"has settings of its own, {', '.join(own)}, which this command does not take"
            raise InvalidParameter("--model", name, rule, "use another model")
        target = default_target(name, float(arguments.kappa0))
        problem = Problem(1.0, target, 1.0, float(arguments.noise), model=name)
        require_capacity(problem)
        cases += [CapacityCase(problem, random) for random in _LABELS[arguments.labels]]
    return CapacityPlan(tuple(cases), sizes, arguments.seed, DataKind(arguments.data))


STUDY = Study(
    name="capacity",
    help="up to how many samples training predicts all labels of classes, compared with the theory",
    description="For nested samples of each run, find by bisection the number up to which some S "
    "predicts the labels of all of them, by descents without weight decay. Prints one line per "
    "setting: the capacity in theory, the trained one at each size and extrapolated in d with its "
    "interval, and a verdict. Writes capacity.png and capacity.json.",
    example="python -m verify capacity --model sign_quadratic_hinge --noise 1 --dim 20,30 --runs 8",
    add_options=_add_options,
    plan=_plan,
    steps=study_capacity,
    show=capacity_section,
)
