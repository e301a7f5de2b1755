"""`python -m verify thresholds`: where training loss and estimation error vanish, against the proven thresholds."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, TypeVar

from attention_erm.runtime.errors import InvalidParameter
from numeric.cli.arguments import add_problem_arguments, grid
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Parametrisation, Problem
from verify.core.options import add_execution, execution_fields, integers, size_counts
from verify.core.run import MINIMUM_DIM, Run
from verify.core.study import Study
from verify.studies.thresholds.section import threshold_section
from verify.studies.thresholds.study import DECAY, ThresholdPlan, study_thresholds

Value = TypeVar("Value")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dim", type=integers("--dim", MINIMUM_DIM), default="30,60", metavar="N,N",
                        help="sizes d, at least two to extrapolate from (default 30,60)")  # fmt: skip
    parser.add_argument("--runs", type=integers("--runs", 2), default="24,12", metavar="N",
                        help="runs per threshold, one number or one for each size (default 24,12)")  # fmt: skip
    for name, default, text in (
        (
            "kappa0",
            "0.5,0.2,0.8",
            "rank ratios of the target, one for all settings or one for each",
        ),
        ("noise", "0.1,0.25,0.2", "variances Delta of the label noise, likewise"),
        ("width", "1", "width ratios kappa of the student, likewise"),
    ):
        parser.add_argument(
            f"--{name}",
            type=grid(f"--{name}"),
            default=default,
            metavar="X,X",
            help=f"{text} (default {default})",
        )
    parser.add_argument("--tokens", type=integers("--tokens", 2), default="2,3,2", metavar="N,N",
                        help="tokens per sequence T, likewise (default 2,3,2)")  # fmt: skip
    parser.add_argument("--parametrisation", choices=[str(p) for p in Parametrisation], default="factorised",
                        help="train factors W of S, or S itself, which recovers nothing (default factorised)")  # fmt: skip
    add_problem_arguments(parser, "beta", "beta0")
    add_execution(parser)


def threshold_plan(arguments: argparse.Namespace) -> ThresholdPlan:
    """What is asked for. Raises InvalidParameter for settings whose thresholds are not defined or not sharp."""
    sizes = size_counts(arguments.dim, arguments.runs)
    if len(sizes) < 2:
        raise InvalidParameter(
            "--dim",
            sizes[0][0],
            "one size cannot be extrapolated",
            "give at least two, e.g. --dim 30,60",
        )
    if 0 in arguments.noise:
        raise InvalidParameter(
            "--noise", 0, "the interpolation threshold needs label noise > 0", "use --noise 0.25"
        )
    if arguments.beta != arguments.beta0:
        raise InvalidParameter(
            "--beta",
            arguments.beta,
            f"recovery needs beta = beta0 (here {arguments.beta0})",
            "give both the same",
        )
    names = ("kappa0", "noise", "width", "tokens")
    count = max(len(getattr(arguments, name)) for name in names)
    columns = [_for_each(f"--{name}", getattr(arguments, name), count) for name in names]
    settings = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
    return ThresholdPlan(
        tuple(_base(arguments, sizes[0][0], **setting) for setting in settings),
        sizes,
        descents=True,
    )


def _for_each(name: str, values: Sequence[Value], count: int) -> list[Value]:
    """One value for each setting."""
    if len(values) not in (1, count):
        shown = ",".join(map(str, values))
        raise InvalidParameter(
            name,
            shown,
            f"must be one number or {count}, as many as settings",
            f"give one or {count}",
        )
    return list(values) * (count // len(values))


def _base(arguments: argparse.Namespace, dim: int, **setting: Any) -> Run:
    """Of one setting."""
    if setting["width"] < setting["kappa0"]:
        raise InvalidParameter(
            "--width",
            setting["width"],
            "below kappa0 nothing is recovered",
            "give it from kappa0 on",
        )
    stated: dict[str, Any] = {name: float(setting[name]) for name in ("noise", "width")}
    stated |= {name: float(getattr(arguments, name)) for name in ("beta", "beta0")}
    what, target = (
        Parametrisation(arguments.parametrisation),
        MarchenkoPastur(float(setting["kappa0"])),
    )
    problem = Problem(1.0, target, DECAY, tokens=setting["tokens"], parametrisation=what, **stated)
    return Run(problem, dim, **execution_fields(arguments))


STUDY = Study(
    name="thresholds",
    help="where training loss and estimation error vanish, against the proven thresholds",
    description="Train at vanishing weight decay on both sides of the interpolation and the recovery threshold, at "
    "each setting of rank ratio, noise, width and tokens, and locate both in the data. Prints a line a "
    "threshold: where training sees it, with a confidence interval extrapolated in d, beside the proven "
    "value, and a verdict.",
    example="python -m verify thresholds --kappa0 .5,.2 --tokens 2,3 --noise .5 --dim 30,60 --runs 24,12",
    add_options=_add_options,
    plan=threshold_plan,
    steps=study_thresholds,
    show=threshold_section,
)
