"""`python -m verify thresholds`: where training loss and estimation error vanish, compared with the
proven thresholds.
"""

from __future__ import annotations

import argparse

from attention_erm.runtime.errors import InvalidParameter
from numeric.cli.arguments import add_problem_arguments, grid
from numeric.cli.problem_arguments import add_vocabulary, stated_vocabulary
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Parametrisation, Problem
from verify.core.options import (
    add_execution,
    add_sizes,
    execution_fields,
    integers,
    size_counts,
    warn_of_repeated_pairs,
)
from verify.core.run import Run
from verify.core.study import Study
from verify.studies.thresholds.section import threshold_section
from verify.studies.thresholds.study import DECAY, ThresholdPlan, study_thresholds


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_sizes(parser, "30,60", "24,12", note="sizes d, at least two to extrapolate from")
    for name, default, text in (
        ("kappa0", "0.5,0.2,0.8", "rank ratios of the target"),
        ("noise", "0.1,0.25,0.2", "variances Delta of the label noise"),
        ("width", "1", "width ratios kappa of the student"),
    ):
        parser.add_argument(
            f"--{name}",
            type=grid(f"--{name}"),
            default=default,
            metavar="X,X",
            help=f"{text}, one for all settings or one for each (default {default})",
        )
    parser.add_argument(
        "--tokens",
        type=integers("--tokens", 2),
        default="2,3,2",
        metavar="N,N",
        help="tokens per sequence T, one for all settings or one for each (default 2,3,2)",
    )
    parser.add_argument(
        "--parametrisation",
        choices=[str(p) for p in Parametrisation],
        default="factorised",
        help="train factors W of S, or S itself, without a recovery threshold (default factorised)",
    )
    add_problem_arguments(parser, "beta", "beta0")
    add_vocabulary(parser)
    add_execution(parser)


def threshold_plan(arguments: argparse.Namespace) -> ThresholdPlan:
    """Return the requested plan.

    Raises:
        InvalidParameter: the thresholds of a setting are not defined or not sharp.
    """
    sizes = size_counts(arguments.dim, arguments.runs, minimum=2)
    if 0 in arguments.noise:
        raise InvalidParameter(
            "--noise", 0, "the interpolation threshold needs label noise > 0", "use --noise 0.25"
        )
    if arguments.beta != arguments.beta0:
        rule = f"recovery needs beta = beta0 (here {arguments.beta0})"
        raise InvalidParameter("--beta", arguments.beta, rule, "use the same value for both")
    if arguments.vocabulary is not None and arguments.parametrisation != "factorised":
        rule = "has only a recovery threshold, which direct training does not have"
        value = arguments.vocabulary
        raise InvalidParameter("--vocabulary", value, rule, "use --parametrisation factorised")
    options = {name: getattr(arguments, name) for name in ("kappa0", "noise", "width", "tokens")}
    if arguments.vocabulary is not None:  # recovery has no noise
        options["noise"] = options["noise"][:1]
    count = max(map(len, options.values()))
    for name, values in options.items():
        if len(values) not in (1, count):
            rule = f"must be one number or {count}, as many as settings"
            shown = ",".join(map(str, values))
            raise InvalidParameter(f"--{name}", shown, rule, f"give one or {count}")
    settings = [
        {name: values[k % len(values)] for name, values in options.items()} for k in range(count)
    ]
    bases = tuple(_base(arguments, sizes[0][0], **setting) for setting in settings)
    plan = ThresholdPlan(bases, sizes, descents=True)
    if arguments.vocabulary is not None:  # sample ratios of the runs take proofs
        warn_of_repeated_pairs(nested.run for case in plan.cases() for nested in plan.runs(case))
    return plan


def _base(
    arguments: argparse.Namespace, dim: int, kappa0: float, noise: float, width: float, tokens: int
) -> Run:
    if width < kappa0:
        rule = "below kappa0 the target is not recovered"
        raise InvalidParameter("--width", width, rule, f"use at least {kappa0}")
    problem = Problem(
        1.0, MarchenkoPastur(float(kappa0)), DECAY, float(noise), float(width), tokens,
        float(arguments.beta), float(arguments.beta0), Parametrisation(arguments.parametrisation),
        vocabulary=stated_vocabulary(arguments),
    )  # fmt: skip
    return Run(problem, dim, **execution_fields(arguments))


STUDY = Study(
    name="thresholds",
    help="where training loss and estimation error vanish, compared with the proven thresholds",
    description="Train at vanishing weight decay on both sides of the interpolation and the "
    "recovery threshold, at "
    "each setting of rank ratio, noise, width and tokens, and locate both in the data. Prints one "
    "line per "
    "threshold: the trained value with a confidence interval extrapolated in d, the proven value, "
    "and a "
    "verdict. With a vocabulary only recovery is located, and compared with the threshold of new "
    "tokens, too.",
    example="python -m verify thresholds --kappa0 .5,.2 --tokens 2,3 --noise .5 --dim 30,60 --runs "
    "24,12",
    add_options=_add_options,
    plan=threshold_plan,
    steps=study_thresholds,
    show=threshold_section,
)
